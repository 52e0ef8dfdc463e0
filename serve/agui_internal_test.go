package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

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
		tr := newTranslator(func(e RunEvent) {
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
