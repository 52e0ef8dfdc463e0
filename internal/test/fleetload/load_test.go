package fleetload

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// Every prompt is answered, and the heap is measured when nothing is awake.
func TestRun(t *testing.T) {
	slots, quiet, dir := new(Slots), slog.New(slog.NewTextHandler(io.Discard, nil)), t.TempDir()
	f, err := fleet.Open(t.Context(), fleet.Options{
		Store: store.Memory(), Project: "p", MaxLive: 2, IdleAfter: time.Millisecond, Journal: dir, Logger: quiet, Trace: slots.Trace(),
		Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: CLI{}, Cwd: dir, Env: []string{"HOME=" + dir}, Logger: quiet}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	load := &Load{Fleet: f, Slots: slots, Conversations: 5, Rounds: 2, Progress: io.Discard}
	r, err := load.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Answered != 10 || r.MostLive != 2 || len(r.Heap) != 3 || len(r.TurnNS) != 2 {
		t.Errorf("%+v", r)
	}
	for info, err := range f.List(t.Context()) {
		if err != nil || info.State != fleet.StateAsleep {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

// AllAsleep waits for prompts as well as for conversations, and ends with its
// context.
func TestAllAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := new(Slots), t.Context()
		if err := s.AllAsleep(ctx); err != nil {
			t.Fatal(err)
		}
		see := s.Trace().Load
		see(fleet.TraceLoad{Queued: 1})
		done := make(chan error, 1)
		go func() { done <- s.AllAsleep(ctx) }()
		for _, l := range []fleet.TraceLoad{{Queued: 1, Live: 3}, {Live: 1}, {Queued: 1}} {
			see(l)
			synctest.Wait()
			select {
			case <-done:
				t.Fatalf("asleep with %+v", l)
			default:
			}
		}
		see(fleet.TraceLoad{})
		if err := <-done; err != nil || s.Most() != 3 {
			t.Errorf("%v, most %d", err, s.Most())
		}
		see(fleet.TraceLoad{Live: 1})
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := s.AllAsleep(short); err == nil {
			t.Error("it did not wait")
		}
	})
}
