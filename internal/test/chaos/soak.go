//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude"
)

// What a soak consists of, at scale 1.
const (
	soakMessages   = 1_000_000
	soakOperations = 100_000
	soakCycles     = 10_000
	soakSessions   = 1_000

	turnMessages = 10_000 // messages of a turn
	operators    = 4      // goroutines that perform operations
	cyclesAtOnce = 4
)

func runSoak(ctx context.Context, scale float64) error {
	part := func(n int) int { return max(1, int(float64(n)*scale)) }
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"one session", func() error { return soakOne(ctx, part(soakMessages), part(soakOperations)) }},
		{"many at once", func() error { return soakMany(ctx, part(soakSessions)) }},
		{"one after the other", func() error { return soakCycle(ctx, part(soakCycles)) }},
	} {
		begin := time.Now()
		if err := errors.Join(step.run(), context.Cause(ctx)); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("  in %v\n", time.Since(begin).Round(time.Millisecond))
	}
	return nil
}

// soakOne carries many messages and operations over one session. Its heap must
// be after all of them what it was after the first tenth.
func soakOne(ctx context.Context, messages, operations int) error {
	s, err := claude.Connect(ctx, &claude.Options{Transport: talkingCLI{}})
	if err != nil {
		return err
	}
	defer s.Close()
	var done atomic.Int64
	operate := func(n int) error {
		var wg sync.WaitGroup
		errs := make([]error, operators)
		for w := range operators {
			wg.Go(func() {
				for i := w; i < n && errs[w] == nil; i += operators {
					errs[w] = s.SetModel(ctx, "sonnet")
					done.Add(1)
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	turns := max(10, messages/turnMessages)
	read := 0
	var early counts
	for turn := range turns {
		operated := make(chan error, 1)
		go func() { operated <- operate(operations / turns) }()
		for _, err := range s.Run(ctx, strconv.Itoa(messages/turns)) {
			if err != nil {
				return err
			}
			read++
		}
		if err := <-operated; err != nil {
			return err
		}
		if turn == turns/10 {
			early = count()
		}
	}
	late, err := settle(early)
	fmt.Printf("one session: %d messages, %d operations: %v, after a tenth %v\n", read, done.Load(), late, early)
	return err
}

// soakMany has sessions open at once, each of which has a turn and stays idle.
func soakMany(ctx context.Context, sessions int) error {
	before := count()
	open := make([]*claude.Session, sessions)
	errs := make([]error, sessions)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			if open[i], errs[i] = claude.Connect(ctx, &claude.Options{Transport: talkingCLI{}}); errs[i] == nil {
				_, errs[i] = open[i].Ask(ctx, "10")
			}
		})
	}
	wg.Wait()
	idle := count()
	fmt.Printf("%d sessions at once: %v; %.1f KiB and %.1f goroutines each, its CLI included\n", sessions, idle,
		(float64(idle.heap)-float64(before.heap))/float64(sessions)/1024, float64(idle.goroutines-before.goroutines)/float64(sessions))
	for _, s := range open {
		if s != nil {
			wg.Go(func() { _ = s.Close() }) // judged by what is left
		}
	}
	wg.Wait()
	open = nil
	after, err := settle(before)
	fmt.Printf("  closed: %v, was %v\n", after, before)
	return errors.Join(append(errs, err)...)
}

// script is the smallest CLI that is a process: it answers the handshake, whose
// id is known, and ends with its input.
const script = `#!/bin/sh
read line
echo '{"type":"control_response","response":{"subtype":"success","request_id":"req_0","response":{"claude_code_version":"2.1.325"}}}'
while read line; do :; done
`

// soakCycle opens and closes sessions, each with a process and a file.
func soakCycle(ctx context.Context, cycles int) error {
	path := filepath.Join(os.TempDir(), "claude")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		return err
	}
	defer os.Remove(path)
	o := &claude.Options{CLIPath: path, Env: []string{"PATH=" + os.Getenv("PATH")}, Settings: map[string]any{"a": 1}}
	cycle := func(n int) error {
		places := make(chan struct{}, cyclesAtOnce)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var failed error
		for i := 0; i < n && ctx.Err() == nil; i++ {
			places <- struct{}{}
			wg.Go(func() {
				defer func() { <-places }()
				s, err := claude.Connect(ctx, o)
				if err == nil {
					err = s.Close()
				}
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			})
		}
		wg.Wait()
		return failed
	}
	if err := cycle(max(1, cycles/10)); err != nil {
		return err
	}
	before := count()
	err := cycle(cycles - cycles/10)
	after, grown := settle(before)
	files := filesBelow(os.TempDir())
	fmt.Printf("%d cycles: %v, after a tenth %v; %d files\n", cycles, after, before, len(files)-1)
	if len(files) > 1 {
		grown = errors.Join(grown, fmt.Errorf("files: %v", files))
	}
	return errors.Join(err, grown)
}
