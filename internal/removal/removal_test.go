package removal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/removal"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// slow is a provider whose removals hang, whatever their context, until it is mended.
type slow struct {
	workspace.Provider
	calls  atomic.Int32
	mended chan struct{}
}

func (p *slow) Remove(context.Context, string, store.Fence) error {
	p.calls.Add(1)
	<-p.mended
	return nil
}

// A provider that hangs is called once for a conversation, however often its removal is
// tried: a second call that succeeds late would remove what was made since. Those who
// try get an answer in time, and the outcome once there is one.
func TestProviderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slow{mended: make(chan struct{})}
		var running removal.Running
		for range 3 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("a minute is over"))
			begin := time.Now()
			err := running.Remove(ctx, p, "ada", store.Fence{})
			cancel()
			if !errors.Is(err, removal.ErrHangs) || time.Since(begin) != time.Minute+removal.Grace {
				t.Errorf("Remove = %v after %v", err, time.Since(begin))
			}
		}
		if n := p.calls.Load(); n != 1 {
			t.Errorf("the provider was called %d times, want once", n)
		}
		ended := make(chan error)
		go func() { ended <- running.Remove(t.Context(), p, "ada", store.Fence{}) }()
		synctest.Wait()
		close(p.mended)
		if err := <-ended; err != nil {
			t.Errorf("the removal that was waited for: %v", err)
		}
		if n := p.calls.Load(); n != 1 {
			t.Errorf("the provider was called %d times, want once", n)
		}
		if err := running.Remove(t.Context(), p, "ada", store.Fence{}); err != nil || p.calls.Load() != 2 {
			t.Errorf("after the end: %v, %d calls; want a second call", err, p.calls.Load())
		}
	})
}

// Another conversation does not wait for the one that hangs.
func TestOthersAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slow{mended: make(chan struct{})}
		var running removal.Running
		for _, key := range []string{"ada", "bob"} {
			go func() { _ = running.Remove(t.Context(), p, key, store.Fence{}) }()
		}
		synctest.Wait()
		if n := p.calls.Load(); n != 2 {
			t.Errorf("%d conversations were begun, want 2", n)
		}
		close(p.mended)
	})
}

// busy is a provider whose first removal fails.
type busy struct {
	workspace.Provider
	calls int
}

func (p *busy) Remove(context.Context, string, store.Fence) error {
	if p.calls++; p.calls == 1 {
		return errBusy
	}
	return nil
}

var errBusy = errors.New("the folder is in use")

// A removal that has failed can be tried again.
func TestFailedRemoval(t *testing.T) {
	p := new(busy)
	var running removal.Running
	for i, want := range []error{errBusy, nil} {
		if err := running.Remove(t.Context(), p, "ada", store.Fence{}); !errors.Is(err, want) {
			t.Errorf("attempt %d: %v, want %v", i+1, err, want)
		}
	}
	if p.calls != 2 {
		t.Errorf("the provider was called %d times, want 2", p.calls)
	}
}
