package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
)

// An error explains in one sentence what is wrong, even if a part of it is not known.
func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`conversation "acme/ada": is being deleted`:                                 &fleet.ConversationError{Key: "acme/ada", Reason: fleet.ErrDeleted},
		`too many prompts are waiting: 100 in conversation "ada"; try again in 2s`:  &fleet.OverloadedError{Key: "ada", Queued: 100, Wait: 2 * time.Second},
		`tenant "acme" sends prompts too fast; try again in 2s`:                     &fleet.OverloadedError{Tenant: "acme", Wait: 2 * time.Second},
		`conversation "ada": the budget is spent: 2.50 of 2.00 US dollars`:          &fleet.BudgetError{Key: "ada", CostUSD: 2.5, OfUSD: 2},
		`prompt p1 of conversation "ada" waits for the answer to question q1`:       &fleet.DeferredError{Key: "ada", Prompt: "p1", Question: "q1"},
		`prompt p1 of conversation "ada" waits for a decision`:                      &fleet.DeferredError{Key: "ada", Prompt: "p1"},
		`conversation "ada" is stuck at prompt p1: the CLI ended three times in it`: &fleet.StuckError{Key: "ada", Prompt: "p1", Reason: "the CLI ended three times in it"},
	} {
		if got, _ := strings.CutPrefix(err.Error(), "claude: fleet: "); got != want {
			t.Errorf("%T: %q, want %q", err, got, want)
		}
	}
}
