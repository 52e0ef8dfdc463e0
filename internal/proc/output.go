package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// maxRemaining bounds the bytes taken out of a pipe at once after the exit. A
// pipe holds 64 KiB, or 1 MiB where the child asked for more.
const maxRemaining = 1 << 20

// errAgain is readNow's error when the pipe is empty but still open.
var errAgain = errors.New("nothing to read now")

// output is our end of the child's standard output.
//
// While the child lives, reads go straight to the pipe. After its exit the rest
// of the pipe is taken into memory and the pipe is closed, so that the descriptor
// is free while the bytes stay readable.
type output struct {
	file *os.File

	mu        sync.Mutex // held during a read; a deadline interrupts it
	remaining []byte     // taken from the pipe, comes before anything still in it
	closed    bool       // the pipe is closed
	ended     chan struct{}
}

func newOutput(f *os.File) *output {
	return &output{file: f, ended: make(chan struct{})}
}

// Read reads the rest if there is one, else the pipe.
func (o *output) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.remaining) == 0 && !o.closed {
		n, err := o.file.Read(b)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			// A deadline stops reads although bytes are there.
			o.takeRemaining(time.Time{})
		case err != nil:
			o.end()
			if err != io.EOF {
				return 0, fmt.Errorf("read standard output: %w", err)
			}
		}
	}
	if len(o.remaining) > 0 {
		n := copy(b, o.remaining)
		o.remaining = o.remaining[n:]
		return n, nil
	}
	return 0, io.EOF
}

// childExited is called when the child is gone: others may still write until the
// deadline. It returns when the pipe is closed, which is at once unless another
// process holds it.
func (o *output) childExited(deadline time.Time) {
	o.file.SetReadDeadline(deadline)
	for {
		// A reader that is inside Read sits on an empty pipe: it gets the end,
		// or what others write, or the deadline, and lets go of the lock.
		o.mu.Lock()
		o.takeRemaining(deadline)
		full := len(o.remaining) >= maxRemaining
		o.mu.Unlock()
		if full {
			break // leave the rest to the reader, and to the deadline
		}
		err := awaitReadable(o.file)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.endNow()
		}
		if err != nil {
			break
		}
	}
	<-o.ended
}

// endNow ends the output now, keeping the content of the pipe.
func (o *output) endNow() {
	o.file.SetReadDeadline(time.Unix(1, 0))
	o.mu.Lock()
	o.takeRemaining(time.Time{})
	o.mu.Unlock()
}

// takeRemaining moves the content of the pipe into memory and closes the pipe if
// that was all. If other processes hold it, the pipe stays open until the deadline;
// with a zero deadline, or one that is over, it is closed in any case. The lock
// must be held.
func (o *output) takeRemaining(deadline time.Time) {
	if o.closed {
		return
	}
	final := deadline.IsZero() || !time.Now().Before(deadline)
	chunk := make([]byte, 64<<10)
	var err error
	for taken := 0; err == nil && taken < maxRemaining; {
		var n int
		n, err = readNow(o.file, chunk, final)
		taken += n
		o.remaining = append(o.remaining, chunk[:n]...)
	}
	if final || errors.Is(err, io.EOF) {
		o.end()
	}
}

// discard ends the output for a reader that wants no more.
func (o *output) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remaining = nil
	o.end()
}

// end closes the pipe. The lock must be held.
func (o *output) end() {
	if !o.closed {
		o.closed = true
		o.file.Close()
		close(o.ended)
	}
}
