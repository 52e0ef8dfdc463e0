package plan

import (
	"fmt"
	"reflect"
	"testing"
)

// A prompt begins as often as the rules allow, and not once more: then its conversation is
// given up at it. A rewind ends instead.
func TestAttempts(t *testing.T) {
	rules := Rules{Attempts: 3, Resets: 2}
	for begun := range 5 {
		tried := Prompt{ID: "p", Sent: begun > 0, Begun: begun}
		next := tried
		next.Sent, next.Begun = true, begun+1
		rewound := tried
		rewound.Rewind = true
		again := next
		again.Rewind = true
		prompt, files := Decision{Step: Send, Prompt: next}, Decision{Step: Rewind, Prompt: again}
		if begun >= rules.Attempts {
			prompt, files = changes(Stick{"p"}), changes(End{Prompt: "p", As: Failed})
		}
		for _, c := range []struct {
			p    Prompt
			want Decision
		}{{tried, prompt}, {rewound, files}} {
			got := Next(State{Prompts: []Prompt{c.p}}, rules)
			if got.Tell = nil; !reflect.DeepEqual(got, c.want) {
				t.Errorf("after %d attempts, rewind %t: %+v, want %+v", begun, c.p.Rewind, got, c.want)
			}
		}
	}
}

// Progress restarts the count of attempts once: a turn that breaks off at the same place
// again has made none.
func TestProgressCountsOnce(t *testing.T) {
	p := Prompt{ID: "p", Sent: true, Begun: 2}
	for i, c := range []struct {
		last          string // that the turn has said
		begun, resets int
	}{{"m1", 1, 1}, {"m1", 2, 1}, {"m1", 3, 1}, {"m2", 1, 2}, {"m2", 2, 2}, {"m2", 3, 2}} {
		facts := Facts{Turns: map[string]Turn{"p": {Standing: Cut, Of: "p", Last: c.last}}}
		d := Next(State{Prompts: []Prompt{p}, Transcript: facts}, Rules{Attempts: 3, Resets: 20})
		if p = d.Prompt; d.Step != Resume || p.Begun != c.begun || p.Resets != c.resets || p.Since != c.last {
			t.Fatalf("look %d: %+v, want %d attempts and %d resets", i, d, c.begun, c.resets)
		}
	}
	facts := Facts{Turns: map[string]Turn{"p": {Standing: Cut, Of: "p", Last: "m2"}}}
	if got, want := Next(State{Prompts: []Prompt{p}, Transcript: facts}, Rules{Attempts: 3, Resets: 20}), changes(Stick{"p"}); !reflect.DeepEqual(got, want) {
		t.Errorf("after all attempts: %+v, want %+v", got, want)
	}
}

// Progress restarts the count as often as the rules allow, and not once more.
func TestProgressCountsSoOften(t *testing.T) {
	rules, p := Rules{Attempts: 3, Resets: 2}, Prompt{ID: "p", Sent: true, Begun: 1}
	for i, begun := range []int{1, 1, 2, 3, 0} {
		facts := Facts{Turns: map[string]Turn{"p": {Standing: Cut, Of: "p", Last: fmt.Sprint("m", i)}}}
		d := Next(State{Prompts: []Prompt{p}, Transcript: facts}, rules)
		if begun == 0 {
			if want := changes(Stick{"p"}); !reflect.DeepEqual(d, want) {
				t.Errorf("after all attempts: %+v, want %+v", d, want)
			}
			return
		}
		if p = d.Prompt; d.Step != Resume || p.Begun != begun {
			t.Fatalf("look %d: %+v, want %d attempts", i, d, begun)
		}
	}
}

