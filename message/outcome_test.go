package message_test

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// Results as the CLI was seen to write them, newer ones first.
func TestOutcome(t *testing.T) {
	const api = `"subtype":"success","is_error":true,"terminal_reason":"api_error"`
	for name, tt := range map[string]struct {
		result                         string
		failed, interrupted, retryable bool
		problem                        string
	}{
		"success":    {`"subtype":"success","is_error":false,"terminal_reason":"completed","result":"API Error: 529 is what you asked about"`, false, false, false, ""},
		"overloaded": {api + `,"api_error_status":529,"api_error_type":"overloaded_error","result":"API Error: 529 Overloaded."`, true, false, true, "api_error: 529 Overloaded."},
		"rate limit": {api + `,"api_error_status":429,"result":"API Error: Request rejected (429) · slow down"`, true, false, true, "api_error: Request rejected (429) · slow down"},
		"server":     {api + `,"api_error_status":500,"result":"API Error: 500 oops"`, true, false, true, "api_error: 500 oops"},
		"timeout":    {api + `,"api_error_status":408,"result":"API Error: 408 oops"`, true, false, true, "api_error: 408 oops"},
		"refused":    {api + `,"api_error":"connection_failed","api_error_status":null,"result":"API Error: Connection refused"`, true, false, true, "api_error: Connection refused"},
		"no answer":  {api + `,"api_error_status":null,"result":"Request timed out"`, true, false, true, "api_error: Request timed out"},
		"no key":     {api + `,"api_error_status":null,"result":"Not logged in"`, true, false, false, "api_error: Not logged in"},
		"wrong key":  {api + `,"api_error_status":401,"result":"Invalid API key"`, true, false, false, "api_error: Invalid API key"},
		"forbidden":  {api + `,"api_error_status":403,"result":"Failed to authenticate. API Error: 403 no"`, true, false, false, "api_error: Failed to authenticate. API Error: 403 no"},
		"no model":   {api + `,"api_error_status":404,"result":"There is no such model"`, true, false, false, "api_error: There is no such model"},
		"bad":        {api + `,"api_error_status":400,"result":"API Error: 400 bad"`, true, false, false, "api_error: 400 bad"},
		"too long":   {`"subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","api_error_status":400,"result":"Prompt is too long"`, true, false, false, "prompt_too_long: Prompt is too long"},
		"max turns":  {`"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (2)"]`, true, false, false, "max_turns: Reached maximum number of turns (2)"},
		"interrupted": {`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"]`,
			true, true, false, "aborted_streaming"},
		"interrupted in a tool": {`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["aborted_tools"]`, true, true, false, "aborted_tools"},
		"no session":            {`"subtype":"error_during_execution","is_error":true,"errors":["No conversation found","No conversation found"]`, true, false, false, "No conversation found"},
		"nothing said":          {`"subtype":"success","is_error":true`, true, false, false, ""},

		"2.1.0: overloaded":  {`"subtype":"success","is_error":true,"result":"API Error: 529 {\"type\":\"error\"}"`, true, false, true, `api_error: 529 {"type":"error"}`},
		"2.1.0: rate limit":  {`"subtype":"success","is_error":true,"result":"API Error: 429 {\"type\":\"error\"}"`, true, false, true, `api_error: 429 {"type":"error"}`},
		"2.1.0: bad":         {`"subtype":"success","is_error":true,"result":"API Error: 400 {\"type\":\"error\"}"`, true, false, false, `api_error: 400 {"type":"error"}`},
		"2.1.0: refused":     {`"subtype":"success","is_error":true,"result":"API Error: Connection error."`, true, false, true, "api_error: Connection error."},
		"2.1.0: no answer":   {`"subtype":"success","is_error":true,"result":"Request timed out"`, true, false, true, "Request timed out"},
		"2.1.0: no key":      {`"subtype":"success","is_error":true,"result":"Invalid API key"`, true, false, false, "Invalid API key"},
		"2.1.0: interrupted": {`"subtype":"error_during_execution","is_error":false,"errors":[]`, true, true, false, "error_during_execution"},
		"2.0.0: interrupted": {`"subtype":"error_during_execution","is_error":false`, true, true, false, "error_during_execution"},
		"2.1.0: max turns":   {`"subtype":"error_max_turns","is_error":false`, true, false, false, "error_max_turns"},
	} {
		t.Run(name, func(t *testing.T) {
			r := say(t, `{"type":"result",`+tt.result+`}`)[0].(*message.Result)
			if r.Failed() != tt.failed || r.Interrupted() != tt.interrupted || r.Retryable() != tt.retryable || r.Problem() != tt.problem {
				t.Errorf("failed %v, interrupted %v, retryable %v, problem %q", r.Failed(), r.Interrupted(), r.Retryable(), r.Problem())
			}
		})
	}
}
