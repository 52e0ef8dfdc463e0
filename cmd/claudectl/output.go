package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// output is standard output. A write that fails ends the command: its output is
// no longer read, and a turn costs money.
type output struct {
	stream io.Writer
	end    context.CancelCauseFunc
}

// Write writes to the stream.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.stream.Write(b)
	switch {
	case errors.Is(err, syscall.EPIPE):
		o.end(&failure{code: exitPipe}) // as with "| head", which is not an error
	case err != nil:
		o.end(&failure{exitFailed, fmt.Errorf("standard output: %w", err)})
	}
	return n, err
}

// because returns why the context of a command was ended, if a signal or a loss
// of standard output did that; otherwise it returns the error of the command.
func because(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*failure](context.Cause(ctx)); ok {
		return f
	}
	return err
}
