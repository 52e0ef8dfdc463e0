package approval_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// End ends a question about a call that is over: it is settled if the call was
// released, and withdrawn otherwise. A question that is over stays unchanged.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		qs := approval.NewQuestions(store.Memory(), "p")
		for _, c := range []struct {
			far  approval.State
			want approval.Outcome
		}{
			{approval.StateOpen, approval.OutcomeWithdrawn}, {approval.StateDecided, approval.OutcomeWithdrawn}, {approval.StateReleased, approval.OutcomeRan}, {approval.StateSettled, approval.OutcomeFailed},
		} {
			q, err := qs.Ask(t.Context(), approval.Question{Conversation: "ada", Tool: "Bash", ToolUseID: string(c.far), Input: []byte(`{}`)}, store.Fence{})
			if err != nil {
				t.Fatal(err)
			}
			steps := map[approval.State]int{approval.StateOpen: 0, approval.StateDecided: 1, approval.StateReleased: 2, approval.StateSettled: 3}[c.far]
			for _, do := range []func() error{
				func() error {
					_, err := qs.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
					return err
				},
				func() error { _, err := qs.Release(t.Context(), q.ID, store.Fence{}); return err },
				func() error { return qs.Settle(t.Context(), q.ID, approval.OutcomeFailed, store.Fence{}) },
			}[:steps] {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			}
			if err := qs.End(t.Context(), q.ID, approval.OutcomeRan, store.Fence{}); err != nil {
				t.Errorf("%s: %v", c.far, err)
			}
			if now, err := qs.Get(t.Context(), q.ID); err != nil || now.Outcome != c.want || now.Ended.IsZero() {
				t.Errorf("%s: it is %s %s, %v", c.far, now.State, now.Outcome, err)
			}
		}
		if err := qs.End(t.Context(), "0123456789abcdef0123456789abcdef", approval.OutcomeRan, store.Fence{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown question: %v", err)
		}
		if err := qs.End(t.Context(), "0123456789abcdef0123456789abcdef", approval.OutcomeExpired, store.Fence{}); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("an outcome of a question that is gone: %v", err)
		}
	})
}
