package acp

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

func resultFor(prompts ...string) message.Message { return &message.Result{Prompts: prompts} }

// TestSteering keeps a turn open until all that was given to it is answered.
func TestSteering(t *testing.T) {
	var s steering
	if s.give("a") || !s.over() {
		t.Error("without a turn something was given")
	}
	s.begin()
	if !s.give("a") || !s.give("b") || !s.give("c") {
		t.Error("a turn takes nothing")
	}
	s.takeBack("c")
	if s.note(resultFor("other", "a")); s.over() || !s.give("d") {
		t.Error("ended while b is not answered")
	}
	if s.note(resultFor("d")); s.over() {
		t.Error("ended while b is not answered")
	}
	if s.note(resultFor()); s.over() {
		t.Error("ended with the turn of background work")
	}
	if s.note(resultFor("b")); !s.over() || s.give("e") {
		t.Error("open although all is answered")
	}
	s.begin()
	s.give("f")
	if s.end(); s.give("g") || !s.over() {
		t.Error("not closed by its end")
	}
}

// A message that ends in the queue gets no result.
func TestSteeringEndsInQueue(t *testing.T) {
	for state, final := range map[message.CommandState]bool{
		message.CommandQueued: false, message.CommandStarted: false, message.CommandCompleted: true,
		message.CommandCancelled: true, message.CommandDiscarded: true, message.CommandRefused: true,
	} {
		var s steering
		s.begin()
		s.give("a")
		s.note(resultFor("prompt"))
		s.note(&message.CommandLifecycle{CommandUUID: "a", State: state})
		if s.over() != final {
			t.Errorf("%s: the turn has ended: %t, want %t", state, !final, final)
		}
	}
}

// The result of a message that overtook the prompt comes before that of the prompt.
func TestSteeringOvertakes(t *testing.T) {
	var s steering
	s.begin()
	s.give("a")
	s.note(resultFor("a"))
	if s.note(resultFor("prompt")); !s.over() {
		t.Error("waits for a result that has come")
	}
}

// CLIs whose results name no prompts are not waited for.
func TestSteeringUnnamed(t *testing.T) {
	var s steering
	s.begin()
	s.give("a")
	if s.note(resultFor()); !s.over() || s.give("b") {
		t.Error("waits for a result that nothing would recognise")
	}
}

// A cancel closes a turn and cuts off what is left, though that is still awaited.
func TestSteeringCancelled(t *testing.T) {
	var s steering
	s.begin()
	s.give("a")
	s.note(resultFor("prompt"))
	if s.cancel(); s.give("b") || s.over() || !s.cut {
		t.Errorf("after a cancel: %+v", s)
	}
	if s.note(resultFor("a")); !s.over() || !s.cut {
		t.Errorf("after the end: %+v", s)
	}
	s.begin()
	if s.cancel(); s.give("b") || s.cut {
		t.Errorf("nothing was left: %+v", s)
	}
}
