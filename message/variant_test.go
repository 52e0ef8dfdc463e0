package message_test

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// variant is one line and what it must decode to, Raw aside.
type variant struct {
	line string
	want message.Message
}

func system(subtype string) message.Header {
	return message.Header{Type: "system", Subtype: subtype, UUID: "u", SessionID: "s"}
}

func header(typ string) message.Header {
	return message.Header{Type: typ, UUID: "u", SessionID: "s"}
}

// notices has every typed notice with all of its fields.
var notices = []variant{
	{
		`{"type":"system","subtype":"status","uuid":"u","session_id":"s","status":null,"permissionMode":"plan","compact_result":"failed","compact_error":"e","user_message_uuids":["p"]}`,
		&message.Status{Header: system("status"), PermissionMode: permission.ModePlan, CompactResult: "failed", CompactError: "e", Prompts: []string{"p"}},
	},
	{
		`{"type":"system","subtype":"compact_boundary","uuid":"u","session_id":"s","compact_metadata":{"trigger":"auto","pre_tokens":9,"post_tokens":3,"duration_ms":4,"preserved_segment":{"a":1},"preserved_messages":{"b":2}}}`,
		&message.CompactBoundary{Header: system("compact_boundary"), Metadata: message.CompactMetadata{
			Trigger: "auto", PreTokens: 9, PostTokens: 3, DurationMS: 4,
			PreservedSegment: json.RawMessage(`{"a":1}`), PreservedMessages: json.RawMessage(`{"b":2}`),
		}},
	},
	{
		`{"type":"system","subtype":"api_retry","uuid":"u","session_id":"s","attempt":1,"max_retries":10,"retry_delay_ms":614.5,"error_status":null,"error":"overloaded"}`,
		&message.APIRetry{Header: system("api_retry"), Attempt: 1, MaxRetries: 10, RetryDelayMS: 614.5, Error: message.AssistantErrorOverloaded},
	},
	{
		`{"type":"system","subtype":"control_request_progress","uuid":"u","session_id":"s","request_id":"r","status":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":3,"error_status":529}`,
		&message.ControlProgress{Header: system("control_request_progress"), RequestID: "r", Status: "api_retry", Attempt: 1, MaxRetries: 2, RetryDelayMS: 3, ErrorStatus: 529},
	},
	{
		`{"type":"system","subtype":"model_refusal_fallback","uuid":"u","session_id":"s","trigger":"t","direction":"d","scope":"c","original_model":"m1","fallback_model":"m2","request_id":"r","api_refusal_category":"k","api_refusal_explanation":"x","retracted_message_uuids":["a"],"refused_user_message_uuid":"b","content":"n"}`,
		&message.ModelFallback{
			Header: system(message.FallbackUsed), Trigger: "t", Direction: "d", Scope: "c", OriginalModel: "m1", FallbackModel: "m2", RequestID: "r",
			RefusalCategory: "k", RefusalExplanation: "x", Retracted: []string{"a"}, RefusedPrompt: "b", Content: "n",
		},
	},
	{
		`{"type":"system","subtype":"model_refusal_no_fallback","uuid":"u","session_id":"s","original_model":"m1","request_id":"r","content":"n"}`,
		&message.ModelFallback{Header: system(message.FallbackMissing), OriginalModel: "m1", RequestID: "r", Content: "n"},
	},
	{
		`{"type":"system","subtype":"local_command_output","uuid":"u","session_id":"s","content":"c"}`,
		&message.LocalCommandOutput{Header: system("local_command_output"), Content: "c"},
	},
	{
		`{"type":"system","subtype":"hook_started","uuid":"u","session_id":"s","hook_id":"h","hook_name":"n","hook_event":"Stop"}`,
		&message.HookEvent{Header: system(message.HookStarted), HookID: "h", Name: "n", Event: "Stop"},
	},
	{
		`{"type":"system","subtype":"hook_progress","uuid":"u","session_id":"s","hook_id":"h","hook_name":"n","hook_event":"Stop","stdout":"o","stderr":"e","output":"oe"}`,
		&message.HookEvent{Header: system(message.HookProgress), HookID: "h", Name: "n", Event: "Stop", Stdout: "o", Stderr: "e", Output: "oe"},
	},
	{
		`{"type":"system","subtype":"hook_response","uuid":"u","session_id":"s","hook_id":"h","hook_name":"n","hook_event":"Stop","stdout":"o","output":"o","exit_code":0,"outcome":"success"}`,
		&message.HookEvent{Header: system(message.HookResponse), HookID: "h", Name: "n", Event: "Stop", Stdout: "o", Output: "o", ExitCode: new(0), Outcome: "success"},
	},
	{
		`{"type":"system","subtype":"plugin_install","uuid":"u","session_id":"s","status":"failed","name":"n","error":"e"}`,
		&message.PluginInstall{Header: system("plugin_install"), Status: "failed", Name: "n", Error: "e"},
	},
	{
		`{"type":"system","subtype":"task_started","uuid":"u","session_id":"s","task_id":"t","run_id":"r","tool_use_id":"c","description":"d","subagent_type":"a","is_backgrounded":true,"spawn_depth":1,"parent_task_id":"p","task_type":"local_agent","workflow_name":"w","prompt":"q","skip_transcript":true,"ambient":true}`,
		&message.TaskStarted{
			Header: system("task_started"), TaskID: "t", RunID: "r", ToolUseID: "c", Description: "d", SubagentType: "a", IsBackgrounded: true,
			SpawnDepth: 1, ParentTaskID: "p", TaskType: "local_agent", WorkflowName: "w", Prompt: "q", SkipTranscript: true, Ambient: true,
		},
	},
	{
		`{"type":"system","subtype":"task_progress","uuid":"u","session_id":"s","task_id":"t","run_id":"r","tool_use_id":"c","description":"d","subagent_type":"a","usage":{"total_tokens":1,"tool_uses":2,"duration_ms":3},"last_tool_name":"Bash","summary":"m"}`,
		&message.TaskProgress{
			Header: system("task_progress"), TaskID: "t", RunID: "r", ToolUseID: "c", Description: "d", SubagentType: "a",
			Usage: message.TaskUsage{TotalTokens: 1, ToolUses: 2, DurationMS: 3}, LastToolName: "Bash", Summary: "m",
		},
	},
	{
		`{"type":"system","subtype":"task_updated","uuid":"u","session_id":"s","task_id":"t","run_id":"r","patch":{"status":"failed","description":"d","end_time":1794700116803,"total_paused_ms":5,"error":"e","is_backgrounded":false}}`,
		&message.TaskUpdated{Header: system("task_updated"), TaskID: "t", RunID: "r", Patch: message.TaskPatch{
			Status: message.TaskFailed, Description: "d", EndTime: 1794700116803, TotalPausedMS: 5, Error: "e", IsBackgrounded: new(false),
		}},
	},
	{
		`{"type":"system","subtype":"task_notification","uuid":"u","session_id":"s","task_id":"t","run_id":"r","tool_use_id":"c","status":"stopped","reason":"x","output_file":"/home/user/o","summary":"m","usage":{"total_tokens":1,"tool_uses":2,"duration_ms":3},"resource_links":[{"uri":"a"}],"skip_transcript":true,"ambient":true}`,
		&message.TaskNotification{
			Header: system("task_notification"), TaskID: "t", RunID: "r", ToolUseID: "c", Status: message.TaskStopped, Reason: "x", OutputFile: "/home/user/o", Summary: "m",
			Usage: message.TaskUsage{TotalTokens: 1, ToolUses: 2, DurationMS: 3}, ResourceLinks: json.RawMessage(`[{"uri":"a"}]`), SkipTranscript: true, Ambient: true,
		},
	},
	{
		`{"type":"system","subtype":"background_tasks_changed","uuid":"u","session_id":"s","tasks":[{"task_id":"t","run_id":"r","task_type":"shell","subagent_type":"a","description":"d"}]}`,
		&message.BackgroundTasks{Header: system("background_tasks_changed"), Tasks: []message.BackgroundTask{{TaskID: "t", RunID: "r", TaskType: "shell", SubagentType: "a", Description: "d"}}},
	},
	{
		`{"type":"system","subtype":"thinking_tokens","uuid":"u","session_id":"s","estimated_tokens":4,"estimated_tokens_delta":2,"user_message_uuid":"p"}`,
		&message.ThinkingTokens{Header: system("thinking_tokens"), EstimatedTokens: 4, EstimatedTokensDelta: 2, Prompt: "p"},
	},
	{
		`{"type":"system","subtype":"session_state_changed","uuid":"u","session_id":"s","state":"requires_action","sdk_host_only":true}`,
		&message.SessionState{Header: system("session_state_changed"), State: message.ActivityRequiresAction, HostOnly: true},
	},
	{
		`{"type":"system","subtype":"commands_changed","uuid":"u","session_id":"s","commands":[{"name":"one","description":"d","argumentHint":"h","builtin":true}]}`,
		&message.CommandsChanged{Header: system("commands_changed"), Commands: []control.Command{{Name: "one", Description: "d", ArgumentHint: "h", Builtin: true}}},
	},
	{
		`{"type":"system","subtype":"notification","uuid":"u","session_id":"s","key":"k","text":"t","priority":"low","color":"red","timeout_ms":5}`,
		&message.Notification{Header: system("notification"), Key: "k", Text: "t", Priority: "low", Color: "red", TimeoutMS: 5},
	},
	{
		`{"type":"system","subtype":"files_persisted","uuid":"u","session_id":"s","files":[{"filename":"a","file_id":"f"}],"failed":[{"filename":"b","error":"e"}],"processed_at":"now"}`,
		&message.FilesPersisted{
			Header: system("files_persisted"), Files: []message.PersistedFile{{Filename: "a", FileID: "f"}},
			Failed: []message.PersistedFile{{Filename: "b", Error: "e"}}, ProcessedAt: "now",
		},
	},
	{
		`{"type":"system","subtype":"memory_recall","uuid":"u","session_id":"s","mode":"select","memories":[{"path":"/home/user/m","scope":"user","content":"c"}]}`,
		&message.MemoryRecall{Header: system("memory_recall"), Mode: "select", Memories: []message.Memory{{Path: "/home/user/m", Scope: "user", Content: "c"}}},
	},
	{
		`{"type":"system","subtype":"session_writes_lost","uuid":"u","session_id":"s","error_code":"ENOSPC","lost":["transcript"],"transcript_session_ids":["s"]}`,
		&message.SessionWritesLost{Header: system("session_writes_lost"), ErrorCode: "ENOSPC", Lost: []string{"transcript"}, TranscriptSessionIDs: []string{"s"}},
	},
	{
		`{"type":"system","subtype":"elicitation_complete","uuid":"u","session_id":"s","mcp_server_name":"m","elicitation_id":"e"}`,
		&message.ElicitationComplete{Header: system("elicitation_complete"), MCPServerName: "m", ElicitationID: "e"},
	},
	{
		`{"type":"system","subtype":"permission_denied","uuid":"u","session_id":"s","tool_name":"Write","tool_use_id":"c","agent_id":"a","decision_reason_type":"rule","decision_reason":"r","message":"m"}`,
		&message.PermissionDenied{Header: system("permission_denied"), ToolName: "Write", ToolUseID: "c", AgentID: "a", DecisionReasonType: "rule", DecisionReason: "r", Message: "m"},
	},
	{
		`{"type":"system","subtype":"informational","uuid":"u","session_id":"s","content":"c","level":"warning","tool_use_id":"t","prevent_continuation":true,"tag":"g"}`,
		&message.Informational{Header: system("informational"), Content: "c", Level: message.LevelWarning, ToolUseID: "t", PreventContinuation: true, Tag: "g"},
	},
	{
		`{"type":"system","subtype":"worker_shutting_down","uuid":"u","session_id":"s","reason":"r"}`,
		&message.System{Header: system("worker_shutting_down")},
	},
	{
		`{"type":"system","subtype":"worker_shutting_down","uuid":"u","session_id":"s","reason":"host_exit"}`,
		&message.System{Header: system("worker_shutting_down")},
	},
	{
		`{"type":"system","subtype":"mirror_error","uuid":"u","session_id":"s","error":"e","key":{"projectKey":"p","sessionId":"i","subpath":"subagents/agent-a"},"journal":"/j"}`,
		&message.MirrorError{Header: system("mirror_error"), Error: "e", Key: message.MirrorKey{Project: "p", Session: "i", Sub: "subagents/agent-a"}, Journal: "/j"},
	},
	{
		`{"type":"rate_limit_event","uuid":"u","session_id":"s","rate_limit_info":{"status":"rejected","resetsAt":1794700116,"rateLimitType":"five_hour","utilization":0.5,"overageStatus":"o","overageResetsAt":7,"overageDisabledReason":"d","isUsingOverage":true,"surpassedThreshold":0.9,"limitScope":"l","errorCode":"e"}}`,
		&message.RateLimit{Header: header("rate_limit_event"), Info: message.RateLimitInfo{
			Status: "rejected", ResetsAt: 1794700116, RateLimitType: "five_hour", Utilization: new(0.5), OverageStatus: "o", OverageResetsAt: 7,
			OverageDisabledReason: "d", IsUsingOverage: true, SurpassedThreshold: new(0.9), LimitScope: "l", ErrorCode: "e",
		}},
	},
	{
		`{"type":"tool_progress","uuid":"u","session_id":"s","tool_use_id":"c","tool_name":"Bash","parent_tool_use_id":null,"elapsed_time_seconds":2.5,"task_id":"t","heartbeat":true,"subagent_type":"a"}`,
		&message.ToolProgress{Header: header("tool_progress"), ToolUseID: "c", ToolName: "Bash", ElapsedSeconds: 2.5, TaskID: "t", Heartbeat: true, SubagentType: "a"},
	},
	{
		`{"type":"tool_use_summary","uuid":"u","session_id":"s","summary":"m","preceding_tool_use_ids":["a","b"]}`,
		&message.ToolUseSummary{Header: header("tool_use_summary"), Summary: "m", ToolUseIDs: []string{"a", "b"}},
	},
	{
		`{"type":"auth_status","uuid":"u","session_id":"s","isAuthenticating":true,"output":["o"],"error":"e"}`,
		&message.AuthStatus{Header: header("auth_status"), IsAuthenticating: true, Output: []string{"o"}, Error: "e"},
	},
	{
		`{"type":"prompt_suggestion","uuid":"u","session_id":"s","suggestion":"continue"}`,
		&message.PromptSuggestion{Header: header("prompt_suggestion"), Suggestion: "continue"},
	},
	{
		`{"type":"conversation_reset","uuid":"u","session_id":"s","new_conversation_id":"n","trigger":"clear","user_message_uuid":"p","timestamp":"2026-11-14T23:46:41.692Z"}`,
		&message.ConversationReset{
			Header: header("conversation_reset"), NewConversationID: "n", Trigger: "clear", Prompt: "p",
			Timestamp: time.Date(2026, 11, 14, 23, 46, 41, 692e6, time.UTC),
		},
	},
	{
		`{"type":"attachment","uuid":"u","session_id":"s","attachment":{"type":"file"},"timestamp":"2026-11-14T23:46:41.692Z"}`,
		&message.Attachment{Header: header("attachment"), Attachment: json.RawMessage(`{"type":"file"}`), Timestamp: time.Date(2026, 11, 14, 23, 46, 41, 692e6, time.UTC)},
	},
	{
		`{"type":"command_lifecycle","uuid":"u","session_id":"s","command_uuid":"p","state":"discarded"}`,
		&message.CommandLifecycle{Header: header("command_lifecycle"), CommandUUID: "p", State: message.CommandDiscarded},
	},
	{
		`{"type":"error","uuid":"u","session_id":"s","error":{"type":"invalid_request","message":"m"}}`,
		&message.Error{Header: header("error"), ErrorType: "invalid_request", Message: "m"},
	},
	{
		`{"type":"error","error":"m"}`,
		&message.Error{Header: message.Header{Type: "error"}, Message: "m"},
	},
	{
		`{"type":"active_goal","uuid":"u","session_id":"s","value":null}`,
		&message.ActiveGoal{Header: header("active_goal")},
	},
	{
		`{"type":"active_goal","uuid":"u","session_id":"s","value":{"condition":"green","iterations":2,"set_at":1763,"tokens_at_start":9,"last_reason":"red"}}`,
		&message.ActiveGoal{Header: header("active_goal"), Goal: &message.Goal{Condition: "green", Iterations: 2, SetAt: 1763, TokensAtStart: 9, LastReason: "red"}},
	},
	{
		`{"type":"brand_new","uuid":"u","session_id":"s"}`,
		&message.Unknown{Header: header("brand_new")},
	},
	{
		`{"uuid":"u","session_id":"s"}`,
		&message.Unknown{Header: header("")},
	},
}
