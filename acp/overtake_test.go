package acp_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// sight records how much of a call an editor had seen when it was asked about it.
type sight struct {
	mu       sync.Mutex
	text     int  // characters of text
	begun    bool // the call was shown
	complete bool // the call was shown with its input
}

func (s *sight) update(up schema.SessionUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case up.AgentMessageChunk != nil:
		s.text += len(up.AgentMessageChunk.Content.Text.Text)
	case up.ToolCall != nil:
		s.begun = true
		s.complete = s.complete || string(up.ToolCall.RawInput) != "{}"
	case up.ToolCallUpdate != nil:
		s.complete = s.complete || s.begun && up.ToolCallUpdate.RawInput != nil
	}
}

func (s *sight) want(t *testing.T, text int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text != text || !s.begun || !s.complete {
		t.Errorf("asked after %d of %d characters, the call shown: %v, with its input: %v", s.text, text, s.begun, s.complete)
	}
}

// TestQuestionWaitsForCall asks an editor that reads slowly: it must have seen the
// text before the call, and the call, when the question arrives.
func TestQuestionWaitsForCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("word ", 400)
		local, _ := scripted(t, claudetest.Say(text).Chunks(5, 0).With(claudetest.UseTool("Bash", map[string]string{"command": "make"})), claudetest.Say("ok"))
		seen, asked := new(sight), 0
		d := drive.Start(t, local, drive.Setup{
			Permission: func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID {
				asked++
				seen.want(t, len(text))
				return "allow-once"
			},
			OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
				<-time.After(100 * time.Millisecond)
				seen.update(up)
			},
		})
		id := d.New(t, "/")
		if _, err := d.Prompt(t.Context(), id, "Build it."); err != nil || asked != 1 {
			t.Errorf("asked %d times, %v", asked, err)
		}
	})
}

// TestRealQuestionWaitsForCall is the same with the real CLI.
func TestRealQuestionWaitsForCall(t *testing.T) {
	r := newReal(t)
	text := strings.Repeat("word ", 200)
	r.model.Add(claudetest.Say(text).Chunks(5, 0).With(claudetest.UseTool("Bash", map[string]string{"command": "mkdir zz"})), claudetest.Say("ok"))
	seen, asked := new(sight), make(chan struct{}, 1)
	d := drive.Start(t, r.local, drive.Setup{
		Permission: func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID {
			seen.want(t, len(text))
			asked <- struct{}{}
			return "allow-once"
		},
		OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
			<-time.After(5 * time.Millisecond) // slower than the CLI
			seen.update(up)
		},
	})
	id := d.New(t, r.dir)
	if _, err := d.Prompt(t.Context(), id, "Go."); err != nil {
		t.Fatal(err)
	}
	<-asked
}