// An attempt that lost its lease does not count, so many times, and uses up no progress; one
// that was taken back already is not taken back again.
func TestLostAttempts(t *testing.T) {
	rules := Rules{Attempts: 3, Resets: 2, Losses: 2}
	for _, c := range []struct{ p, want Prompt }{
		{Prompt{Begun: 3, Lost: true}, Prompt{Begun: 3, Losses: 1}},
		{Prompt{Begun: 3, Lost: true, Losses: 1}, Prompt{Begun: 3, Losses: 2}},
		{Prompt{Begun: 2, Lost: true, Losses: 2}, Prompt{Begun: 3, Losses: 2}},
		{Prompt{Lost: true}, Prompt{Begun: 1}},
		{Prompt{Begun: 1, Losses: 1}, Prompt{Begun: 2, Losses: 1}},
		{Prompt{Begun: 1, Lost: true, Since: "old"}, Prompt{Begun: 1, Losses: 1, Since: "news"}},
		{Prompt{Begun: 2, Lost: true, Since: "old"}, Prompt{Begun: 1, Losses: 1, Resets: 1, Since: "news"}},
	} {
		p, want := c.p, c.want
		p.ID, p.Sent, want.ID, want.Sent = "p", true, "p", true
		turn := Turn{Standing: Cut, Of: "p"}
		if p.Since != "" {
			turn.Last = "news"
		}
		got := Next(State{Prompts: []Prompt{p}, Transcript: Facts{Turns: map[string]Turn{"p": turn}}}, rules)
		if got.Step != Resume || got.Prompt != want {
			t.Errorf("%+v: %+v, want %+v", p, got, want)
		}
	}
	p := Prompt{ID: "p", Sent: true, Begun: 3, Lost: true, Losses: 2}
	if got, want := Next(State{Prompts: []Prompt{p}}, rules), changes(Stick{"p"}); !reflect.DeepEqual(got, want) {
		t.Errorf("after all attempts: %+v, want %+v", got, want)
	}
}

// A turn that broke off at a call which a person was asked about waits at that call,
// unless the call cannot be deferred. A turn that a CLI has just continued needs a note.
func TestCutTurns(t *testing.T) {
	p := Prompt{ID: "p", Sent: true, Begun: 1}
	asked := []Question{{ID: "over", Call: "call", Stage: Over}, {ID: "open", Call: "call"}}
	holds := []Question{{ID: "open", Call: "call", Holds: true}}
	again := p
	again.Begun = 2
	for name, c := range map[string]struct {
		turn      Turn
		questions []Question
		want      Decision
	}{
		"asked":     {Turn{Open: []string{"call"}}, asked, Decision{Line: Defer{"open"}}},
		"holds":     {Turn{Open: []string{"call"}}, holds, changes(Withdraw{"open"})},
		"two calls": {Turn{Open: []string{"call", "other"}}, asked, changes(Withdraw{"open"})},
		"noted":     {Turn{Open: []string{"call"}, Noted: true}, asked, changes(Withdraw{"open"})},
		"continued": {Turn{Continued: true}, nil, Decision{Line: Note{}}},
		"cut":       {Turn{}, nil, Decision{Step: Resume, Prompt: again}},
	} {
		t.Run(name, func(t *testing.T) {
			c.turn.Standing, c.turn.Of = Cut, "p"
			s := State{Prompts: []Prompt{p}, Questions: c.questions, Transcript: Facts{Turns: map[string]Turn{"p": c.turn}, Calls: map[string]Result{"call": None}}}
			if got := Next(s, Rules{Attempts: 3}); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// The records are enough while no process that is gone can have begun anything.
func TestBrief(t *testing.T) {
	for name, c := range map[string]struct {
		s    State
		want Step
	}{
		"empty":              {State{}, Sleep},
		"new":                {State{Prompts: []Prompt{{ID: "p"}}}, Send},
		"given":              {State{Prompts: []Prompt{{ID: "p", Sent: true, Given: true}}}, Await},
		"begun":              {State{Prompts: []Prompt{{ID: "p", Sent: true}}}, Read},
		"rewind":             {State{Prompts: []Prompt{{ID: "p", Sent: true, Rewind: true}}}, Rewind},
		"stuck":              {State{Prompts: []Prompt{{ID: "p", Sent: true}}, Conversation: Conversation{Stuck: "p"}}, Sleep},
		"stuck, cancelled":   {State{Prompts: []Prompt{{ID: "p", Sent: true, Cancelled: true}}, Conversation: Conversation{Stuck: "p"}}, Read},
		"questions are left": {State{Prompts: []Prompt{{ID: "p"}}, Conversation: Conversation{Unsettled: true}}, Read},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Brief = true
			if got := Next(c.s, Rules{Attempts: 3}); got.Line != nil || got.Changes != nil || got.Step != c.want {
				t.Errorf("%+v, want step %d", got, c.want)
			}
		})
	}
}

// All prompts that were cancelled end at once, and the questions of their turns once.
func TestCancelledEndTogether(t *testing.T) {
	s := State{
		Prompts:      []Prompt{{ID: "a", Sent: true, Cancelled: true}, {ID: "b"}, {ID: "c", Sent: true, Cancelled: true}},
		Conversation: Conversation{Stuck: "c"}, Questions: []Question{{ID: "open", Call: "call"}},
	}
	want := changes(Withdraw{"open"}, Free{}, End{Prompt: "a", As: Cancelled}, End{Prompt: "c", As: Cancelled})
	if got := Next(s, Rules{Attempts: 3}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
