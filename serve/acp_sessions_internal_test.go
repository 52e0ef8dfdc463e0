package serve

import (
	"errors"
	"testing"

	"github.com/claude-agent-go/claude/acp"
)

// countable is a session that can be closed.
type countable struct{ acp.AgentSession }

func (countable) Close() error { return nil }

// TestCountedSessionsGiveBack gives the place of a session back once, however its
// opening ends.
func TestCountedSessionsGiveBack(t *testing.T) {
	held := 0
	b := &countedSessions{enter: func() bool { held++; return true }, leave: func() { held-- }}
	if _, err := b.open(func() (acp.AgentSession, error) { return nil, errors.New("no") }); err == nil || held != 0 {
		t.Errorf("after an error %d places are held, %v", held, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = b.open(func() (acp.AgentSession, error) { panic("boom") })
	}()
	if held != 0 {
		t.Errorf("after a panic %d places are held", held)
	}
	s, err := b.open(func() (acp.AgentSession, error) { return countable{}, nil })
	if err != nil || held != 1 {
		t.Fatalf("an open session holds %d places, %v", held, err)
	}
	for range 2 {
		if err := s.Close(); err != nil || held != 0 {
			t.Errorf("after the close %d places are held, %v", held, err)
		}
	}
}
