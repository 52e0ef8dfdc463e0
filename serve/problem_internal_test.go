package serve

import (
	"testing"

	"github.com/claude-agent-go/claude/fleet"
)

// What was taken back is not a fault of the CLI.
func TestTakenBackIsAConflict(t *testing.T) {
	for status, want := range map[fleet.PromptStatus]problemKind{fleet.Cancelled: takenBack, fleet.Failed: cliFailed} {
		if got := problemOf(&fleet.FailedError{Key: "a/b", Ticket: fleet.Ticket{Status: status, Error: "it was cancelled"}}); !want.is(got) || got.Status != want.status {
			t.Errorf("%s: %+v", status, got)
		}
	}
}

// A conversation that its budget holds back has something to do.
func TestHeldIsNotIdle(t *testing.T) {
	c := (&note{Key: "a/b"}).conversation()
	if c.join(&fleet.ConversationInfo{State: fleet.Held, Queued: 1}, 0); c.State != Queued {
		t.Errorf("%+v", c)
	}
}
