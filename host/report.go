package host

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// sessionUsage is the answer to get_usage.
func (s *session) sessionUsage() control.UsageReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := time.Since(s.began).Milliseconds()
	u := control.UsageReport{Session: control.SessionUsage{
		TotalCostUSD: s.cost, TotalAPIDurationMS: elapsed, TotalDurationMS: elapsed,
		ModelUsage: make(map[string]json.RawMessage),
	}}
	for model, used := range s.usage {
		if raw, err := jsonx.Marshal(used); err == nil {
			u.Session.ModelUsage[model] = raw
		}
	}
	return u
}

// window is how many tokens the context of every model has.
const window = 200_000

// contextUsage is the answer to get_context_usage.
func (s *session) contextUsage() control.ContextUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := 0
	for _, u := range s.usage {
		used += u.InputTokens + u.OutputTokens
	}
	return control.ContextUsage{
		Categories: []control.ContextCategory{
			{ID: "messages", Name: "Messages", Tokens: used, Kind: "used"},
			{ID: "free", Name: "Free space", Tokens: max(window-used, 0), Kind: "free"},
		},
		TotalTokens: used, MaxTokens: window, RawMaxTokens: window,
		Percentage: float64(used) * 100 / window, Model: s.model, MemoryFiles: []control.MemoryFile{},
	}
}

// permissionRules is the answer to list_permission_rules.
func (s *session) permissionRules() control.PermissionRules {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := control.PermissionRules{Rules: []json.RawMessage{}, WorkspaceDirectories: []string{}, OriginalCwd: s.opts.Cwd}
	for _, rule := range s.rules {
		raw, err := jsonx.Marshal(struct {
			Behavior string `json:"behavior"`
			Tool     string `json:"toolName"`
			Content  string `json:"ruleContent,omitzero"`
		}{string(rule.behavior), rule.ToolName, rule.RuleContent})
		if err == nil {
			r.Rules = append(r.Rules, raw)
		}
	}
	return r
}
