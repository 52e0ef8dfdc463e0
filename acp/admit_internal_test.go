package acp

import (
	"errors"
	"testing"
)

// countable is a session that can be closed.
type countable struct{ agentSession }

func (countable) Close() error { return nil }

// TestAdmittedSessionsLeave gives the place of a session back once, however its
// opening ends.
func TestAdmittedSessionsLeave(t *testing.T) {
	held := 0
	b := &admitted{admit: func() (func(), error) {
		held++
		return func() { held-- }, nil
	}}
	if _, err := b.open(func() (agentSession, error) { return nil, errors.New("no") }); err == nil || held != 0 {
		t.Errorf("after an error %d places are held, %v", held, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = b.open(func() (agentSession, error) { panic("boom") })
	}()
	if held != 0 {
		t.Errorf("after a panic %d places are held", held)
	}
	s, err := b.open(func() (agentSession, error) { return countable{}, nil })
	if err != nil || held != 1 {
		t.Fatalf("an open session holds %d places, %v", held, err)
	}
	for range 2 {
		if err := s.Close(); err != nil || held != 0 {
			t.Errorf("after the close %d places are held, %v", held, err)
		}
	}
}
