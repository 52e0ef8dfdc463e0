package ndjson_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/claude-agent-go/claude/internal/ndjson"
)

// short recognises the lines that tests share.
func short(line []byte) bool { return len(line) < 1000 }

// numbered are lines of a size, each with its number at both ends.
func numbered(from, count, size int) (in []byte, want []string) {
	for i := range count {
		name := fmt.Sprintf("%06d", from+i)
		line := name + string(bytes.Repeat([]byte{'.'}, size-2*len(name))) + name
		want = append(want, line)
		in = append(append(in, line...), '\n')
	}
	return in, want
}

// Lines that share the buffer stay as they are, whatever is read around them: more of
// them, lines that do not fit the buffer, lines over the limit.
func TestReaderSharedLinesStay(t *testing.T) {
	for name, between := range map[string]int{"nothing": 0, "long lines": 100 << 10, "lines over the limit": 300 << 10} {
		t.Run(name, func(t *testing.T) {
			var in []byte
			var want []string
			for i := range 40 { // more and more lines, so that reads begin everywhere
				more, lines := numbered(len(want), 100+7*i, 250)
				in, want = append(in, more...), append(want, lines...)
				if between > 0 {
					more, lines = numbered(len(want), 1, between+1000*i)
					in = append(in, more...)
					if between < 200<<10 {
						want = append(want, lines...)
					}
				}
			}
			r := ndjson.NewReader(bytes.NewReader(in))
			r.ShortLived, r.Limit = short, 200<<10
			var got [][]byte
			lent := 0
			for {
				line, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					continue // the one over the limit
				}
				got = append(got, line)
				if cap(line) == len(line) && short(line) && cap(bytes.Clone(line)) > len(line) {
					lent++
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d", len(got), len(want))
			}
			for i, line := range got {
				if string(line) != want[i] {
					t.Errorf("line %d was written over: %.20q, want %.20q", i, line, want[i])
				}
			}
			if lent < len(got)/2 {
				t.Errorf("%d of %d lines were lent: the test shows little", lent, len(got))
			}
		})
	}
}

// mixed repeats a stretch of lines, read by read.
type mixed struct {
	reads int
	piece []byte
	at    int
}

func (m *mixed) Read(p []byte) (int, error) {
	if m.reads == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.piece[m.at:])
	if m.at += n; m.at == len(m.piece) {
		m.at, m.reads = 0, m.reads-1
	}
	return n, nil
}

// Lines retain as much memory as Retained reports, even when little of each read
// is kept.
func TestReaderRetained(t *testing.T) {
	long := func(n int) []byte { return append(bytes.Repeat([]byte("x"), n), '\n') }
	few, _ := numbered(0, 1, 250)
	many, _ := numbered(0, 120, 250)
	half, _ := numbered(0, 70, 250)
	for name, tt := range map[string]struct {
		piece []byte
		keep  func(line []byte) bool
	}{
		"few among long ones":    {append(long(20<<10), few...), short},
		"many at once":           {many, short},
		"half of each read":      {append(half, long(12<<10)...), short},
		"a little over a buffer": {long(33 << 10), func([]byte) bool { return true }},
		"behind long ones":       {append(long(33<<10), few...), short},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			r := ndjson.NewReader(&mixed{reads: 300, piece: tt.piece})
			r.ShortLived = short
			var kept [][]byte
			said, length := 0, 0
			for {
				line, err := r.Next()
				if err != nil {
					break
				}
				if tt.keep(line) {
					kept = append(kept, line)
					said += r.Retained()
					length += len(line)
				}
			}
			r = nil
			held := heap() - before - cap(kept)*24
			if held > said+said/4+256<<10 {
				t.Errorf("%d lines of %d bytes hold %d, Held says %d", len(kept), length, held, said)
			}
			if said > 2*length+16*len(kept)+64<<10 {
				t.Errorf("%d lines of %d bytes hold %d by Held, want twice as much at most", len(kept), length, said)
			}
			runtime.KeepAlive(kept)
		})
	}
}

// heap returns the memory that is allocated and in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
