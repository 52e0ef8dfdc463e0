package main

import (
	"io"
	"runtime/debug"
	"time"
)

// quietAfter is how long nothing goes between an editor and its agent until the agent makes
// itself small. Long enough that an answer in pieces is not a pause.
const quietAfter = 2 * time.Second

// quietStream is the connection to the editor. It makes this process small when nothing goes
// through for a while: editors leave their agents open for days, and most of the memory was
// needed by the start alone.
type quietStream struct {
	io.ReadWriteCloser
	quiet *time.Timer
}

// newQuietStream returns a stream that calls rest after each pause. Close ends that.
func newQuietStream(s io.ReadWriteCloser, rest func()) *quietStream {
	return &quietStream{s, time.AfterFunc(quietAfter, rest)}
}

// Read implements io.Reader.
func (s *quietStream) Read(b []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(b)
	s.heard(n)
	return n, err
}

// Write implements io.Writer.
func (s *quietStream) Write(b []byte) (int, error) {
	n, err := s.ReadWriteCloser.Write(b)
	s.heard(n)
	return n, err
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
