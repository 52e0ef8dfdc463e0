package message_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// details are lines with members that few lines have, or that newer CLIs write.
var details = []variant{
	{
		`{"type":"system","subtype":"init","uuid":"u","session_id":"s","cwd":"/repo","model":"m","tools":[],"mcp_servers":[],"memory_paths":{"auto":"/home/user/m"},"messaging_socket_path":"/tmp/s","analytics_disabled":true,"product_feedback_disabled":true,"per_turn_effort_active":true,"ultrathink_available":true,"ultrathink_typed_raises":true}`,
		&message.Init{
			Header: message.Header{Type: "system", Subtype: "init", UUID: "u", SessionID: "s"}, Cwd: "/repo", Model: "m", Tools: []string{}, MCPServers: []message.InitMCPServer{},
			MemoryPaths: map[string]string{"auto": "/home/user/m"}, MessagingSocketPath: "/tmp/s",
			AnalyticsDisabled: true, ProductFeedbackDisabled: true, PerTurnEffortActive: true, UltrathinkAvailable: true, UltrathinkTypedRaises: true,
		},
	},
	{
		`{"type":"assistant","uuid":"u","session_id":"s","message":{"id":"msg","type":"message","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"a"}],"stop_reason":"stop_sequence","stop_sequence":"","usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"iterations":[{"a":1}],"fallback_credit":{"b":1}},"stop_details":{"c":1},"container":{"d":1},"context_management":{"e":1},"diagnostics":{"f":1}},"parent_tool_use_id":null,"is_api_error_message":true,"api_error":"max_output_tokens","refused_message_id":"msg_1","thinking_display":"updates","thinking_duration_ms":2.5,"local_command_source":"<o>"}`,
		&message.Assistant{
			Header: header("assistant"), ID: "msg", Model: "<synthetic>", StopReason: "stop_sequence", Content: message.Content{message.Text("a")},
			Usage:       message.Usage{Iterations: json.RawMessage(`[{"a":1}]`), FallbackCredit: json.RawMessage(`{"b":1}`)},
			StopDetails: json.RawMessage(`{"c":1}`), Container: json.RawMessage(`{"d":1}`), ContextManagement: json.RawMessage(`{"e":1}`), Diagnostics: json.RawMessage(`{"f":1}`),
			IsAPIErrorMessage: true, APIError: "max_output_tokens", RefusedMessageID: "msg_1", ThinkingDisplay: "updates", ThinkingDurationMS: 2.5, LocalCommandSource: "<o>",
		},
	},
	{
		`{"type":"assistant","uuid":"u","session_id":"s","message":{"role":"assistant","content":[],"stop_reason":null,"container":null,"usage":{"input_tokens":1,"iterations":null}},"tool_use_meta":[{"id":"c","display_name":"Add","server_display_name":"x","tool_name":"add","icon_url":"i","server_id":"y"}],"local_command_run":{"command":"compact","args":"now","plugin":"p"},"local_command_outcome":{"kind":"unknown","suggestion":"compact"}}`,
		&message.Assistant{
			Header: header("assistant"), Content: message.Content{}, Usage: message.Usage{InputTokens: 1},
			ToolUseMeta:         []message.ToolUseMeta{{ID: "c", DisplayName: "Add", ServerDisplayName: "x", ToolName: "add", IconURL: "i", ServerID: "y"}},
			LocalCommandRun:     &message.LocalCommandRun{Command: "compact", Args: "now", Plugin: "p"},
			LocalCommandOutcome: &message.LocalCommandOutcome{Kind: "unknown", Suggestion: "compact"},
		},
	},
	{
		`{"type":"user","uuid":"u","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"out"},{"type":"tool_result","tool_use_id":"d","content":""}]},"parent_tool_use_id":null,"tool_result_meta":[{"id":"c","permission_decision":{"decision":"accept","source":"config","reason_type":"mode"}},{"id":"d","non_execution_kind":"user-rejected","user_feedback":"no"}],"refused_message_id":"msg_1"}`,
		&message.User{
			Header: header("user"),
			Content: message.Content{
				&message.ToolResultBlock{ToolUseID: "c", Content: message.Content{message.Text("out")}, Plain: true},
				&message.ToolResultBlock{ToolUseID: "d", Content: message.Content{}, Plain: true},
			},
			ToolResultMeta: []message.ToolResultMeta{
				{ID: "c", PermissionDecision: message.PermissionOutcome{Decision: "accept", Source: "config", ReasonType: "mode"}},
				{ID: "d", NonExecutionKind: "user-rejected", UserFeedback: "no"},
			},
			RefusedMessageID: "msg_1",
		},
	},
	{
		`{"type":"result","subtype":"success","uuid":"u","session_id":"s","is_error":false,"num_turns":0,"duration_ms":0,"duration_api_ms":0,"total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"iterations":[]},"modelUsage":{},"permission_denials":[],"result":"","stop_reason":null,"first_content_frame_ms":37.5,"request_sent_wall_ms":1794699964019,"first_request_input_tokens":10,"first_request_cache_read_input_tokens":3,"subagent_stats":{"spawned":2,"requested":{"background":1,"foreground":2,"unset":3},"started_in_background":4,"by_type":{"scout":2},"max_depth":5,"spawned_by_subagents":6,"completed":7,"failed":8,"killed":{"parent":9,"user":10,"system":11},"refused":{"depth_limit":12,"concurrency_limit":13,"budget":14}},"safety_stops":1}`,
		&message.Result{
			Header: message.Header{Type: "result", Subtype: "success", UUID: "u", SessionID: "s"}, Usage: message.Usage{Iterations: json.RawMessage(`[]`)},
			ModelUsage: map[string]message.ModelUsage{}, PermissionDenials: []message.PermissionDenial{},
			FirstContentFrameMS: 37.5, RequestSentWallMS: 1794699964019, FirstRequestInputTokens: 10, FirstRequestCacheReadInputTokens: 3, SafetyStops: 1,
			SubagentStats: message.SubagentStats{
				Spawned: 2, Requested: message.SubagentsRequested{Background: 1, Foreground: 2, Unset: 3}, StartedInBackground: 4, ByType: map[string]int{"scout": 2},
				MaxDepth: 5, SpawnedBySubagents: 6, Completed: 7, Failed: 8, Killed: message.SubagentsKilled{Parent: 9, User: 10, System: 11},
				Refused: message.SubagentsRefused{DepthLimit: 12, ConcurrencyLimit: 13, Budget: 14},
			},
		},
	},
	{
		`{"type":"stream_event","uuid":"u","session_id":"s","event":{"type":"message_stop"},"parent_tool_use_id":null,"thinking_display":"updates","abandoned_blocks":{"api_message_id":"msg","from_block_index":1},"owed_rows":["r"]}`,
		&message.StreamEvent{
			Header: header("stream_event"), Event: json.RawMessage(`{"type":"message_stop"}`), EventType: message.EventMessageStop, ThinkingDisplay: "updates",
			AbandonedBlocks: &message.AbandonedBlocks{MessageID: "msg", FromBlockIndex: 1}, OwedRows: []string{"r"},
		},
	},
	{
		`{"type":"system","subtype":"compact_boundary","uuid":"u","session_id":"s","compact_metadata":{"trigger":"manual","pre_tokens":9,"cumulative_dropped_tokens":5},"logical_parent_uuid":"l"}`,
		&message.CompactBoundary{
			Header:   message.Header{Type: "system", Subtype: "compact_boundary", UUID: "u", SessionID: "s"},
			Metadata: message.CompactMetadata{Trigger: "manual", PreTokens: 9, CumulativeDroppedTokens: 5}, LogicalParentUUID: "l",
		},
	},
	{
		`{"type":"system","subtype":"informational","uuid":"u","session_id":"s","content":"c","level":"info","prompt_submit_outcome":{"kind":"no_verdict","no_verdict_kind":"callback_timed_out","prompt_kept":true,"reason":"r"}}`,
		&message.Informational{
			Header: message.Header{Type: "system", Subtype: "informational", UUID: "u", SessionID: "s"}, Content: "c", Level: message.LevelInfo,
			PromptSubmitOutcome: &message.PromptSubmitOutcome{Kind: "no_verdict", NoVerdictKind: "callback_timed_out", PromptKept: true, Reason: "r"},
		},
	},
	{
		`{"type":"system","subtype":"status","uuid":"u","session_id":"s","status":"compacting","compact_output_chars":4}`,
		&message.Status{Header: message.Header{Type: "system", Subtype: "status", UUID: "u", SessionID: "s"}, Status: "compacting", CompactOutputChars: 4},
	},
	{
		`{"type":"system","subtype":"api_retry","uuid":"u","session_id":"s","attempt":1,"max_retries":2,"retry_delay_ms":500,"error_status":null,"error":"unknown"}`,
		&message.APIRetry{Header: message.Header{Type: "system", Subtype: "api_retry", UUID: "u", SessionID: "s"}, Attempt: 1, MaxRetries: 2, RetryDelayMS: 500, Error: message.AssistantErrorUnknown},
	},
	{
		`{"type":"system","subtype":"session_title_changed","uuid":"u","session_id":"s","title":"t"}`,
		&message.SessionTitle{Header: message.Header{Type: "system", Subtype: "session_title_changed", UUID: "u", SessionID: "s"}, Title: "t"},
	},
	{
		`{"type":"system","subtype":"ui_invalidate","uuid":"u","session_id":"s","event":"ui.render"}`,
		&message.UIInvalidate{Header: message.Header{Type: "system", Subtype: "ui_invalidate", UUID: "u", SessionID: "s"}, Event: "ui.render"},
	},
	{
		`{"type":"attachment","uuid":"u","session_id":"s","attachment":{"type":"file","x":1},"timestamp":"2026-11-14T23:46:41.692Z"}`,
		&message.Attachment{Header: header("attachment"), Attachment: json.RawMessage(`{"type":"file","x":1}`), Timestamp: time.Date(2026, 11, 14, 23, 46, 41, 692e6, time.UTC)},
	},
}

// Of a content that was a string, what is no longer one text becomes a list.
func TestPlainContent(t *testing.T) {
	for want, content := range map[string]message.Content{
		`"a"`: {message.Text("a")},
		`""`:  {},
		`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`: {message.Text("a"), message.Text("b")},
		`[{"type":"text","text":"a","citations":[1]}]`:            {&message.TextBlock{Text: "a", Citations: json.RawMessage(`[1]`)}},
		`[{"type":"image","source":{"type":"url","url":"u"}}]`:    {&message.ImageBlock{Source: message.Source{Type: message.SourceURL, URL: "u"}}},
	} {
		if got := encodeAs(t, &message.User{Content: content, Plain: true}); got != `{"type":"user","message":{"role":"user","content":`+want+`},"parent_tool_use_id":null,"session_id":""}` {
			t.Errorf("user: %s, want the content %s", got, want)
		}
		if got := encodeAs(t, &message.ToolResultBlock{ToolUseID: "c", Content: content, Plain: true}); got != `{"type":"tool_result","tool_use_id":"c","content":`+want+`}` {
			t.Errorf("result: %s, want the content %s", got, want)
		}
	}
}
