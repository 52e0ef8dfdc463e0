package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// What was taken back is not a fault of the CLI.
func TestTakenBackIsAConflict(t *testing.T) {
	t.Parallel()
	for status, want := range map[fleet.PromptStatus]problemKind{fleet.PromptCancelled: takenBack, fleet.PromptFailed: cliFailed} {
		if got := problemOf(&fleet.FailedError{Key: "a/b", Ticket: fleet.Ticket{Status: status, Error: "it was cancelled"}}); !want.is(got) || got.Status != want.status {
			t.Errorf("%s: %+v", status, got)
		}
	}
}

// A conversation that its budget holds back has something to do.
func TestHeldIsNotIdle(t *testing.T) {
	t.Parallel()
	c := (&note{Key: "a/b"}).conversation()
	if joinInfo(&c, &fleet.ConversationInfo{State: fleet.StateHeld, Queued: 1}, 0); c.State != api.StateQueued {
		t.Errorf("%+v", c)
	}
}

// A client whose prompt may have been accepted learns the id under which to send it again.
func TestInDoubtNamesThePrompt(t *testing.T) {
	t.Parallel()
	got := problemOf(&fleet.InDoubtError{Key: "a/b", Prompt: "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11", Err: fleet.ErrTimeout})
	if !storeSilent.is(got) || got.Prompt != "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11" || got.RetryAfter == 0 {
		t.Errorf("%+v", got)
	}
	if got := problemOf(&fleet.ConversationError{Key: "a/b", Reason: fleet.ErrTimeout}); !storeSilent.is(got) || got.Prompt != "" {
		t.Errorf("%+v", got)
	}
}

// A spent budget of the fleet is not a failure of the server, and a daily budget names
// the time to come back.
func TestProblemOfBudget(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 23, 0, 0, 0, time.UTC)
	day := overBudget(&fleet.BudgetError{CostUSD: 7, OfUSD: 5, Resets: now.Add(time.Hour)}, now)
	if !budget.is(day) || day.RetryAfter != 3601 || !strings.Contains(day.Detail, "$7.00 of the $5.00") {
		t.Errorf("a day: %+v", day)
	}
	if own := problemOf(&fleet.BudgetError{Key: "a/b", CostUSD: 7, OfUSD: 5}); !budget.is(own) || own.RetryAfter != 0 || strings.Contains(own.Detail, "midnight") {
		t.Errorf("a conversation: %+v", own)
	}
	held := fleet.ConversationInfo{BudgetUSD: 5, HeldUntil: now}
	if advice := heldAdvice(&held); !strings.Contains(advice, "$5.00") || !strings.Contains(advice, "midnight") {
		t.Error(advice)
	}
}
