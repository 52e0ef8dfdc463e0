package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// The names of the rows about conversations that sleep.
const (
	rowPrewarmed = "first word of a sleeping conversation that is prewarmed (limit: one that is not), median, ns"
	rowPrewarms  = "and how long the start takes that prewarming does ahead, median, ns"
)

// prewarmIdle is how long a conversation stays awake: long enough for a prompt that is sent
// as soon as its CLI is ready.
const prewarmIdle = 2 * time.Second

// prewarmedWords measures the time from a prompt to the first text of its answer, with the
// real CLI, of a conversation that sleeps. In every second round its CLI was started ahead.
func prewarmedWords(ctx context.Context, b *bench) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, cliBound)
	defer cancel()
	m := claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("noted") })
	if _, err := m.Start(); err != nil {
		return nil, err
	}
	defer m.Close()
	r, err := openReal(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	f, err := fleet.Open(ctx, fleet.Options{
		Store: store.Memory(), Project: "p", MaxLive: 1, IdleAfter: prewarmIdle, Journal: filepath.Join(r.dir, "journal"), Logger: slog.New(slog.DiscardHandler),
		Session: func(context.Context, string) (*claude.Options, error) { return r.opts, nil },
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(context.WithoutCancel(ctx))) }()
	const key = "sleeper"
	if _, err := firstWord(ctx, f, key); err != nil { // there is a transcript to resume
		return nil, err
	}
	var asleep, warm, starts []float64
	for range b.rounds {
		if err := sleeps(ctx, f, key); err != nil {
			return nil, err
		}
		took, err := firstWord(ctx, f, key)
		if err != nil {
			return nil, err
		}
		asleep = append(asleep, float64(took))
		if err := sleeps(ctx, f, key); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := f.Prewarm(ctx, key); err != nil {
			return nil, err
		}
		starts = append(starts, float64(time.Since(begin)))
		if took, err = firstWord(ctx, f, key); err != nil {
			return nil, err
		}
		warm = append(warm, float64(took))
	}
	return []row{
		{Case: rowPrewarmed, Ours: medianOf(warm), Limit: medianOf(asleep), Spread: spreadOf(warm)},
		{Case: rowPrewarms, Ours: medianOf(starts), Spread: spreadOf(starts)},
	}, nil
}

// sleeps waits until a conversation has no CLI.
func sleeps(ctx context.Context, f *fleet.Fleet, key string) error {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		info, err := f.Get(ctx, key)
		if err != nil || info.State == fleet.StateAsleep {
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// firstWord runs a turn, and returns how long its first text took.
func firstWord(ctx context.Context, f *fleet.Fleet, key string) (took time.Duration, err error) {
	begin := time.Now()
	for m, err := range f.Run(ctx, key, "more") {
		if err != nil {
			return 0, err
		}
		if e, ok := m.(*message.StreamEvent); ok && e.Text() != "" && took == 0 {
			took = time.Since(begin)
		}
	}
	if took == 0 {
		return 0, fmt.Errorf("nothing was said to %s", key)
	}
	return took, nil
}
