package permission

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// A question of the CLI is read here in one pass, because a tool call waits for
// the answer. One with anything unusual about it is left to the general way;
// FuzzScan holds the two together.

// scan reads a request and keeps raw in it. It reports false, with r
// unchanged, for one that is unusual.
func (r *Request) scan(raw json.RawMessage) bool {
	var s jsonx.Scanner
	s.Start(raw)
	f := Request{RequestID: r.RequestID, Cwd: r.Cwd, Raw: raw}
	body := jsonx.BodyNames()
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case "tool_name":
			f.ToolName = s.Text()
		case "input":
			f.Input = s.Skip()
		case "tool_use_id":
			f.ToolUseID = s.Text()
		case "permission_suggestions":
			f.Suggestions = scanUpdates(&s)
		case "blocked_path":
			f.BlockedPath = s.Text()
		case "decision_reason":
			f.Reason = s.Text()
		case "decision_reason_type":
			f.ReasonType = s.Text()
		case "decision_reason_hook_event":
			f.ReasonHookEvent = s.Text()
		case "decision_reason_hook_source":
			f.ReasonHookSource = s.Text()
		case "title":
			f.Title = s.Text()
		case "display_name":
			f.DisplayName = s.Text()
		case "description":
			f.Description = s.Text()
		case "agent_id":
			f.AgentID = s.Text()
		case "requires_user_interaction":
			f.RequiresUserInteraction = s.Bool()
		case "suppress_always_allow_rule":
			f.SuppressAlwaysAllow = s.Bool()
		case "default_to_no":
			f.DefaultToNo = s.Bool()
		case "classifier_approvable":
			f.ClassifierApprovable = s.Bool()
		case "server_policy_ask_only":
			f.ServerPolicyAskOnly = s.Bool()
		case "mcp_server", "matched_ask_rule": // rare
			if !s.Null() {
				return false
			}
		default:
			if body.Add(name) != nil {
				return false
			}
			s.Skip()
		}
	}
	if !s.End() {
		return false
	}
	*r = f
	return true
}

// scanUpdates reads a list of suggestions.
func scanUpdates(s *jsonx.Scanner) []Update {
	if s.Null() {
		return nil
	}
	list := make([]Update, 0, 1)
	s.Array()
	for s.More(len(list)) {
		list = append(list, scanUpdate(s))
	}
	return list
}

// scanUpdate reads a suggestion. Those of another shape are unusual.
func scanUpdate(s *jsonx.Scanner) (u Update) {
	mark := s.Mark()
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case "type":
			u.Type = UpdateType(s.Text())
		case "rules":
			u.Rules = scanRules(s)
		case "behavior":
			u.Behavior = Behavior(s.Text())
		case "mode":
			u.Mode = Mode(s.Text())
		case "directories":
			u.Directories = scanTexts(s)
		case "destination":
			u.Destination = Destination(s.Text())
		default:
			s.Skip()
		}
	}
	if u.Type == "" {
		s.Fail()
	}
	if s.OK() {
		u.Raw = s.Since(mark)
	}
	return u
}

func scanRules(s *jsonx.Scanner) []Rule {
	if s.Null() {
		return nil
	}
	list := make([]Rule, 0, 1)
	s.Array()
	for s.More(len(list)) {
		var rule Rule
		o := s.Object()
		for name := s.Next(&o); name != nil; name = s.Next(&o) {
			switch string(name) {
			case "toolName":
				rule.ToolName = s.Text()
			case "ruleContent":
				rule.RuleContent = s.Text()
			default:
				s.Skip()
			}
		}
		list = append(list, rule)
	}
	return list
}

func scanTexts(s *jsonx.Scanner) []string {
	if s.Null() {
		return nil
	}
	list := make([]string, 0, 1)
	s.Array()
	for s.More(len(list)) {
		list = append(list, s.Text())
	}
	return list
}
