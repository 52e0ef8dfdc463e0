package main

import (
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// steer gives the running turn another message.
func (b *bridge) steer(t *testing.T, id schema.SessionID, text string) {
	t.Helper()
	var resp struct {
		Outcome string `json:"outcome"`
	}
	params := map[string]any{"sessionId": id, "prompt": []any{map[string]string{"type": "text", "text": text}}}
	if err := b.Call(t.Context(), "_session/steering", params, &resp); err != nil || resp.Outcome != "injected" {
		t.Errorf("steering: %q, %v", resp.Outcome, err)
	}
}

// heard reports whether the model was told something, in any call.
func (s *realServer) heard(text string) bool {
	for _, call := range s.model.Calls() {
		if strings.Contains(string(call.Raw), text) {
			return true
		}
	}
	return false
}

// TestRealACPConnectSteers is an editor whose program talks to a server with the real CLI.
// It steers a turn, which takes the message in; it cancels one with a message that the CLI
// has not begun, which the model is never told; and it copies the conversation, whose
// copy knows what was said and shows what is new.
func TestRealACPConnectSteers(t *testing.T) {
	s := newRealServer(t, []claudetest.Reply{
		claudetest.UseTool("Bash", map[string]string{"command": "echo one >> ran.txt"}), claudetest.Say("Built and tested."),
		claudetest.Say(strings.Repeat("endless ", 2000)).Chunks(8, 10*time.Millisecond), claudetest.Say("Copied."),
	}, nil)
	b := s.bridge(t)
	id := b.New(t, s.dir)
	ended := b.begin(t, id, "Build it.")
	<-b.asked
	b.steer(t, id, "And test it.")
	b.answers <- "allow-once"
	if got := <-ended; got != schema.StopReasonEndTurn || b.Text(id) != "Built and tested." || !s.heard("And test it.") || s.ran() != "one " {
		t.Errorf("ended %s, said %q, ran %q, heard %t", got, b.Text(id), s.ran(), s.heard("And test it."))
	}

	ended = b.begin(t, id, "Talk.")
	b.until(t, "endless endless")
	b.steer(t, id, "Shorter, please.")
	if err := b.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != schema.StopReasonCancelled {
		t.Errorf("a cancelled turn ended %s", got)
	}

	var copied schema.NewSessionResponse
	if err := b.Call(t.Context(), "session/fork", schema.ResumeSessionRequest{SessionID: id, Cwd: s.dir}, &copied); err != nil {
		t.Fatal(err)
	}
	if got := <-b.begin(t, copied.SessionID, "Continue."); got != schema.StopReasonEndTurn || b.Text(copied.SessionID) != "Copied." {
		t.Errorf("the copy ended %s, and said %q", got, b.Text(copied.SessionID))
	}
	calls := s.model.Calls()
	if last := string(calls[len(calls)-1].Raw); !strings.Contains(last, "Build it.") || !strings.Contains(last, "Continue.") || s.heard("Shorter, please.") {
		t.Errorf("the copy was told %s; the message that was cancelled: %t", last, s.heard("Shorter, please."))
	}
	b.Close()
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
}
