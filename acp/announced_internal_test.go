package acp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// TestAnnounced bounds the wait of a question: progress prolongs it, silence and
// the end of the context do not.
func TestAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a announced
		start := time.Now()
		took := func() time.Duration {
			d := time.Since(start)
			start = time.Now()
			return d
		}
		if a.wait(t.Context(), ""); took() != 0 {
			t.Error("a question about nothing waits")
		}
		if a.wait(t.Context(), "never"); took() != overtaking {
			t.Error("silence does not end the wait in time")
		}
		go func() {
			for range 3 {
				<-time.After(overtaking - 1)
				a.note(new(message.StreamEvent))
			}
			<-time.After(overtaking - 1)
			a.note(&message.Assistant{Content: message.Content{&message.ToolUseBlock{ID: "call"}}})
		}()
		if a.wait(t.Context(), "call"); took() != 4*(overtaking-1) {
			t.Error("the wait did not last until the call was shown")
		}
		if a.wait(t.Context(), "call"); took() != 0 {
			t.Error("a call that was shown is waited for")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a.wait(ctx, "other"); took() != time.Second {
			t.Error("the wait outlives its context")
		}
		a.note(&message.User{Content: message.Content{&message.ToolResultBlock{ToolUseID: "call"}}})
		if len(a.calls) != 0 {
			t.Errorf("kept %v after the result", a.calls)
		}
	})
}
