package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/plan"
	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// The questions and the transcript are read only if a CLI may have seen a prompt.
func TestSightReadsWhatItNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		sent, stuck bool
		step        plan.Step
		calls       []string // of the store
	}{
		"new":   {false, false, plan.Send, []string{"View", "View"}},
		"begun": {true, false, plan.Send, []string{"View", "Scan", "View", "Load"}},
		"stuck": {true, true, plan.Sleep, []string{"View"}},
	} {
		t.Run(name, func(t *testing.T) {
			db := store.Memory()
			var calls []string
			counted := storefault.Wrap(db, func(c storefault.Call) storefault.Kind {
				calls = append(calls, c.Method)
				return storefault.None
			})
			held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", patient)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Store: counted, Project: "p", StoreTimeout: patient, Attempts: 3}
			w := newWaking(newHouse(t.Context(), o), &conversation{key: "ada", more: make(chan struct{}, 1)}, &owned{Held: held, lost: make(chan struct{})}, nil)
			const id = "00000000-0000-4000-8000-000000000001"
			rec := record{Key: "ada", Session: "0b0f5d5e-0000-4000-8000-000000000001"}
			if c.stuck {
				rec.Stuck = &stuck{Prompt: id}
			}
			name := place("ada") + "/" + stamp(time.Unix(1, 0), id)
			if _, err := w.records.put(t.Context(), kindConversation, place("ada"), &rec, 0, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.records.put(t.Context(), kindPrompt, name, &queued{ID: id, Sent: c.sent}, 0, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			w.c.waiting, calls = []string{name}, nil
			d, err := w.decide(t.Context(), new(sight))
			if err != nil || d.Step != c.step || !slices.Equal(calls, c.calls) {
				t.Errorf("step %d, %v, with %q; want %d with %q", d.Step, err, calls, c.step, c.calls)
			}
		})
	}
}

// The plan sees the questions of a conversation as they are.
func TestSightOfQuestions(t *testing.T) {
	for _, c := range []struct {
		q    approval.Question
		want plan.Question
	}{
		{approval.Question{State: approval.StateOpen}, plan.Question{Stage: plan.Open}},
		{approval.Question{State: approval.StateDecided, HoldsProcess: true}, plan.Question{Stage: plan.Decided, Holds: true}},
		{approval.Question{State: approval.StateReleased, Tool: approval.ElicitationTool}, plan.Question{Stage: plan.Released, Aside: true}},
		{approval.Question{State: approval.StateSettled, Outcome: approval.OutcomeRan}, plan.Question{Stage: plan.Over}},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeWithdrawn}, plan.Question{Stage: plan.Over}},
		{approval.Question{State: approval.StateGone, Outcome: approval.OutcomeExpired}, plan.Question{Stage: plan.Over, Overdue: true}},
	} {
		c.q.ID, c.q.ToolUseID, c.want.ID, c.want.Call = "q", "call", "q", "call"
		if got := plannedQuestion(&c.q); got != c.want {
			t.Errorf("%+v is %+v, want %+v", c.q, got, c.want)
		}
	}
}
