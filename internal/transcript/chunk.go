package transcript

import (
	"bytes"
	"context"
	"io"
	"runtime"
)

// A file is read in chunks of whole lines, on all processors: the lines do not
// depend on each other until they become entries.
const (
	chunkSize = 128 << 10 // bytes; more only for a line that is longer
	keptChunk = 8 << 20   // what a chunk may keep for the next lines
	maxChunks = 4         // at a time
)

// chunk is some lines of a file, and what was read of them.
type chunk struct {
	pos  int64 // of the first line
	text []byte
	lineReader
	lines   []parsed
	skipped int
	done    chan struct{}
}

// reset makes a chunk ready for other lines, with the memory it has.
func (l *chunk) reset(h *hasher) {
	clear(l.lines) // what a compaction preserved is not kept twice
	clear(l.tools)
	l.hash = h
	l.text, l.lines, l.tools, l.absorbed, l.skipped = l.text[:0], l.lines[:0], l.tools[:0], l.absorbed[:0], 0
}

// run reads the lines of the chunk.
func (l *chunk) run() {
	defer close(l.done)
	pos := l.pos
	for line := range bytes.Lines(l.text) {
		if text := bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(text)) > 0 {
			l.add(pos, text)
		}
		pos += int64(len(line))
	}
}

// add reads one line.
func (l *chunk) add(pos int64, line []byte) {
	if len(line) > MaxLine {
		l.skipped++
		return
	}
	l.lines = append(l.lines, parsed{})
	p := &l.lines[len(l.lines)-1]
	linked, err := l.read(line, p)
	if err != nil {
		l.skipped++
	}
	if !linked {
		l.lines = l.lines[:len(l.lines)-1]
		return
	}
	p.Pos = pos
}

// ReadFrom takes all lines of a file. Memory beside that of the index is a few
// hundred kilobytes, and more only for lines that are longer.
func (x *Index) ReadFrom(ctx context.Context, r io.Reader) error {
	x.begin()
	in := splitter{in: r}
	var running, idle []*chunk
	defer func() {
		for _, l := range running { // nothing is left behind
			<-l.done
		}
	}()
	ahead := min(runtime.GOMAXPROCS(0), maxChunks)
	for ended := false; !ended || len(running) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !ended && len(running) <= ahead {
			l := new(chunk)
			if n := len(idle); n > 0 {
				l, idle = idle[n-1], idle[:n-1]
			}
			l.reset(x.hash)
			err := in.cut(l)
			if err != nil && err != io.EOF {
				return err
			}
			ended = err == io.EOF
			l.done = make(chan struct{})
			running = append(running, l)
			if ended && len(running) == 1 {
				l.run() // most files are short
			} else {
				go l.run()
			}
			continue
		}
		l := running[0]
		running = running[1:]
		<-l.done
		if err := x.take(l); err != nil {
			return err
		}
		idle = append(idle, l)
	}
	return nil
}

// splitter cuts a file into chunks.
type splitter struct {
	in   io.Reader
	pos  int64  // of what is left
	left []byte // the beginning of a line whose end was not read yet
}

// cut fills a chunk with whole lines; the last one is marked by [io.EOF]. A line
// that is too long is counted and left out.
func (c *splitter) cut(l *chunk) error {
	if cap(l.text) < chunkSize || cap(l.text) > keptChunk {
		l.text = make([]byte, 0, chunkSize)
	}
	l.pos = c.pos
	buf := append(l.text[:0], c.left...)
	scanned := len(buf)
	for {
		if len(buf) == longest {
			return c.drop(l, buf)
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(2*len(buf), longest)), buf...)
		}
		n, err := io.ReadFull(c.in, buf[len(buf):min(cap(buf), longest)])
		buf = buf[:len(buf)+n]
		if err != nil {
			l.text, c.left = buf, nil
			return ended(err)
		}
		if i := bytes.LastIndexByte(buf[scanned:], '\n'); i >= 0 {
			whole := scanned + i + 1
			l.text = buf[:whole]
			c.left = append(c.left[:0], buf[whole:]...)
			c.pos += int64(whole)
			return nil
		}
		scanned = len(buf)
	}
}

// longest is how much of a line is read before it is given up: a line that may
// be, and its end.
const longest = MaxLine + 3

// drop passes over the rest of a line that is too long.
func (c *splitter) drop(l *chunk, buf []byte) error {
	l.skipped++
	c.pos += int64(len(buf))
	c.left = nil
	buf = buf[:chunkSize]
	for {
		n, err := io.ReadFull(c.in, buf)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			c.pos += int64(i) + 1
			c.left = append(c.left, buf[i+1:n]...)
			return nil // an end is found again
		}
		c.pos += int64(n)
		if err != nil {
			return ended(err)
		}
	}
}

// ended is the error of a read that may have come to the end.
func ended(err error) error {
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}
