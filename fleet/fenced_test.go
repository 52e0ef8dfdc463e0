package fleet_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// stolen is a store in which another process takes a lease just before its owner
// does something, once.
type stolen struct {
	*store.MemoryStore
	before string // what the owner does
	once   sync.Once
}

func (s *stolen) steal(what string, f store.Fence) {
	if what != s.before || f.IsZero() {
		return
	}
	s.once.Do(func() {
		ctx := context.Background()
		if s.MemoryStore.Release(ctx, store.Lease{Fence: f}) == nil {
			_, _ = s.MemoryStore.Acquire(ctx, f.Project, f.Name, "another", time.Minute) // the fleet notices
		}
	})
}

func (s *stolen) Renew(ctx context.Context, l store.Lease) error {
	s.steal("renew", l.Fence)
	return s.MemoryStore.Renew(ctx, l)
}

func (s *stolen) Append(ctx context.Context, k store.Key, b store.Batch) error {
	s.steal("append", b.Fence)
	return s.MemoryStore.Append(ctx, k, b)
}

func (s *stolen) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	for _, one := range c {
		if one.Drop {
			s.steal("drop", f)
		} else {
			s.steal("put", f)
		}
	}
	return s.MemoryStore.Change(ctx, f, c...)
}

// Every write of an owner that was replaced is refused, and the trace reports it. The
// prompt is answered when the conversation is free again, by the same process unless
// another does.
func TestFenced(t *testing.T) {
	for _, what := range []string{"", "renew", "append", "put", "drop"} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var fenced []string
			cli := newScripted()
			cli.hold = make(chan struct{})
			f := open(t, &stolen{MemoryStore: store.Memory(), before: what}, cli, func(o *fleet.Options) {
				o.Trace = &fleet.PromptTrace{Fenced: func(key string) {
					mu.Lock()
					defer mu.Unlock()
					fenced = append(fenced, key)
				}}
			})
			id, err := f.Send(t.Context(), "acme/ada", fleet.Prompt{Text: "hello"})
			if err != nil {
				t.Error(err)
			}
			<-time.After(time.Minute)
			close(cli.hold)
			<-time.After(10 * time.Minute)
			if o, err := f.Prompt(t.Context(), "acme/ada", id); err != nil || o.Text != "heard hello" {
				t.Errorf("another owner before %q: %+v, %v", what, o, err)
			}
			closeFleet(t, f)
			if what == "" && len(fenced) != 0 || what != "" && !slices.Contains(fenced, "acme/ada") {
				t.Errorf("another owner before %q: refusals of %q", what, fenced)
			}
		})
	}
}
