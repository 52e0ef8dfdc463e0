package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// input is our end of the child's standard input.
type input struct {
	file   *os.File
	closed atomic.Bool // by the caller
	close  func() error
}

func newInput(f *os.File) *input {
	return &input{file: f, close: sync.OnceValue(f.Close)}
}

// Write reports a pipe that was closed because the child has gone as a broken
// one, and every broken pipe as EPIPE, so that callers need to know one error only.
func (in *input) Write(b []byte) (int, error) {
	n, err := in.file.Write(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrClosed) && !in.closed.Load(), isBrokenPipe(err):
		err = syscall.EPIPE
	}
	return n, fmt.Errorf("write to standard input: %w", err)
}

// Close closes the pipe for the caller.
func (in *input) Close() error {
	in.closed.Store(true)
	return in.close()
}

// abandon closes the pipe because it has no reader left.
func (in *input) abandon() { in.close() }
