package main

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	sessionID = "3f9845ee-3d15-49bc-9e60-a8210e7a1993"
	tail      = `,"session_id":"` + sessionID + `","uuid":"5979d4cf-5d39-48a6-b225-510d7172692e"`
)

// deltaLine is a piece of text as the CLI streams it, about 250 bytes.
func deltaLine() []byte {
	return []byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there, this is text"}},"parent_tool_use_id":null` + tail + "}\n")
}

// assistantLine is a message of about 2 KB: some text with line breaks and
// quotes, then a call of a tool.
func assistantLine() []byte {
	text := strings.Repeat(`The function \"walk\" visits every node once and keeps the order.\n`, 17)
	return []byte(`{"type":"assistant","message":{"id":"msg_01ABCDEFGHJKLMNPQRSTUVWX","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"` + text +
		`"},{"type":"tool_use","id":"toolu_01ABCDEFGHJKLMNPQRSTUVWX","name":"Edit","input":{"file_path":"/repo/walk.go","old_string":"return nil","new_string":"return walk(next)","replace_all":false}}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1023,"cache_creation_input_tokens":512,"cache_read_input_tokens":20480,"output_tokens":318,"service_tier":"standard"},"context_management":null},"parent_tool_use_id":null` +
		tail + `,"timestamp":"2026-11-15T00:01:06.872Z","request_id":"req_011CABCDEFGHJKLMNPQRSTUV"}` + "\n")
}

// toolLine is a tool's result of about size bytes: half of it for the model,
// half the tool's own output, as the CLI writes it.
func toolLine(size int) []byte {
	const text = `2026-11-15 00:01:06 INFO  request served path=/api/v1/items status=200 bytes=1532\n`
	half := strings.Repeat(text, max(size/2/len(text), 1))
	return []byte(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01ABCDEFGHJKLMNPQRSTUVWX","type":"tool_result","content":"` + half +
		`","is_error":false}]},"parent_tool_use_id":null` + tail + `,"timestamp":"2026-11-15T00:01:06.939Z","tool_use_result":{"stdout":"` + half + `","stderr":"","interrupted":false,"isImage":false}}` + "\n")
}

// initLine begins a turn for a prompt.
func initLine(prompt string) []byte {
	return fmt.Appendf(nil, `{"type":"system","subtype":"init","cwd":"/repo","tools":[],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"default","slash_commands":[],"apiKeySource":"none","claude_code_version":"2.1.325","output_style":"default","user_message_uuids":[%q]%s}`+"\n", prompt, tail)
}

// resultLine ends the turn of a prompt.
func resultLine(prompt, text string) []byte {
	return fmt.Appendf(nil, `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,"num_turns":1,"result":%q,"stop_reason":"end_turn","total_cost_usd":0.001,"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{},"permission_denials":[],"user_message_uuids":[%q]%s}`+"\n", text, prompt, tail)
}

// The requests that are timed. The first verb is the id of the request.
const (
	permissionLine = `{"type":"control_request","request_id":"%s","request":{"subtype":"can_use_tool","tool_name":"Write","display_name":"Write","input":{"file_path":"/repo/w.txt","content":"Hello there"},"description":"w.txt","permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}],"tool_use_id":"toolu_%[1]s"}}` + "\n"
	hookLine       = `{"type":"control_request","request_id":"%s","request":{"subtype":"hook_callback","callback_id":"%s","input":{"session_id":"` + sessionID + `","transcript_path":"/home/user/.claude/projects/-repo/` + sessionID + `.jsonl","cwd":"/repo","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/repo/w.txt","content":"Hello there"},"tool_use_id":"toolu_%[1]s"},"tool_use_id":"toolu_%[1]s"}}` + "\n"
	mcpLine        = `{"type":"control_request","request_id":"%s","request":{"subtype":"mcp_message","server_name":"calc","message":%s}}` + "\n"
	callMessage    = `{"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":41},"_meta":{"claudecode/toolUseId":"toolu_%d","progressToken":%[1]d}},"jsonrpc":"2.0","id":%[1]d}`
)

// chunk repeats a line until it is worth a write.
func chunk(line []byte) (block []byte, lines int) {
	lines = max((256<<10)/len(line), 1)
	return bytes.Repeat(line, lines), lines
}
