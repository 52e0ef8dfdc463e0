package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrLineBreak is returned for a line that holds a line feed: written, it
// would be two lines, and the CLI ends at the first line it cannot parse.
var ErrLineBreak = errors.New("ndjson: line contains a line feed")

// ErrNotBegun is in the error of a Write that gave up before anything of its
// line was written.
var ErrNotBegun = errors.New("nothing was written")

// ErrBroken is in every error of a stream that can no longer be written.
var ErrBroken = errors.New("broken stream")

// Writer writes whole lines to a stream. It is safe for concurrent use.
//
// The lock is a channel of one slot, not a mutex: a writer can give up waiting
// for it with its context, and a bubble of testing/synctest sees the wait.
type Writer struct {
	// OnWrite, if set, sees each line after it was written whole, in the order
	// of the stream. It is set before the first Write and must return at once.
	OnWrite func(line []byte)
	// OnBroken, if set, is called once with the reason why nothing more can be
	// written. It is set before the first Write and must return at once.
	OnBroken func(error)

	dst  io.Writer
	lock chan struct{}
	err  error // guarded by lock: why nothing more can be written
}

// NewWriter returns a Writer on dst.
func NewWriter(dst io.Writer) *Writer {
	return &Writer{dst: dst, lock: make(chan struct{}, 1)}
}

// Write writes line and a line feed with one call to the stream. The Writer
// owns line from then on.
//
// When ctx ends first, Write returns its cause: together with ErrNotBegun if
// nothing was written; otherwise the one call continues, and the line is written
// whole or kills the stream. After a failed or short write the stream is dead, because the peer
// may have half a line, and every later Write returns that error.
func (w *Writer) Write(ctx context.Context, line []byte) error {
	return w.WriteIf(ctx, line, nil)
}

// Claim is the right to write a line.
type Claim interface {
	// Claim takes the right, and reports false if there is none any more. It
	// must return at once.
	Claim() bool
}

// WriteIf is Write for a line that may become unwanted while it waits for its
// turn: the right to write it is taken right before. A nil claim always stands.
func (w *Writer) WriteIf(ctx context.Context, line []byte, claim Claim) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return ErrLineBreak
	}
	line = append(line, '\n')
	if ctx.Err() != nil {
		return notBegunError(ctx)
	}
	endless := ctx.Done() == nil
	if endless {
		w.lock <- struct{}{}
	} else {
		select {
		case w.lock <- struct{}{}:
		case <-ctx.Done():
			return notBegunError(ctx)
		}
	}
	if claim != nil && !claim.Claim() {
		<-w.lock
		return ErrNotBegun
	}
	if endless {
		return w.write(line)
	}
	// The stream's Write knows no context; it runs aside so that the caller
	// need not wait for a peer that reads nothing.
	done := make(chan error, 1)
	go func() { done <- w.write(line) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func notBegunError(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrNotBegun, context.Cause(ctx))
}

// write is called with the lock held and releases it.
func (w *Writer) write(line []byte) error {
	defer func() { <-w.lock }()
	if w.err != nil {
		return w.err
	}
	n, err := w.dst.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("%w: %w", ErrBroken, err)
		if w.OnBroken != nil {
			w.OnBroken(w.err)
		}
		return w.err
	}
	if w.OnWrite != nil {
		w.OnWrite(line[:len(line)-1])
	}
	return nil
}
