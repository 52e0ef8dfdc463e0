package approval_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/store"
)

// lastMoment is a store in which something happens before a change.
type lastMoment struct {
	*store.MemoryStore
	mu     sync.Mutex
	before func() // once, if set
}

func (m *lastMoment) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	m.mu.Lock()
	before := m.before
	m.before = nil
	m.mu.Unlock()
	if before != nil {
		before()
	}
	return m.MemoryStore.Change(ctx, f, c...)
}

// A decision that arrives in the very moment in which the process gives its call up counts,
// whether the call would have been deferred or denied.
func TestDecidedAtTheLastMoment(t *testing.T) {
	for name, c := range map[string]struct {
		queued bool // a prompt: the call cannot be deferred
		decide step
		want   approval.Outcome
	}{
		"deferred, allowed": {false, decide(allow), approval.OutcomeRan},
		"deferred, denied":  {false, decide(deny), approval.OutcomeDenied},
		"given up, allowed": {true, decide(allow), approval.OutcomeRan},
		"given up, denied":  {true, decide(deny), approval.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &lastMoment{MemoryStore: store.Memory()}
				g := guard(t, db, approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."), claudetest.Say("And that."))
				defer g.Close()
				results := g.start()
				if c.queued {
					if _, err := g.Send(t.Context(), "and that"); err != nil {
						t.Fatal(err)
					}
				}
				q := g.only()
				others := approval.NewQuestions(db.MemoryStore, "p") // another process
				db.mu.Lock()
				db.before = func() { c.decide(t, others, q) }
				db.mu.Unlock()
				if r := <-results; r.DeferredToolUse != nil {
					t.Error("the call was deferred")
				}
				synctest.Wait()
				if now := g.only(); now.Answer == nil || now.Outcome != c.want {
					t.Errorf("the question is %s, %s, answered by %v", now.State, now.Outcome, now.Answer)
				}
			})
		})
	}
}
