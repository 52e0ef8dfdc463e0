package serve

import (
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// What was taken back is not a fault of the CLI.
func TestTakenBackIsAConflict(t *testing.T) {
	t.Parallel()
	for status, want := range map[fleet.PromptStatus]problemKind{fleet.Cancelled: takenBack, fleet.Failed: cliFailed} {
		if got := problemOf(&fleet.FailedError{Key: "a/b", Ticket: fleet.Ticket{Status: status, Error: "it was cancelled"}}); !want.is(got) || got.Status != want.status {
			t.Errorf("%s: %+v", status, got)
		}
	}
}

// A conversation that its budget holds back has something to do.
func TestHeldIsNotIdle(t *testing.T) {
	t.Parallel()
	c := (&note{Key: "a/b"}).conversation()
	if joinInfo(&c, &fleet.ConversationInfo{State: fleet.Held, Queued: 1}, 0); c.State != api.Queued {
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
