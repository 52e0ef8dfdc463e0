package acp

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// copier is a back-end whose copies are made by a function.
type copier struct {
	backend
	fork    func() agentSession
	deleted []schema.SessionID
}

func (c *copier) Extensions() extensions { return extensions{Forks: true} }

func (c *copier) Fork(context.Context, *editor, *schema.ResumeSessionRequest) (agentSession, error) {
	return c.fork(), nil
}

func (c *copier) Delete(_ context.Context, id schema.SessionID) error {
	c.deleted = append(c.deleted, id)
	return nil
}

// twin is a copy.
type twin struct {
	agentSession
	id schema.SessionID
}

func (t twin) ID() schema.SessionID { return t.id }

func (twin) Modes() *schema.SessionModeState { return nil }

func (twin) Config() []schema.SessionConfigOption { return nil }

func (twin) Close() error { return nil }

var forkToy = json.RawMessage(`{"sessionId":"toy","cwd":"/","mcpServers":[]}`)

// TestForkHoldsTurns begins no turn of a session that is being copied: the copy would
// have half of it.
func TestForkHoldsTurns(t *testing.T) {
	s := toyServer(t, toy{prompt: func(context.Context) (*schema.PromptResponse, error) {
		return &schema.PromptResponse{StopReason: schema.StopReasonEndTurn}, nil
	}}, slog.New(slog.DiscardHandler))
	s.backend = &copier{fork: func() agentSession {
		if got := outcome(t, s.Request(schema.MethodAgentSessionPrompt, toySays)); !strings.Contains(got, "copying") {
			t.Errorf("a turn in the middle of the copy: %s", got)
		}
		return twin{id: "twin"}
	}}
	if got := outcome(t, s.Request(methodFork, forkToy)); !strings.HasSuffix(got, "<nil>") {
		t.Errorf("the copy: %s", got)
	}
	if got := outcome(t, s.Request(schema.MethodAgentSessionPrompt, toySays)); !strings.HasSuffix(got, "<nil>") {
		t.Errorf("a turn after the copy: %s", got)
	}
}

// TestForkTooLate deletes a copy of which the editor will not hear, but no session that
// is open.
func TestForkTooLate(t *testing.T) {
	for id, want := range map[schema.SessionID][]schema.SessionID{"twin": {"twin"}, "toy": nil} {
		s := toyServer(t, toy{}, slog.New(slog.DiscardHandler))
		back := &copier{fork: func() agentSession {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.closed = true
			return twin{id: id}
		}}
		s.backend = back
		if got := outcome(t, s.Request(methodFork, forkToy)); strings.HasSuffix(got, "<nil>") || !slices.Equal(back.deleted, want) {
			t.Errorf("the copy %s: %s; deleted %v", id, got, back.deleted)
		}
	}
}
