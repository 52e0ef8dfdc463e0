package approval

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// NeedsRules returns an [Options.Needs] by which a call needs a person if it fits one
// of the rules, in the syntax of [policy.Rules]:
//
//	Needs: approval.NeedsRules("Write", "Edit", "Bash(git push:*)")
//
// Rules are read broadly, like those that deny: a shell command that cannot be
// understood before it runs fits every rule about commands. Paths are relative to
// the directory in which the CLI was started, and to the one in which it works
// now. Without rules no call needs a person.
//
// NeedsRules panics if a rule cannot be parsed; for rules that are not written in the
// program, see [policy.ParseRules].
func NeedsRules(rules ...string) func(ctx context.Context, in *hook.PreToolUseInput) (reason string, needed bool) {
	parsed := make([]*policy.Rules, len(rules))
	for i, text := range rules {
		parsed[i] = policy.MustRules(text)
	}
	return func(ctx context.Context, in *hook.PreToolUseInput) (string, bool) {
		for i, rule := range parsed {
			for _, dir := range projectDirs(ctx, in) {
				d, err := rule.At(dir).Deny("a person decides")(ctx, in.Request())
				if err != nil {
					return fmt.Sprintf("the rule %s could not be applied: %v", rules[i], err), true
				}
				if d.Behavior() != "" {
					return "the rule " + rules[i] + " asks a person", true
				}
			}
		}
		return "", false
	}
}

// NeedsUnless returns an [Options.Needs] by which a call needs a person unless a
// permission function allows it unchanged:
//
//	rules := policy.MustRules("Read", "Glob", "Grep", "Bash(go test:*)")
//	Needs: approval.NeedsUnless(rules.Allow())
//
// A call that it denies, passes, fails on, or allows with another input needs a person.
// All other calls are left to the CLI's rules, as always.
func NeedsUnless(allowed permission.Func) func(ctx context.Context, in *hook.PreToolUseInput) (reason string, needed bool) {
	return func(ctx context.Context, in *hook.PreToolUseInput) (string, bool) {
		d, err := allowed(ctx, in.Request())
		_, changed := d.Input()
		switch {
		case err != nil:
			return fmt.Sprintf("it could not be checked: %v", err), true
		case d.Behavior() == permission.BehaviorAllow && !changed:
			return "", false
		case d.Behavior() == permission.BehaviorDeny && d.Message() != "":
			return d.Message(), true
		}
		return "no rule allows it", true
	}
}

// projectKey is the directory in which the CLI was started, in the context of Needs.
type projectKey struct{}

// needsContext returns the context for Needs.
func (g *Gate) needsContext(ctx context.Context) context.Context {
	g.mu.Lock()
	project := g.project
	g.mu.Unlock()
	return context.WithValue(context.WithValue(ctx, conversationKey{}, g.conversation), projectKey{}, project)
}

// setProject records where the CLI is started. A command that later changes the
// directory does not move the files that rules are about.
func (g *Gate) setProject(cwd string) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return // the directory of this program is gone: only the CLI's report is left
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.project = abs
}

// projectDirs returns the directories that paths of rules may be relative to.
func projectDirs(ctx context.Context, in *hook.PreToolUseInput) []string {
	var dirs []string
	if project, _ := ctx.Value(projectKey{}).(string); project != "" {
		dirs = append(dirs, project)
	}
	if in.Cwd != "" && (len(dirs) == 0 || in.Cwd != dirs[0]) {
		dirs = append(dirs, in.Cwd)
	}
	if len(dirs) == 0 {
		dirs = append(dirs, ".")
	}
	return dirs
}
