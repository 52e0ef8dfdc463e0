package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// A payload that does not approve denies, whatever else it has, and one that does not
// say allows nothing.
func TestAGUIDecision(t *testing.T) {
	t.Parallel()
	const answers, input = `"answers":[{"question":0,"choose":["Blue"]}]`, `"input":{"a":1}`
	for payload, want := range map[string]api.DecisionKind{
		`{"approved":true}`:                                api.DecideAllow,
		`{"approved":true,` + input + `}`:                  api.DecideAllow,
		`{"approved":true,` + answers + `}`:                api.DecideAnswer,
		`{` + answers + `}`:                                api.DecideAnswer,
		`{"approved":false}`:                               api.DecideDeny,
		`{"approved":false,` + input + `}`:                 api.DecideDeny,
		`{"approved":false,` + answers + `}`:               api.DecideDeny,
		`{"approved":false,` + answers + `,` + input + `}`: api.DecideDeny,
		`{` + input + `}`:                                  "",
		`{"approved":null}`:                                "",
		`{}`:                                               "",
		`null`:                                             "",
		``:                                                 "",
	} {
		d, err := decisionOf(&agui.ResumeEntry{Status: "resolved", Payload: json.RawMessage(payload)})
		if d.Decision != want || (err != nil) != (want == "") {
			t.Errorf("%s: %+v, %v", payload, d, err)
		}
		if d, err := decisionOf(&agui.ResumeEntry{Status: "cancelled", Payload: json.RawMessage(payload)}); err != nil || d.Decision != api.DecideDeny {
			t.Errorf("cancelled, %s: %+v, %v", payload, d, err)
		}
	}
}

// A subagent ends with the result of its call: with an answer, with an error, or,
// in the background, not yet.
func TestAGUISubagentEnds(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`"content":"Looks good."},{"type":"text","text":""}]},"toolUseResult":{"status":"completed"}`:           `SUBAGENT_FINISHED {"type":"success"} Looks good. `,
		`"content":"Launched."},{"type":"text","text":""}]},"toolUseResult":{"status":"async_launched"}`:        `SUBAGENT_FINISHED {"type":"suspended"} <nil> `,
		`"content":"It broke.","is_error":true},{"type":"text","text":""}]},"toolUseResult":"Error: It broke."`: `SUBAGENT_ERROR null <nil> It broke.`,
	} {
		var got []string
		tr := newTranslator(func(e agui.RunEvent) {
			if e.SubagentRunID == "toolu_1" {
				outcome, _ := json.Marshal(e.Outcome)
				got = append(got, fmt.Sprint(e.Type, " ", string(outcome), " ", e.Result, " ", e.Message))
			}
		})
		for _, line := range []string{
			`{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"description":"Look","prompt":"p"}}]}}`,
			`{"type":"user","uuid":"b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` + result + `}`,
		} {
			tr.take(&api.Event{Type: api.EventMessage, Message: json.RawMessage(line)})
		}
		tr.begin()
		tr.endAll()
		if want := []string{"SUBAGENT_STARTED null <nil> ", want}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}

// The lines of an answer may come when the next one is already being written. Its text
// begins after them, complete, and no result is inside of it.
func TestAGUIOrder(t *testing.T) {
	t.Parallel()
	const (
		prompt  = `{"type":"user","uuid":"u","message":{"role":"user","content":"go"}}`
		call1   = `{"type":"assistant","uuid":"a","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}`
		call2   = `{"type":"assistant","uuid":"b","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}}`
		result1 = `{"type":"user","uuid":"c","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}}`
		result2 = `{"type":"user","uuid":"d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"two"}]}}`
		answer  = `{"type":"assistant","uuid":"e","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"All is well."}]}}`
	)
	line := func(text string) eventlog.Event {
		return eventlog.Event{Event: api.Event{Type: api.EventMessage, Message: json.RawMessage(text)}}
	}
	live := func(offset int, text string) eventlog.Event {
		return eventlog.Event{Event: api.Event{Type: api.EventDelta, Delta: &api.Delta{Message: "m2", Kind: api.BlockText, Offset: offset, Text: text}}, Before: "m1"}
	}
	lines := []eventlog.Event{line(prompt), line(call1), line(call2), line(result1), line(result2), line(answer)}
	for at := range lines { // the text begins at each place
		var types []string
		text := ""
		tr := newTranslator(func(e agui.RunEvent) {
			types = append(types, e.Type)
			text += e.Delta
		})
		pieces := []eventlog.Event{live(0, "All "), live(4, "is "), live(7, "well.")}
		var all []eventlog.Event
		all = append(all, lines[:at]...)
		all = append(all, pieces[:2]...)
		all = append(all, lines[at:len(lines)-1]...)
		all = append(all, pieces[2], lines[len(lines)-1])
		for i := range all {
			tr.order.expect(&all[i])
			tr.take(&all[i].Event)
		}
		open := false
		for _, kind := range types {
			switch kind {
			case "TEXT_MESSAGE_START":
				open = true
			case "TEXT_MESSAGE_END":
				open = false
			case "TOOL_CALL_START", "TOOL_CALL_RESULT":
				if open {
					t.Errorf("the text begins before line %d: %s is inside of it: %q", at, kind, types)
				}
			}
		}
		if want := "{}{}All is well."; text != want || !slices.Contains(types, "TEXT_MESSAGE_END") {
			t.Errorf("the text begins before line %d: it is %q, want %q; %q", at, text, want, types)
		}
	}
}
