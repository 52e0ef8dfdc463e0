package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// strict is a store that reports each write without a fence that only the owner of a
// conversation may make.
type strict struct {
	*store.MemoryStore
	report func(what string)
}

// unfenced fails a test whose fleet makes such a write. A copy that is made for a
// conversation has no owner yet.
func unfenced(t *testing.T) func(what string) {
	return func(what string) {
		if !strings.Contains(what, "appended") {
			t.Errorf("without a fence: %s", what)
		}
	}
}

func (s *strict) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if b.Fence.IsZero() {
		s.report(fmt.Sprintf("%d lines of session %s are appended", len(b.Entries), k.Session))
	}
	return s.MemoryStore.Append(ctx, k, b)
}

func (s *strict) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	for _, one := range c {
		s.check(ctx, one, f)
	}
	return s.MemoryStore.Change(ctx, f, c...)
}

// check reports a change without a fence, unless users may make it.
func (s *strict) check(ctx context.Context, c store.RecordChange, f store.Fence) {
	if !f.IsZero() {
		return
	}
	ctx = context.WithoutCancel(ctx) // a fleet that closes in between has done nothing wrong
	old, next := make(map[string]any), make(map[string]any)
	r, err := store.Get(ctx, s.MemoryStore, c.Key)
	if err == nil {
		err = json.Unmarshal(r.Value, &old)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil || r.Revision != c.Revision {
		return // it is refused
	}
	if !c.Drop && json.Unmarshal(c.Value, &next) != nil {
		return
	}
	if now, err := s.MemoryStore.Now(ctx); err == nil && c.Drop && isOld(c.Key.Kind, old, now) {
		return
	}
	if !usersMay(c.Key.Kind, c.Drop, c.Revision == 0, old, next) {
		s.report(fmt.Sprintf("%s %s, drop %v, is changed from %v to %v", c.Key.Kind, c.Key.Name, c.Drop, old, next))
	}
}

// endsSoon is a context that has ended when it is asked for the second time.
type endsSoon struct {
	context.Context
	asked int
}

func (c *endsSoon) Err() error {
	if c.asked++; c.asked > 1 {
		return context.Canceled
	}
	return nil
}

// An old outcome may go without a fence, even when the fleet that removes it closes.
func TestStrictKnowsTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &strict{MemoryStore: store.Memory(), report: func(what string) { t.Errorf("without a fence: %s", what) }}
		k := store.RecordKey{Project: "p", Kind: "outcome", Name: "c/ada/1"}
		revision, err := store.Put(t.Context(), s.MemoryStore, k, fmt.Appendf(nil, `{"status":"answered","ended":%q}`, time.Now().Format(time.RFC3339)), 0, store.Fence{})
		if err != nil {
			t.Fatal(err)
		}
		drop := store.RecordChange{Key: k, Revision: revision, Drop: true}
		<-time.After(6 * time.Minute)
		s.check(&endsSoon{Context: t.Context()}, drop, store.Fence{})
	})
}

// isOld reports whether a record is one that is removed when it is old enough, without
// the lease of its conversation.
func isOld(kind string, old map[string]any, now time.Time) bool {
	text, _ := old["ended"].(string)
	ended, err := time.Parse(time.RFC3339Nano, text)
	return kind == "day" || (kind == "outcome" || kind == "question") && err == nil && now.Sub(ended) > 5*time.Minute
}

// usersMay reports whether a change needs no lease.
func usersMay(kind string, drop, create bool, old, next map[string]any) bool {
	same := func(but ...string) bool {
		for _, name := range but {
			delete(old, name)
			delete(next, name)
		}
		return reflect.DeepEqual(old, next)
	}
	switch kind {
	case "conversation": // is begun, described, or let try again
		return !drop && (create || same("stuck", "title", "labels", "model", "models", "mode", "chosen"))
	case "prompt": // is sent, cancelled, interrupted, or let try again; one that never began goes
		return drop && old["sent"] == nil || create || !drop && same("cancelled", "interrupted", "begun", "resets", "starts", "losses", "failure", "cause")
	case "outcome": // of a prompt that never began
		return next["status"] == "cancelled" || drop && old["status"] == "cancelled"
	case "ended":
		return drop || next["status"] == "cancelled"
	case "question": // is decided, or has expired
		return !drop && (next["state"] == "decided" || next["state"] == "gone" && next["outcome"] == "expired")
	}
	return !slices.Contains([]string{"calls", "day"}, kind)
}
