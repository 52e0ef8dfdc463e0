package ndjson_test

import (
	"io"
	"runtime"
)

// neverEnding reads as one byte for ever.
type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// stuck is a reader that returns neither bytes nor an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// chunks reads in pieces of one size.
type chunks struct {
	in   []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.in)
	c.in = c.in[n:]
	return n, nil
}

// endless repeats a line without end.
type endless struct {
	line []byte
	off  int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m := copy(p[n:], e.line[e.off:])
		e.off = (e.off + m) % len(e.line)
		n += m
	}
	return n, nil
}

// runtimeBytes is the sum of all bytes allocated so far.
type runtimeBytes struct{ total uint64 }

func (b *runtimeBytes) read() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.total = m.TotalAlloc
}
