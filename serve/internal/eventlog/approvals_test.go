package eventlog

import (
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// The state of a note in the log moves forward only: a decision and an outcome are never
// taken back by what was read before them.
func TestNotesMoveForward(t *testing.T) {
	t.Parallel()
	at := time.Unix(9, 0)
	steps := []api.ApprovalNote{
		{State: api.ApprovalPending},
		{State: api.ApprovalAllowed, DecidedBy: "ada", DecidedAt: at},
		{State: api.ApprovalAllowed, DecidedBy: "ada", DecidedAt: at, Outcome: api.OutcomeRan},
	}
	for i := range steps {
		for j := range steps {
			if got := sameNote(&steps[i], &steps[j]); got != (i == j) {
				t.Errorf("%d is the same as %d: %v", i, j, got)
			}
			if got := furtherNote(&steps[i], &steps[j]); got != (i > j) {
				t.Errorf("%d is further than %d: %v", i, j, got)
			}
		}
	}
	for name, other := range map[string]api.ApprovalNote{
		"state": {State: api.ApprovalDenied, DecidedBy: "ada", DecidedAt: at}, "person": {State: api.ApprovalAllowed, DecidedBy: "bob", DecidedAt: at},
		"time": {State: api.ApprovalAllowed, DecidedBy: "ada", DecidedAt: at.Add(1)},
	} {
		if sameNote(&steps[1], &other) {
			t.Errorf("another %s is the same", name)
		}
	}
	zone := steps[1]
	zone.DecidedAt = at.UTC()
	if !sameNote(&steps[1], &zone) {
		t.Error("the same time in another zone is another note")
	}
}
