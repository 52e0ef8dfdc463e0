package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/message"
)

// Sessions with a fake CLI each, which are processes.
const (
	processSessions = 1000
	processMessages = 1000
)

func rowProcesses(n int) string {
	return fmt.Sprintf("CPU time of a message, %d sessions with a process each (limit: one session), ns", n)
}

// manyProcesses measures what a message costs this process when many sessions
// stream at once, each from a process of its own. What the fake CLIs use does not
// count.
func manyProcesses(ctx context.Context, b *bench) ([]row, error) {
	sessions := processSessions
	if b.divide > 1 { // a look, or a test
		sessions = max(processSessions/b.divide, 2)
	}
	one, err := openProcesses(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer one.close()
	all, err := openProcesses(ctx, sessions)
	if err != nil {
		return nil, err
	}
	var alone, together []float64
	for i := range 3 { // the first warms up
		var a, c float64
		if a, err = one.stream(ctx, processMessages*100/b.divide); err != nil {
			break
		}
		if c, err = all.stream(ctx, processMessages); err != nil {
			break
		}
		if i > 0 && a > 0 {
			alone, together = append(alone, a), append(together, c)
		}
	}
	if closed := all.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	if len(alone) == 0 {
		return nil, errors.New("the processor time is not known here")
	}
	return []row{{Case: rowProcesses(processSessions), Ours: medianOf(together), Limit: medianOf(alone)}}, nil
}

// openProcesses starts sessions, some at a time: to start a process takes longer
// the more of them compete for it.
func openProcesses(ctx context.Context, n int) (sessions, error) {
	cli, err := os.Executable()
	if err != nil {
		return nil, err
	}
	opts := newOurs(cli).opts
	opts.Timeouts.Initialize = time.Minute
	all, errs := make(sessions, n), make([]error, n)
	room := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i := range all {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			all[i], errs[i] = claude.Connect(ctx, opts)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		started := all[:0]
		for _, s := range all {
			if s != nil {
				started = append(started, s)
			}
		}
		return nil, errors.Join(err, started.close())
	}
	return all, nil
}

// stream lets every session stream n deltas, all at once, and returns the
// processor time of one of them, in nanoseconds. A delta that is lost is an error.
func (all sessions) stream(ctx context.Context, n int) (float64, error) {
	errs := make([]error, len(all))
	used := cputime.Used()
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() { errs[i] = streamOne(ctx, s, n) })
	}
	wg.Wait()
	used = cputime.Used() - used
	return float64(used) / float64(n*len(all)), errors.Join(errs...)
}

func streamOne(ctx context.Context, s *claude.Session, n int) error {
	got, length := 0, 0
	for msg, err := range s.Run(ctx, fmt.Sprintf("delta %d", n)) {
		if err != nil {
			return err
		}
		if m, ok := msg.(*message.StreamEvent); ok {
			got++
			length += len(m.Text())
		}
	}
	if want := n * len("Hello there, this is text"); got != n || length != want {
		return fmt.Errorf("%d deltas of %d bytes, want %d of %d", got, length, n, want)
	}
	return nil
}
