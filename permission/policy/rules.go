package policy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Rules is a list of permission rules in the syntax of the CLI:
//
//	Read                    all calls of a tool
//	mcp__docs               all tools of an MCP server; also mcp__docs__*
//	mcp__docs__get_*        tools by their names
//	Bash(git status)        exactly this command
//	Bash(git:*)             this command with any arguments; also Bash(git *)
//	Bash(npm * --dry-run)   a pattern
//	Edit(/src/**)           files below src of the project, for all tools that edit
//	Read(docs/*.md)         the same for all tools that read
//	Read(*.pem)             files of that name in any directory
//	Edit(~/notes/**)        below the home directory
//	Edit(//tmp/**)          below the root of the file system
//	WebFetch(domain:go.dev) a host
//	Agent(reviewer)         a kind of subagent
//
// Paths are patterns of gitignore. A rule that the CLI would read and never
// apply, as Write(/src/**), is an error here.
//
// Allowing is strict, denying is broad. [Rules.Allow] applies to a shell
// command only if every part of it fits a rule and nothing in it needs a shell
// to be understood: no substitutions, no variables, no wildcards, no
// redirections but to /dev/null. [Rules.Deny] applies if any part fits, also
// inside a substitution, after an assignment or behind a program that starts
// others, and if the command cannot be read at all; it does not see what a
// variable holds or what a program does. A file counts under the name it is called by and under the one that
// its symbolic links lead to: both must be allowed, one suffices to deny. A
// search that starts above a denied directory is not noticed.
type Rules struct {
	rules []rule
	root  string
}

// rule is one rule, ready to be compared.
type rule struct {
	permission.Rule
	paths *pathPattern // of a rule for Read or Edit
}

// ParseRules reads rules. The project is the working directory; [Rules.At]
// chooses another one.
func ParseRules(rules ...string) (*Rules, error) {
	root, err := filepath.Abs("")
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	list := &Rules{root: root}
	for _, text := range rules {
		parsed, err := permission.ParseRule(text)
		if err != nil {
			return nil, err
		}
		r := rule{Rule: parsed}
		if err := r.compile(); err != nil {
			return nil, fmt.Errorf("policy: rule %q: %w", text, err)
		}
		list.rules = append(list.rules, r)
	}
	return list, nil
}

// MustRules is [ParseRules] for rules that are written in a program. It panics
// if one cannot be read.
func MustRules(rules ...string) *Rules {
	list, err := ParseRules(rules...)
	if err != nil {
		panic(err)
	}
	return list
}

// At returns a copy of the rules for a project in another directory, from
// which paths in rules count. A relative dir counts from the working
// directory.
func (r *Rules) At(dir string) *Rules {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.root, dir)
	}
	return &Rules{rules: r.rules, root: filepath.Clean(dir)}
}

// Allow allows what fits one of the rules, and passes the rest.
func (r *Rules) Allow() permission.Func {
	return func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		fits, err := r.match(req, strict)
		if err != nil || !fits {
			return permission.Pass(), err
		}
		return permission.Allow(), nil
	}
}

// Deny denies what fits one of the rules, and passes the rest. The model reads
// the message.
func (r *Rules) Deny(message string) permission.Func {
	return func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		fits, err := r.match(req, broad)
		if err != nil || !fits {
			return permission.Pass(), err
		}
		return permission.Deny(message), nil
	}
}

// reading is how a rule is read: for allowing, or for denying.
type reading bool

const (
	strict reading = false
	broad  reading = true
)

// compile checks the part of a rule in parentheses.
func (r *rule) compile() (err error) {
	switch r.ToolName {
	case "Read", "Edit":
		if r.RuleContent != "" {
			r.paths, err = newPathPattern(r.RuleContent)
		}
		return err
	case "WebFetch":
		if host, ok := strings.CutPrefix(r.RuleContent, "domain:"); r.RuleContent != "" && (!ok || host == "") {
			return errors.New("want WebFetch(domain:host)")
		}
		return nil
	case "Bash", "Agent", "Task":
		return nil
	}
	if r.RuleContent == "" {
		return nil
	}
	if filePath(r.ToolName) != nil {
		return errors.New("paths go into Edit(…) for tools that write and into Read(…) for tools that read")
	}
	return fmt.Errorf("nothing can be said about the input of %s", r.ToolName)
}

// match reports whether one of the rules fits.
func (r *Rules) match(req *permission.Request, how reading) (bool, error) {
	if r.root == "" {
		return false, errors.New("policy: rules that were not parsed")
	}
	if req.ToolName == "Bash" && r.hasContent("Bash") {
		return r.matchShell(req, how)
	}
	for _, rule := range r.rules {
		fits, err := r.fits(rule, req, how)
		if fits || err != nil {
			return fits, err
		}
	}
	return false, nil
}

func (r *Rules) fits(rule rule, req *permission.Request, how reading) (bool, error) {
	if rule.RuleContent == "" {
		return sameTool(rule.ToolName, req.ToolName), nil
	}
	switch rule.ToolName {
	case "Read", "Edit":
		return r.fitsPath(rule, req, how)
	case "WebFetch":
		return rule.fitsHost(req)
	case "Agent", "Task":
		return rule.fitsAgent(req)
	}
	return false, nil
}

// sameTool compares names. The tool that starts subagents has two.
func sameTool(pattern, name string) bool {
	if pattern == name || pattern == "Task" && name == "Agent" || pattern == "Agent" && name == "Task" {
		return true
	}
	if !strings.HasPrefix(pattern, "mcp__") {
		return false
	}
	if !strings.Contains(strings.TrimPrefix(pattern, "mcp__"), "__") && strings.HasPrefix(name, pattern+"__") {
		return true
	}
	return strings.Contains(pattern, "*") && wildcard(pattern).MatchString(name)
}

func (r rule) fitsHost(req *permission.Request) (bool, error) {
	if req.ToolName != "WebFetch" {
		return false, nil
	}
	var in struct {
		URL string `json:"url"`
	}
	if err := decode(req, &in); err != nil {
		return false, err
	}
	u, err := url.Parse(in.URL)
	if err != nil {
		return false, errors.New("policy: the address cannot be read")
	}
	return strings.EqualFold(u.Hostname(), strings.TrimPrefix(r.RuleContent, "domain:")), nil
}

func (r rule) fitsAgent(req *permission.Request) (bool, error) {
	if !sameTool("Agent", req.ToolName) {
		return false, nil
	}
	var in struct {
		Type string `json:"subagent_type"`
	}
	if err := decode(req, &in); err != nil {
		return false, err
	}
	return in.Type == r.RuleContent, nil
}

func (r *Rules) hasContent(tool string) bool {
	for _, rule := range r.rules {
		if rule.ToolName == tool && rule.RuleContent != "" {
			return true
		}
	}
	return false
}

// decode reads an input by the rules of the protocol: names match exactly, as
// they do for the CLI, and a repeated name is refused.
func decode(req *permission.Request, v any) error {
	if err := jsonx.Unmarshal(req.Input, v); err != nil {
		return fmt.Errorf("policy: input of %s: %w", req.ToolName, err)
	}
	return nil
}
