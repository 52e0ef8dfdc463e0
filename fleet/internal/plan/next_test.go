package plan

import (
	"reflect"
	"testing"
)

// deferredAt is a transcript whose only turn waits at the first of some calls.
func deferredAt(calls ...string) Facts {
	f := Facts{Turns: map[string]Turn{"prompt": {Standing: Deferred, Of: "prompt", Open: calls[:1]}}, Calls: make(map[string]Result)}
	for _, c := range calls {
		f.Calls[c] = None
	}
	return f
}

// What small conversations do not have is not explored: files to restore, budgets, questions
// that could not be ended, a CLI that has the prompt already, questions that are not about
// calls of the conversation.
func TestNextBesides(t *testing.T) {
	const id, other = "prompt", "other"
	released := []Question{{ID: "q", Call: "call", Stage: Released}}
	rules := Rules{Attempts: 2}
	for _, test := range []struct {
		name  string
		state State
		want  Decision
	}{
		{
			"nothing", State{}, Decision{Step: Sleep},
		},
		{
			"files are restored",
			State{Prompts: []Prompt{{ID: id, Rewind: true}}},
			Decision{Step: Rewind, Prompt: Prompt{ID: id, Rewind: true, Sent: true, Begun: 1}},
		},
		{
			"files are restored, whatever is spent",
			State{Prompts: []Prompt{{ID: id, Rewind: true}}, Conversation: Conversation{Overspent: true}},
			Decision{Step: Rewind, Prompt: Prompt{ID: id, Rewind: true, Sent: true, Begun: 1}},
		},
		{
			"files that cannot be restored hold nothing up",
			State{Prompts: []Prompt{{ID: id, Rewind: true, Sent: true, Begun: 2}}},
			changes(End{Prompt: id, As: Failed}),
		},
		{
			"a budget holds back what is new",
			State{Prompts: []Prompt{{ID: id}}, Conversation: Conversation{Overspent: true}},
			Decision{Step: Sleep},
		},
		{
			"and not what has begun",
			State{Prompts: []Prompt{{ID: id, Sent: true, Begun: 1}}, Conversation: Conversation{Overspent: true}},
			Decision{Step: Send, Prompt: Prompt{ID: id, Sent: true, Begun: 2}, Tell: nil},
		},
		{
			"questions that a turn has left are ended",
			State{Conversation: Conversation{Unsettled: true}, Questions: released, Calls: []string{"call"}},
			changes(Settle{"q", Lost}, Settled{}),
		},
		{
			"but not those of a prompt that has begun",
			State{Conversation: Conversation{Unsettled: true}, Prompts: []Prompt{{ID: id, Sent: true, Given: true}}, Questions: released},
			Decision{Step: Await, Prompt: Prompt{ID: id, Sent: true, Given: true}},
		},
		{
			"a CLI that has the prompt is not given another",
			State{Prompts: []Prompt{{ID: other}, {ID: id, Sent: true, Given: true}}},
			Decision{Step: Await, Prompt: Prompt{ID: id, Sent: true, Given: true}},
		},
		{
			"a call that only its question has is put on record first",
			State{Prompts: []Prompt{{ID: id, Sent: true, Cancelled: true}}, Conversation: Conversation{Stuck: id}, Questions: released},
			changes(Keep{[]string{"call"}}),
		},
		{
			"the form of a server is not a call",
			State{Prompts: []Prompt{{ID: id, Sent: true}}, Questions: []Question{{ID: "q", Call: "form", Stage: Released, Aside: true}}},
			changes(Settle{"q", Lost}),
		},
		{
			"a deferred call that was let go is left to the gate",
			State{Prompts: []Prompt{{ID: id, Sent: true}}, Questions: released, Transcript: deferredAt("call")},
			Decision{Step: Finish, Prompt: Prompt{ID: id, Sent: true, Begun: 1}},
		},
		{
			"a turn that waits at a call asks about no other",
			State{
				Prompts:    []Prompt{{ID: id, Sent: true}},
				Questions:  []Question{{ID: "q", Call: "call"}, {ID: "beside", Call: "another"}},
				Transcript: deferredAt("call", "another"),
			},
			changes(Withdraw{"beside"}),
		},
		{
			"a prompt that is in the queue twice ends once more as it did",
			State{Prompts: []Prompt{{ID: id}}, Outcomes: map[string]Outcome{id: Failed}},
			changes(End{Prompt: id, As: Failed}),
		},
	} {
		got := Next(test.state, rules)
		if len(got.Tell) == 0 {
			got.Tell = nil
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
