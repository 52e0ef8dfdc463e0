package main

import (
	"strings"

	"github.com/claude-agent-go/claude"
)

// operation is a control request and a payload that does no harm.
type operation struct {
	name    string
	payload map[string]any
}

func operations() []operation {
	type m = map[string]any
	return []operation{
		{"apply_flag_settings", m{"settings": m{}}},
		{"background_tasks", nil},
		{"cancel_async_message", m{"message_uuid": "00000000-0000-4000-8000-0000000000ff"}},
		{"file_suggestions", m{"query": "a"}},
		{"generate_session_title", m{"description": "a talk"}},
		{"get_binary_version", nil},
		{"get_context_usage", nil},
		{"get_hooks_listing", nil},
		{"get_session_cost", nil},
		{"get_settings", nil},
		{"get_task_output", m{"task_id": "x"}},
		{"get_usage", nil},
		{"interrupt", nil},
		{"list_models", nil},
		{"list_permission_rules", nil},
		{"mcp_call", m{"tool": "mcp__a__b"}},
		{"mcp_read_resource", m{"serverName": "a", "uri": "ui://b"}},
		{"mcp_reconnect", m{"serverName": "a"}},
		{"mcp_set_servers", m{"servers": m{}}},
		{"mcp_status", nil},
		{"mcp_toggle", m{"serverName": "a", "enabled": true}},
		{"read_file", m{"path": "a"}},
		{"register_repo_root", m{"directory": "a"}},
		{"reload_output_styles", nil},
		{"reload_plugins", nil},
		{"reload_skills", nil},
		{"rename_session", m{"title": "t"}},
		{"rewind_files", m{"user_message_id": "00000000-0000-4000-8000-0000000000ff", "dry_run": true}},
		{"seed_read_state", m{"path": "a", "mtime": 1}},
		{"set_max_thinking_tokens", m{"max_thinking_tokens": nil}},
		{"set_mcp_permission_mode_override", m{"serverName": "a", "mode": nil}},
		{"set_model", m{"model": nil}},
		{"set_permission_mode", m{"mode": "default"}},
		{"side_question", m{"question": "what?"}},
		{"stop_task", m{"task_id": "x"}},
		{"update_settings", m{"source": "localSettings", "settings": m{}}},
	}
}

// unknown reports whether a refusal says that the CLI does not know the
// request, and not that it cannot do it now.
func unknown(e *claude.ControlError) bool {
	return e.Code == "unsupported_request" || strings.HasPrefix(e.Message, "Unsupported control request")
}
