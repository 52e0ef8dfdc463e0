package plan

import (
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
