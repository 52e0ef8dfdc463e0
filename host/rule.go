package host

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// ruling is a permission rule and what it says.
type ruling struct {
	permission.Rule
	behavior permission.Behavior
}

// startRules are the rules that the options name.
func startRules(o *Options) []ruling {
	var all []ruling
	for _, set := range []struct {
		rules    []string
		behavior permission.Behavior
	}{{o.Deny, permission.BehaviorDeny}, {o.Ask, permission.BehaviorAsk}, {o.Allow, permission.BehaviorAllow}} {
		for _, text := range set.rules {
			all = append(all, ruling{parseRule(text), set.behavior})
		}
	}
	return all
}

// parseRule reads "Tool" or "Tool(content)".
func parseRule(text string) permission.Rule {
	text = strings.TrimSpace(text)
	if name, rest, ok := strings.Cut(text, "("); ok && strings.HasSuffix(rest, ")") {
		return permission.Rule{ToolName: name, RuleContent: strings.TrimSuffix(rest, ")")}
	}
	return permission.Rule{ToolName: text}
}

// ruled returns what the rules say of a call: a denial goes before a question,
// a question before an allowance. Empty: nothing.
func (s *session) ruled(c *Call) permission.Behavior {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range []permission.Behavior{permission.BehaviorDeny, permission.BehaviorAsk, permission.BehaviorAllow} {
		for _, r := range s.rules {
			if r.behavior == b && covers(r.Rule, c) {
				return b
			}
		}
	}
	return ""
}

// covers reports whether a rule is about a call. "mcp__server" covers all
// tools of a server.
func covers(r permission.Rule, c *Call) bool {
	if r.ToolName != c.Name && !wild(r.ToolName, c.Name) &&
		!(strings.HasPrefix(r.ToolName, "mcp__") && strings.HasPrefix(c.Name, r.ToolName+"__")) {
		return false
	}
	if r.RuleContent == "" || r.RuleContent == "*" {
		return true
	}
	arg := argument(c.input)
	if prefix, ok := strings.CutSuffix(r.RuleContent, ":*"); ok {
		return arg == prefix || strings.HasPrefix(arg, prefix+" ")
	}
	return arg == r.RuleContent || wild(r.RuleContent, arg)
}

// argument is the part of a tool's input that rules speak of.
func argument(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if jsonx.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, name := range []string{"command", "file_path", "notebook_path", "path", "url", "skill", "query"} {
		var text string
		if jsonx.Unmarshal(in[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// wild matches a text against a pattern in which "*" stands for anything.
func wild(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return false
	}
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	ok, err := regexp.MatchString("^(?s:"+strings.Join(parts, ".*")+")$", text)
	return err == nil && ok
}

// apply makes the changes that come with an allowed call. Updates of a shape
// that is not known are dropped without a word, as the CLI does.
func (s *session) apply(updates []permission.Update) {
	for _, u := range updates {
		switch u.Type {
		case permission.UpdateSetMode:
			if u.Mode.Valid() {
				s.setMode(u.Mode)
			}
		case permission.UpdateAddRules:
			s.editRules(func(rs []ruling) []ruling { return append(rs, rulings(u)...) })
		case permission.UpdateReplaceRules:
			s.editRules(func(rs []ruling) []ruling {
				kept := slices.DeleteFunc(rs, func(r ruling) bool { return r.behavior == u.Behavior })
				return append(kept, rulings(u)...)
			})
		case permission.UpdateRemoveRules:
			s.editRules(func(rs []ruling) []ruling {
				return slices.DeleteFunc(rs, func(r ruling) bool { return slices.Contains(rulings(u), r) })
			})
		}
	}
}

func rulings(u permission.Update) []ruling {
	all := make([]ruling, len(u.Rules))
	for i, r := range u.Rules {
		all[i] = ruling{r, u.Behavior}
	}
	return all
}

func (s *session) editRules(edit func([]ruling) []ruling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = edit(slices.Clone(s.rules))
}
