package brief_test

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/message"
)

// Every reason of the wire has words, and an unknown one is readable.
func TestEnding(t *testing.T) {
	for reason, want := range map[string]string{
		"aborted_streaming": "interrupted", "aborted_tools": "interrupted", "completed": "completed", "success": "completed",
		"max_turns": "the limit of turns was reached", "brand_new_reason": "brand new reason", "": "",
	} {
		if got := brief.Ending(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
	old := &message.Result{Header: message.Header{Subtype: message.ResultErrorExecution}} // as CLIs up to 2.1.0 say it
	if got := brief.EndingOf(old); got != "interrupted" {
		t.Errorf("an interrupt of an old CLI: %q", got)
	}
}
