package acp

import "testing"

// TestSteering keeps a turn open until all that was given to it is answered.
func TestSteering(t *testing.T) {
	var s steering
	if s.give("a") || !s.answered(nil) {
		t.Error("without a turn something was given")
	}
	s.begin()
	if !s.give("a") || !s.give("b") || !s.give("c") {
		t.Error("a turn takes nothing")
	}
	s.takeBack("c")
	if s.answered([]string{"other", "a"}) || !s.give("d") {
		t.Error("ended while b is not answered")
	}
	if s.answered([]string{"d"}) || !s.answered([]string{"b"}) {
		t.Error("b decides whether the turn has ended")
	}
	if s.give("e") {
		t.Error("given to a turn that has ended")
	}
	s.begin()
	s.give("f")
	if s.end(); s.give("g") || !s.answered(nil) {
		t.Error("not closed by its end")
	}
}
