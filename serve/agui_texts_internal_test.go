package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
)

// told gathers what a translator emits, in one line for each event.
func told() (tr *translator, got *[]string) {
	got = new([]string)
	return newTranslator(func(e agui.RunEvent) {
		line := e.Type + " " + e.MessageID + e.ToolCallID
		switch {
		case e.Delta != "":
			line += " " + e.Delta
		case e.ToolCallName != "":
			line += " " + e.ToolCallName + " of " + e.ParentMessageID
		case e.Content != nil:
			line += " " + *e.Content
		case e.Snapshot != nil:
			line += fmt.Sprint(e.Snapshot.Todos)
		case e.Role != "":
			line += " " + e.Role
		}
		if e.Metadata["error"] == true {
			line += " error"
		}
		*got = append(*got, line)
	}), got
}

func delta(message string, block int, kind api.BlockKind, offset int, text string) *api.Event {
	return &api.Event{Type: api.EventDelta, Delta: &api.Delta{Message: message, Block: block, Kind: kind, Offset: offset, Text: text}}
}

func lineOf(line string) *api.Event {
	return &api.Event{Type: api.EventMessage, Message: json.RawMessage(line)}
}

// A text that is written piece by piece and then stored is told once, whatever of it was
// seen: its beginning, its pieces, what the stored message has more, and its end.
func TestAGUITexts(t *testing.T) {
	t.Parallel()
	stored := `{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"Hmm.","signature":"x"},{"type":"text","text":"Hello, world"}]}}`
	thought := []string{"REASONING_START m-0", "REASONING_MESSAGE_START m-0 reasoning", "REASONING_MESSAGE_CONTENT m-0 Hmm.", "REASONING_MESSAGE_END m-0", "REASONING_END m-0"}
	for name, c := range map[string]struct {
		events []*api.Event
		want   []string
	}{
		"stored only": {[]*api.Event{lineOf(stored)}, append(slices.Clone(thought), "TEXT_MESSAGE_START m-1 assistant", "TEXT_MESSAGE_CONTENT m-1 Hello, world", "TEXT_MESSAGE_END m-1")},
		"pieces": {
			[]*api.Event{delta("m", 0, api.BlockThinking, 0, "Hmm."), delta("m", 1, api.BlockText, 0, "Hel"), delta("m", 1, api.BlockText, 3, "lo"), lineOf(stored), delta("m", 1, api.BlockText, 5, " again")},
			[]string{
				"REASONING_START m-0", "REASONING_MESSAGE_START m-0 reasoning", "REASONING_MESSAGE_CONTENT m-0 Hmm.", "TEXT_MESSAGE_START m-1 assistant", "TEXT_MESSAGE_CONTENT m-1 Hel", "TEXT_MESSAGE_CONTENT m-1 lo",
				"REASONING_MESSAGE_END m-0", "REASONING_END m-0", "TEXT_MESSAGE_CONTENT m-1 , world", "TEXT_MESSAGE_END m-1",
			},
		},
		"the beginning was missed": {
			[]*api.Event{delta("m", 1, api.BlockText, 3, "lo"), {Type: api.EventPartial, Partial: []api.Block{{Message: "m", Block: 1, Kind: api.BlockText, Text: "Hello"}}}, delta("m", 1, api.BlockText, 5, ", ")},
			[]string{"TEXT_MESSAGE_START m-1 assistant", "TEXT_MESSAGE_CONTENT m-1 Hello", "TEXT_MESSAGE_CONTENT m-1 , ", "TEXT_MESSAGE_END m-1"},
		},
		"nothing": {[]*api.Event{delta("m", 0, api.BlockText, 0, ""), lineOf("{"), lineOf(`{"type":"assistant","uuid":"a","parent_tool_use_id":"toolu_1","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"of a subagent"}]}}`)}, nil},
		"a call": {
			[]*api.Event{
				lineOf(`{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Look:"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}`),
				lineOf(`{"type":"assistant","uuid":"a2","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"Bash","input":{}}]}}`),
				lineOf(`{"type":"user","uuid":"b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.go"},{"type":"tool_result","tool_use_id":"toolu_2","content":"no","is_error":true}]}}`),
			},
			[]string{
				"TEXT_MESSAGE_START m-0 assistant", "TEXT_MESSAGE_CONTENT m-0 Look:", "TEXT_MESSAGE_END m-0",
				"TOOL_CALL_START toolu_1 Bash of m-0", `TOOL_CALL_ARGS toolu_1 {"command":"ls"}`, "TOOL_CALL_END toolu_1",
				"TOOL_CALL_START toolu_2 Bash of m-0", `TOOL_CALL_ARGS toolu_2 {}`, "TOOL_CALL_END toolu_2",
				"TOOL_CALL_RESULT result-toolu_1toolu_1 a.go", "TOOL_CALL_RESULT result-toolu_2toolu_2 no error",
			},
		},
	} {
		tr, got := told()
		for _, e := range c.events {
			tr.take(e)
		}
		tr.endAll()
		tr.endAll() // ends nothing twice
		if !slices.Equal(*got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, *got, c.want)
		}
	}
}

// The list of the model is told when it changes, and at the beginning of a run if there
// is one.
func TestAGUITodos(t *testing.T) {
	t.Parallel()
	todo := lineOf(`{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"TodoWrite","input":{"todos":[{"content":"Look","status":"in_progress","activeForm":"Looking"}]}}]}}`)
	result := lineOf(`{"type":"user","uuid":"b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]},"tool_use_result":{"oldTodos":[],"newTodos":[{"content":"Look","status":"in_progress","activeForm":"Looking"}]}}`)
	tr, got := told()
	tr.begin()
	if len(*got) != 0 {
		t.Errorf("without a list: %q", *got)
	}
	tr.note(todo)
	tr.note(result)
	tr.note(&api.Event{Type: api.EventNotice})
	tr.begin()
	if want := []string{"STATE_SNAPSHOT [{Look Looking in_progress}]"}; !slices.Equal(*got, want) {
		t.Errorf("a list of before: %q, want %q", *got, want)
	}
}

// A client that assembles the events gets all messages, in order.
func TestAGUISnapshot(t *testing.T) {
	t.Parallel()
	var s snapshot
	tr := newTranslator(s.take)
	tr.take(lineOf(`{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"Hmm.","signature":"x"},{"type":"text","text":"Look:"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}`))
	tr.take(lineOf(`{"type":"user","uuid":"b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.go"}]}}`))
	tr.endAll()
	data, err := json.Marshal(s.messages)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(data, &got); err != nil || len(got) != 3 {
		t.Fatalf("%s, %v", data, err)
	}
	for i, want := range []string{"m-0 reasoning Hmm.", "m-1 assistant Look:", "result-toolu_1 tool a.go"} {
		if line := fmt.Sprint(got[i]["id"], " ", got[i]["role"], " ", got[i]["content"]); line != want {
			t.Errorf("message %d is %q, want %q", i, line, want)
		}
	}
	calls := s.messages[1].ToolCalls
	if len(calls) != 1 || calls[0].ID != "toolu_1" || calls[0].Type != "function" || calls[0].Function.Name != "Bash" || calls[0].Function.Arguments != `{"command":"ls"}` || s.messages[2].ToolCallID != "toolu_1" {
		t.Errorf("%+v", s.messages)
	}
}
