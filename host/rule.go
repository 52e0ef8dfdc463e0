package host

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// ruling is a permission rule with its behaviour and the place where it is kept.
type ruling struct {
	permission.Rule
	behavior    permission.Behavior
	destination permission.Destination
}

// startRules are the rules that the options name.
func startRules(o *Options) []ruling {
	var all []ruling
	for _, set := range []struct {
		rules    []string
		behavior permission.Behavior
	}{{o.Deny, permission.BehaviorDeny}, {o.Ask, permission.BehaviorAsk}, {o.Allow, permission.BehaviorAllow}} {
		for _, text := range set.rules {
			all = append(all, ruling{parseRule(text), set.behavior, permission.ToCLIArg})
		}
	}
	return all
}

// parseRule reads "Tool" or "Tool(content)". A rule that cannot be read becomes
// the name of a tool that does not exist.
func parseRule(text string) permission.Rule {
	r, err := permission.ParseRule(text)
	if err != nil {
		return permission.Rule{ToolName: strings.TrimSpace(text)}
	}
	return r
}

// ruleSet are the rules of one behavior, ready to be compared with calls. What
// package policy knows is compared as the CLI does it: shell commands by their
// parts, files by their paths, addresses by their hosts. Others, about tools
// that only the agent knows, are compared as texts.
type ruleSet struct {
	known *policy.Rules // nil: none
	all   []permission.Rule
}

// newRuleSet sorts the rules of a behavior.
func newRuleSet(rules []ruling, b permission.Behavior, cwd string) ruleSet {
	var set ruleSet
	var known []string
	for _, r := range rules {
		if r.behavior != b {
			continue
		}
		if _, err := policy.ParseRules(r.String()); err == nil {
			known = append(known, r.String())
		}
		set.all = append(set.all, r.Rule)
	}
	// Together, because each part of a command may fit another rule.
	if parsed, err := policy.ParseRules(known...); err == nil && len(known) > 0 {
		set.known = parsed
		if cwd != "" {
			set.known = parsed.At(cwd)
		}
	}
	return set
}

// allows reports whether the rules, which allow, cover a call. When in doubt
// they do not.
func (set ruleSet) allows(ctx context.Context, req *permission.Request) bool {
	if set.known != nil {
		d, err := set.known.Allow()(ctx, req)
		if err == nil && d.Behavior() == permission.BehaviorAllow {
			return true
		}
	}
	return slices.ContainsFunc(set.all, func(r permission.Rule) bool {
		return !policyKnows(r) && r.ToolName == req.ToolName && r.RuleContent == argument(req.Input)
	})
}

// catches reports whether the rules, which restrict, cover a call. When in
// doubt they do.
func (set ruleSet) catches(ctx context.Context, req *permission.Request) bool {
	if set.known != nil {
		d, err := set.known.Deny("")(ctx, req)
		if err != nil || d.Behavior() == permission.BehaviorDeny {
			return true
		}
	}
	return slices.ContainsFunc(set.all, func(r permission.Rule) bool {
		if r.ToolName != req.ToolName && !wild(r.ToolName, req.ToolName) {
			return false
		}
		if r.RuleContent == "" {
			return true
		}
		arg := argument(req.Input)
		return !policyKnows(r) && (arg == r.RuleContent || wild(r.RuleContent, arg))
	})
}

// policyKnows reports whether package policy can compare a rule.
func policyKnows(r permission.Rule) bool {
	_, err := policy.ParseRules(r.String())
	return err == nil
}

// rights determine the permissions of a session's tools: its mode, rules and
// folders.
type rights struct {
	cwd    string
	bypass bool                    // the mode without questions may be entered
	tell   func(m permission.Mode) // is called when the mode has changed

	mu      sync.Mutex
	mode    permission.Mode
	rules   []ruling
	folders []string // besides the working directory
}

func (r *rights) current() permission.Mode {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mode
}

// enter changes the mode.
func (r *rights) enter(m permission.Mode) {
	r.mu.Lock()
	r.mode = m
	r.mu.Unlock()
	r.tell(m)
}

// ruled applies the rules to a call: a denial takes precedence over a question,
// and a question over an allowance. Empty: nothing.
func (r *rights) ruled(ctx context.Context, c *Call) permission.Behavior {
	req := c.Request
	req.ToolName, req.Input, req.ToolUseID, req.Cwd = c.Name, c.input, c.ID, r.cwd
	r.mu.Lock()
	rules := r.rules
	r.mu.Unlock()
	of := func(b permission.Behavior) ruleSet { return newRuleSet(rules, b, r.cwd) }
	switch {
	case of(permission.BehaviorDeny).catches(ctx, &req):
		return permission.BehaviorDeny
	case of(permission.BehaviorAsk).catches(ctx, &req):
		return permission.BehaviorAsk
	case of(permission.BehaviorAllow).allows(ctx, &req):
		return permission.BehaviorAllow
	}
	return ""
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
// that is not known are dropped silently, as the CLI does.
func (r *rights) apply(updates []permission.Update) {
	for _, u := range updates {
		if u.Type == permission.UpdateSetMode && r.mayEnter(u.Mode) {
			r.enter(u.Mode)
		}
		r.mu.Lock()
		switch rules, folders := slices.Clone(r.rules), slices.Clone(r.folders); u.Type {
		case permission.UpdateAddRules:
			r.rules = append(rules, rulings(u)...)
		case permission.UpdateReplaceRules:
			kept := slices.DeleteFunc(rules, func(r ruling) bool {
				return r.behavior == u.Behavior && r.destination == destination(u)
			})
			r.rules = append(kept, rulings(u)...)
		case permission.UpdateRemoveRules:
			r.rules = slices.DeleteFunc(rules, func(r ruling) bool { return slices.Contains(rulings(u), r) })
		case permission.UpdateAddDirectories:
			r.folders = append(folders, u.Directories...)
		case permission.UpdateRemoveDirectories:
			r.folders = slices.DeleteFunc(folders, func(dir string) bool { return slices.Contains(u.Directories, dir) })
		}
		r.mu.Unlock()
	}
}

func rulings(u permission.Update) []ruling {
	all := make([]ruling, len(u.Rules))
	for i, r := range u.Rules {
		all[i] = ruling{r, u.Behavior, destination(u)}
	}
	return all
}

// destination returns where an update is kept: in this session unless it names
// another place.
func destination(u permission.Update) permission.Destination {
	if u.Destination == "" {
		return permission.ToSession
	}
	return u.Destination
}

// mayEnter reports whether the client may choose a mode. The one without
// questions must have been allowed at the start.
func (r *rights) mayEnter(m permission.Mode) bool {
	return m.Valid() && (m != permission.ModeBypassPermissions || r.bypass || r.current() == m)
}

// permissionRules is the answer to list_permission_rules.
func (r *rights) permissionRules() control.PermissionRules {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := control.PermissionRules{Rules: []json.RawMessage{}, WorkspaceDirectories: []string{}, OriginalCwd: r.cwd}
	for _, rule := range r.rules {
		raw, err := jsonx.Marshal(struct {
			Behavior string `json:"behavior"`
			Tool     string `json:"toolName"`
			Content  string `json:"ruleContent,omitzero"`
		}{string(rule.behavior), rule.ToolName, rule.RuleContent})
		if err == nil {
			all.Rules = append(all.Rules, raw)
		}
	}
	return all
}
