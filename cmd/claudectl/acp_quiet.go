package main

import (
	"bytes"
	"io"
	"runtime/debug"
	"time"
)

// quietAfter is how long nothing goes between an editor and its agent until the agent makes
// itself small. Long enough that an answer in pieces is not a pause.
const quietAfter = 2 * time.Second

// quietStream is the connection to the editor. It keeps this process small: editors leave
// their agents open for days, and most of the memory was needed by the start alone.
type quietStream struct {
	io.ReadWriteCloser
	quiet *time.Timer
	diet  diet
}

// diet is what makes this process small. It is a plain value.
type diet struct {
	answer func() // before an answer, such as that at the end of a turn
	rest   func() // after a pause, in a goroutine of its own
}

// newQuietStream returns a stream that keeps a diet. Close ends it.
func newQuietStream(s io.ReadWriteCloser, d diet) *quietStream {
	return &quietStream{s, time.AfterFunc(quietAfter, d.rest), d}
}

// Read implements io.Reader.
func (s *quietStream) Read(b []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(b)
	s.heard(n)
	return n, err
}

// Write implements io.Writer. Messages that are not answers come by the hundred, and what
// is at work needs its part of the program: a replay that gives it back before each message
// takes thirty times as long.
func (s *quietStream) Write(b []byte) (int, error) {
	if isAnswer(b) {
		s.diet.answer()
	}
	n, err := s.ReadWriteCloser.Write(b)
	s.heard(n)
	return n, err
}

// isAnswer reports whether a message answers a request of the editor. The member is the
// first after the id, whose length editors choose.
func isAnswer(line []byte) bool {
	line = line[:min(len(line), 256)]
	return bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)) && !bytes.Contains(line, []byte(`,"method":"`))
}

func (s *quietStream) heard(n int) {
	if n > 0 {
		s.quiet.Reset(quietAfter)
	}
}

// Close implements io.Closer.
func (s *quietStream) Close() error {
	s.quiet.Stop()
	return s.ReadWriteCloser.Close()
}

// makeSmall gives the system back what this process does not use at the moment.
func makeSmall() {
	debug.FreeOSMemory()
	unloadProgram()
}

// mostOwn is how many bytes this process may have, beside its program, when an answer is
// written to the editor.
const mostOwn = 6 << 20

// limit keeps a kind of memory small while the program works. It is not safe for concurrent
// use.
type limit struct {
	most  int
	above int // from how much on something is given back; at first that is most
}

// keep gives memory back if there is more than the limit. After that it waits until a
// quarter of the limit has come back. So it does not give back with each answer where the
// rest is larger, or where the figure is wrong: some kernels count for each processor, and
// are late by megabytes.
func (l *limit) keep(used func() int, giveBack func()) {
	if used() <= max(l.above, l.most) {
		return
	}
	giveBack()
	l.above = used() + l.most/4
}
