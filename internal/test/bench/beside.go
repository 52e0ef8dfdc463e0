package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// ran holds the usage and the output of a program.
type ran struct {
	cpu time.Duration // in user and in system mode
	out []byte
}

// pair runs two programs at the same time on the same core and returns what each
// has used. A few percent are looked for, and the machine changes its pace by more
// than that from second to second: on one core it does so for both alike.
func pair(ctx context.Context, a, b *exec.Cmd, swapped bool) (of [2]ran, err error) {
	programs := [2]*exec.Cmd{a, b}
	var outs [2]bytes.Buffer
	for i, cmd := range programs {
		cmd.Env = append(cmd.Environ(), "GOMAXPROCS=1")
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
	}
	first, second := a, b
	if swapped {
		first, second = b, a
	}
	if err := onOneCore(func() error { return errors.Join(first.Start(), second.Start()) }); err != nil {
		return of, errors.Join(err, stopped(a), stopped(b))
	}
	var errs []error
	for i, cmd := range programs {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, &outs[i]))
			continue
		}
		of[i] = ran{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), outs[i].Bytes()}
	}
	return of, errors.Join(append(errs, ctx.Err())...)
}

// stopped ends a program whose partner could not be started.
func stopped(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return errors.Join(cmd.Process.Kill(), cmd.Wait())
}

// ratioBeside runs pairs of programs side by side. It returns the median of what ours
// took, and what the limit took by the median of the ratios. Neither is always started
// first.
func ratioBeside(pairs int, run func(swapped bool) (ours, limit float64, err error)) (ours, limit *float64, err error) {
	var times, ratios []float64
	for i := range pairs {
		a, b, err := run(i%2 == 1)
		if err != nil {
			return nil, nil, err
		}
		times, ratios = append(times, a), append(ratios, a/b)
	}
	typical := medianOf(times)
	return typical, new(*typical / *medianOf(ratios)), nil
}
