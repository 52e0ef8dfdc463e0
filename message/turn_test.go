package message_test

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// turn has the messages of a conversation, with the forms of older peers.
var turn = []variant{
	{
		`{"type":"system","subtype":"init","uuid":"u","session_id":"s","cwd":"/repo","tools":["Bash"],"mcp_servers":[{"name":"calc","status":"connected","source":"sdk"}],"model":"m","permissionMode":"default","slash_commands":["one"],"terminal_slash_commands":["two"],"apiKeySource":"none","claude_code_version":"2.1.0","output_style":"default","agents":["a"],"skills":["k"],"plugins":[{"name":"p","path":"/repo/p","version":"1","source":"x"}],"plugin_errors":["e"],"betas":["b"],"capabilities":["c"],"effort":"high","view_mode":"v","fast_mode_state":"off","fast_mode_disabled_reason":"r","original_cwd":"/repo","additional_directories":["/home/user"],"user_message_uuids":["p"]}`,
		&message.Init{
			Header: system("init"), Cwd: "/repo", Tools: []string{"Bash"}, MCPServers: []message.InitMCPServer{{Name: "calc", Status: "connected", Source: "sdk"}},
			Model: "m", PermissionMode: permission.ModeDefault, SlashCommands: []string{"one"}, TerminalSlashCommands: []string{"two"}, APIKeySource: "none",
			Version: "2.1.0", OutputStyle: "default", Agents: []string{"a"}, Skills: []string{"k"}, Plugins: []control.Plugin{{Name: "p", Path: "/repo/p", Version: "1", Source: "x"}},
			PluginErrors: json.RawMessage(`["e"]`), Betas: []string{"b"}, Capabilities: []string{"c"}, Effort: "high", ViewMode: "v", FastModeState: "off",
			FastModeDisabledReason: "r", OriginalCwd: "/repo", AdditionalDirectories: []string{"/home/user"}, Prompts: []string{"p"},
		},
	},
	{
		`{"type":"assistant","uuid":"u","session_id":"s","message":{"id":"msg","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"Bash","input":{"x":1}}],"stop_reason":"tool_use","stop_sequence":"q","usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens_details":{"thinking_tokens":5},"cache_creation":{"ephemeral_5m_input_tokens":6,"ephemeral_1h_input_tokens":7},"server_tool_use":{"web_search_requests":8,"web_fetch_requests":9},"service_tier":"t","inference_geo":"g","speed":"f"}},"parent_tool_use_id":"pt","error":"rate_limit","api_error_status":429,"api_error_type":"rl","request_id":"r","user_message_uuid":"q","user_message_uuids":["p","q"],"supersedes":["x"],"resume_reason":"rr","aborted":true,"agent_id":"a","subagent_type":"b","task_description":"d","timestamp":"2026-11-14T23:46:41.692Z","context_usage":{"a":1}}`,
		&message.Assistant{
			Header: header("assistant"), ID: "msg", Model: "m", StopReason: "tool_use", StopSequence: "q",
			Content: message.Content{message.Text("a"), &message.ToolUseBlock{ID: "c", Name: "Bash", Input: json.RawMessage(`{"x":1}`)}},
			Usage: message.Usage{
				InputTokens: 1, OutputTokens: 2, CacheCreationInputTokens: 3, CacheReadInputTokens: 4,
				OutputTokensDetails: message.OutputTokensDetails{ThinkingTokens: 5},
				CacheCreation:       message.CacheCreation{Ephemeral5mInputTokens: 6, Ephemeral1hInputTokens: 7},
				ServerToolUse:       message.ServerToolUse{WebSearchRequests: 8, WebFetchRequests: 9},
				ServiceTier:         "t", InferenceGeo: "g", Speed: "f",
			},
			ParentToolUseID: "pt", Error: message.AssistantErrorRateLimit, APIErrorStatus: 429, APIErrorType: "rl", RequestID: "r",
			Prompts: []string{"p", "q"}, Supersedes: []string{"x"}, ResumeReason: "rr", Aborted: true, AgentID: "a", SubagentType: "b", TaskDescription: "d",
			Timestamp: time.Date(2026, 11, 14, 23, 46, 41, 692e6, time.UTC), ContextUsage: json.RawMessage(`{"a":1}`),
		},
	},
	{
		`{"type":"assistant","message":{"role":"assistant","content":"plain"},"user_message_uuid":"p"}`,
		&message.Assistant{Header: message.Header{Type: "assistant"}, Content: message.Content{message.Text("plain")}, Prompts: []string{"p"}},
	},
	{
		`{"type":"assistant","delta":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"part"}}}`,
		&message.Assistant{Header: message.Header{Type: "assistant"}, Delta: &message.Delta{Type: message.DeltaText, Text: "part"}},
	},
	{
		`{"type":"assistant","delta":{"type":"text_delta","text":"part"}}`,
		&message.Assistant{Header: message.Header{Type: "assistant"}, Delta: &message.Delta{Type: message.DeltaText, Text: "part"}},
	},
	{
		`{"type":"user","uuid":"u","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"out"}],"is_error":true}]},"parent_tool_use_id":"pt","tool_use_result":{"stdout":"out"},"isSynthetic":true,"isReplay":true,"priority":"next","origin":{"kind":"channel","server":"x"},"shouldQuery":false,"timestamp":"2026-11-14T23:46:41.692Z","agent_id":"a","subagent_type":"b","task_description":"d"}`,
		&message.User{
			Header: header("user"), ParentToolUseID: "pt",
			Content:       message.Content{&message.ToolResultBlock{ToolUseID: "c", Content: message.Content{message.Text("out")}, IsError: true}},
			ToolUseResult: json.RawMessage(`{"stdout":"out"}`), IsSynthetic: true, IsReplay: true, Priority: message.PriorityNext,
			Origin:      &message.Origin{Kind: message.OriginChannel, Raw: json.RawMessage(`{"kind":"channel","server":"x"}`)},
			ShouldQuery: new(false), Timestamp: time.Date(2026, 11, 14, 23, 46, 41, 692e6, time.UTC), AgentID: "a", SubagentType: "b", TaskDescription: "d",
		},
	},
	{
		`{"type":"user","content":"hello"}`,
		&message.User{Header: message.Header{Type: "user"}, Content: message.Content{message.Text("hello")}, Plain: true},
	},
	{
		`{"type":"user","content":[{"type":"text","text":"hello"}],"session_id":"s","uuid":"u"}`,
		&message.User{Header: header("user"), Content: message.Content{message.Text("hello")}},
	},
	{
		`{"type":"result","subtype":"success","uuid":"u","session_id":"s","is_error":false,"duration_ms":1,"duration_api_ms":2,"api_error_status":500,"api_error_type":"t","num_turns":3,"result":"done","stop_reason":"end_turn","total_cost_usd":0.5,"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0},"modelUsage":{"m":{"inputTokens":1,"outputTokens":2,"thinkingTokens":3,"cacheReadInputTokens":4,"cacheCreationInputTokens":5,"cacheCreationEphemeral5mInputTokens":6,"cacheCreationEphemeral1hInputTokens":7,"webSearchRequests":8,"costUSD":0.25,"contextWindow":9,"maxOutputTokens":10,"canonicalModel":"c","provider":"p","costBasis":"b"}},"model_usage_since_last_result":{"m":{"inputTokens":1}},"permission_denials":[{"tool_name":"Write","tool_use_id":"c","tool_input":{"a":1}}],"queued_turn_count":2,"structured_output":{"city":"x"},"deferred_tool_use":{"id":"c","name":"Write","input":{}},"terminal_reason":"completed","result_index":0,"fast_mode_state":"off","fast_mode_disabled_reason":"r","origin":{"kind":"task-notification","producer":"agent","runId":"r"},"user_message_uuid":"q","user_message_uuids":["p","q"],"resume_reason":"rr","local_command":"cost","ttft_ms":1.5,"ttft_stream_ms":2,"time_to_request_ms":3}`,
		&message.Result{
			Header: message.Header{Type: "result", Subtype: "success", UUID: "u", SessionID: "s"}, DurationMS: 1, DurationAPIMS: 2, APIErrorStatus: 500, APIErrorType: "t",
			NumTurns: 3, Text: "done", StopReason: "end_turn", TotalCostUSD: 0.5, Usage: message.Usage{InputTokens: 1, OutputTokens: 2},
			ModelUsage: map[string]message.ModelUsage{"m": {
				InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CacheReadInputTokens: 4, CacheCreationInputTokens: 5,
				CacheCreationEphemeral5mInputTokens: 6, CacheCreationEphemeral1hInputTokens: 7, WebSearchRequests: 8, CostUSD: 0.25,
				ContextWindow: 9, MaxOutputTokens: 10, CanonicalModel: "c", Provider: "p", CostBasis: "b",
			}},
			TurnModelUsage:    map[string]message.ModelUsage{"m": {InputTokens: 1}},
			PermissionDenials: []message.PermissionDenial{{ToolName: "Write", ToolUseID: "c", ToolInput: json.RawMessage(`{"a":1}`)}},
			QueuedTurnCount:   2, StructuredOutput: json.RawMessage(`{"city":"x"}`), DeferredToolUse: &message.ToolUseBlock{ID: "c", Name: "Write", Input: json.RawMessage(`{}`)},
			TerminalReason: message.EndCompleted, ResultIndex: new(0), FastModeState: "off", FastModeDisabledReason: "r",
			Origin:  &message.Origin{Kind: message.OriginTaskNotification, Producer: "agent", RunID: "r", Raw: json.RawMessage(`{"kind":"task-notification","producer":"agent","runId":"r"}`)},
			Prompts: []string{"p", "q"}, ResumeReason: "rr", LocalCommand: "cost", TTFTMS: 1.5, TTFTStreamMS: 2, TimeToRequestMS: 3,
		},
	},
	{
		`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["e"],"startup_failure_reason":"config_file_invalid","invalid_config_file":{"path":"/home/user/c","is_global":true,"backup_searched":true,"backup_path":"/home/user/b"},"structured_output":null,"user_message_uuid":"p"}`,
		&message.Result{
			Header: message.Header{Type: "result", Subtype: "error_during_execution"}, IsError: true, Errors: []string{"e"}, StartupFailureReason: "config_file_invalid",
			InvalidConfigFile: &message.InvalidConfigFile{Path: "/home/user/c", IsGlobal: true, BackupSearched: true, BackupPath: "/home/user/b"}, Prompts: []string{"p"},
		},
	},
	{
		`{"type":"stream_event","uuid":"u","session_id":"s","event":{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}},"parent_tool_use_id":"pt","user_message_uuid":"p","user_message_uuids":["p"],"resume_reason":"r","ttft_ms":2,"api_message_id":"msg"}`,
		&message.StreamEvent{
			Header: header("stream_event"), Event: json.RawMessage(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}`),
			EventType: message.EventBlockDelta, Index: 1, Delta: &message.Delta{Type: message.DeltaText, Text: "a"}, ParentToolUseID: "pt",
			Prompts: []string{"p"}, ResumeReason: "r", TTFTMS: 2, MessageID: "msg",
		},
	},
	{
		`{"type":"stream_event","event":{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c","name":"Read","input":{}}}}`,
		&message.StreamEvent{
			Header: message.Header{Type: "stream_event"}, Event: json.RawMessage(`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c","name":"Read","input":{}}}`),
			EventType: message.EventBlockStart, Index: 2, ContentBlock: &message.ToolUseBlock{ID: "c", Name: "Read", Input: json.RawMessage(`{}`)},
		},
	},
	{
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg","model":"m","usage":{"input_tokens":1}}}}`,
		&message.StreamEvent{
			Header: message.Header{Type: "stream_event"}, Event: json.RawMessage(`{"type":"message_start","message":{"id":"msg","model":"m","usage":{"input_tokens":1}}}`),
			EventType: message.EventMessageStart, MessageID: "msg", Model: "m", Usage: &message.Usage{InputTokens: 1},
		},
	},
	{
		`{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}}`,
		&message.StreamEvent{
			Header: message.Header{Type: "stream_event"}, Event: json.RawMessage(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`),
			EventType: message.EventMessageDelta, Delta: &message.Delta{StopReason: "end_turn"}, Usage: &message.Usage{OutputTokens: 2},
		},
	},
}
