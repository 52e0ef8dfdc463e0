package policy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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
//	Edit(~/notes/**)        below the home directory of the CLI: HOME of Options.Env
//	Edit(//tmp/**)          below the root of the file system, with two slashes
//	WebFetch(domain:go.dev) a host; also domain:*.go.dev
//	Agent(reviewer)         a kind of subagent
//
// Paths are gitignore patterns. A rule that the CLI would accept but never
// apply, such as Write(/src/**) or Bash(:*), is an error here.
//
// Allowing is narrow and denying is broad. A command that cannot be understood
// before it runs is never allowed, and always denied by a rule about commands.
// Shell commands are parsed as bash reads them.
//
// [Rules.Allow] applies to a shell command only if every part of it fits a
// rule, nothing in it needs a shell to be understood (no substitutions, no
// variables, no wildcards, no redirections except to /dev/null), no part starts
// another program or evaluates its arguments, and no word leads out of the
// project or to a file that the CLI protects, such as .git, .claude or .bashrc.
// Nor may tools that edit write to such files. A pattern of tool names, such as
// mcp__*, allows nothing unless it names one MCP server.
//
// [Rules.Deny] applies if any command that the text may run fits: in a
// substitution, a function or a here-document, in a script passed to a shell,
// behind a program that starts others, and with options between its words. For
// an unknown program, every argument may be such a command. It also applies if
// the text cannot be understood: a name made by an expansion, a script piped
// into a shell, code that may start anything. Rules for Bash also deny the
// commands of Monitor.
//
// A path with one slash at its front belongs to the project, as with the CLI.
// [Rules.Deny] takes Read(/etc/passwd) for the file /etc/passwd as well, because
// most people mean that.
//
// Rules for Read deny commands that name such a file. Rules for Edit deny
// commands that name it to a well-known program that writes, or redirect to it.
// Wildcards, braces, cd, links that the command makes first, variables with
// known values and the names that find and xargs hand on count. A name that is
// unknown before the command runs counts for programs that are known to open
// it. An address that programs read in different ways is denied by every rule
// for hosts.
//
// Deny does not see the effects of a program, such as those of a script written
// earlier, or which files a search or a copy of a directory above finds.
//
// No rule sees a file that a prompt names as @path, because the CLI reads it
// without asking. Set Options.VerbatimPrompts, or use claude.EscapePrompt. The
// CLI's own rules in Options.DisallowedTools do apply there.
//
// A file counts under its own name and under the name that its symbolic links
// lead to: both must be allowed, and one is enough to deny.
//
// Grep prints files that its call does not name. Deny applies if its globs may
// select a file of a rule for Read and the directory has one. A directory that
// is not on this machine, or is too large to look through, counts as one that
// has. [Rules.Narrow] adds globs that leave such files out. Glob only prints
// names, and is denied inside such a directory only.
type Rules struct {
	rules []rule
	root  string
	user  string // the home directory, if the context of a call names it
	looks *int   // how many paths may still be looked up for one call; nil: no limit
}

// rule is one rule, ready to be compared.
type rule struct {
	permission.Rule
	paths *pathPattern   // of a rule for Read or Edit
	stars *regexp.Regexp // of a tool's name or a command with stars in it
}

// ParseRules parses rules. The project is the working directory; use
// [Rules.At] to choose another one.
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

// MustRules is like [ParseRules], for rules written in a program. It panics if
// a rule cannot be parsed.
func MustRules(rules ...string) *Rules {
	list, err := ParseRules(rules...)
	if err != nil {
		panic(err)
	}
	return list
}

// At returns a copy of the rules for a project in another directory. Paths in
// rules are relative to it. A relative dir is relative to the working
// directory.
func (r *Rules) At(dir string) *Rules {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.root, dir)
	}
	return &Rules{rules: r.rules, root: filepath.Clean(dir)}
}

// of returns the rules for a call: a tilde in them is the home of the CLI that
// asks, not that of this program.
func (r *Rules) of(ctx context.Context) *Rules {
	called := *r
	called.user, _ = permission.HomeFrom(ctx)
	return &called
}

// Allow allows calls that fit one of the rules, and passes the rest. It also
// passes calls that the CLI asks about for safety, see
// [permission.Request.ReasonType], because no rule of the CLI would answer that
// question.
func (r *Rules) Allow() permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		r := r.of(ctx)
		if req.ReasonType == "safetyCheck" {
			return permission.Pass(), nil
		}
		fits, err := r.match(req, strict)
		if err != nil || !fits {
			return permission.Pass(), err
		}
		if guarded, err := r.writesProtected(req); guarded || err != nil {
			return permission.Pass(), err
		}
		return permission.Allow(), nil
	}
}

// Deny denies calls that fit one of the rules, and passes the rest. The model
// reads the message, and for a search how to leave such files out.
func (r *Rules) Deny(message string) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		r := r.of(ctx)
		fits, err := r.match(req, broad)
		if err != nil || fits {
			return denyIf(fits, message), err
		}
		advice, prints, err := r.greps(ctx, req)
		return denyIf(prints, strings.TrimSpace(message+" "+advice)), err
	}
}

func denyIf(fits bool, message string) permission.Decision {
	if !fits {
		return permission.Pass()
	}
	return permission.Deny(message)
}

// reading is how a rule is read: for allowing, or for denying.
type reading bool

const (
	strict reading = false
	broad  reading = true
)

// compile checks the part of a rule in parentheses.
func (r *rule) compile() (err error) {
	if r.RuleContent == "" && strings.Contains(r.ToolName, "*") {
		r.stars = wildcard(r.ToolName)
		return nil
	}
	switch r.ToolName {
	case "Read", "Edit":
		if r.RuleContent != "" {
			r.paths, err = newPathPattern(r.RuleContent)
		}
		return err
	case "WebFetch":
		host, ok := strings.CutPrefix(r.RuleContent, "domain:")
		if r.RuleContent == "" {
			return nil
		}
		if !ok || host == "" {
			return errors.New("want WebFetch(domain:host)")
		}
		r.stars = wildcard(strings.ToLower(host))
		return nil
	case "Bash":
		if r.RuleContent == "" {
			return nil
		}
		if r.RuleContent == ":*" {
			return errors.New("the CLI never applies it: write Bash for all commands")
		}
		r.stars = wildcard(r.RuleContent)
		return nil
	case "Agent", "Task":
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
	for _, rule := range r.rules {
		fits, err := r.fits(rule, req, how)
		if fits || err != nil {
			return fits, err
		}
	}
	// The input of Monitor is a command too. It may be denied as one; allowing
	// it takes a rule with its name.
	if (req.ToolName == "Bash" || req.ToolName == "Monitor" && how == broad) && r.hasContent("Bash", "Read", "Edit") {
		return r.matchShell(req, how)
	}
	return false, nil
}

func (r *Rules) fits(rule rule, req *permission.Request, how reading) (bool, error) {
	if rule.RuleContent == "" {
		return rule.fitsTool(req.ToolName, how), nil
	}
	switch rule.ToolName {
	case "Read", "Edit":
		return r.fitsPath(rule, req, how)
	case "WebFetch":
		return rule.fitsHost(req, how)
	case "Agent", "Task":
		return rule.fitsAgent(req, how)
	}
	return false, nil
}

// fitsTool compares names. The tool that starts subagents has two. A pattern of
// names allows no tools but those of one MCP server, as with the CLI.
func (r rule) fitsTool(name string, how reading) bool {
	if r.stars != nil {
		server, _, whole := strings.Cut(strings.TrimPrefix(r.ToolName, "mcp__"), "__")
		oneServer := strings.HasPrefix(r.ToolName, "mcp__") && whole && server != "" && !strings.Contains(server, "*")
		return (how == broad || oneServer) && r.stars.MatchString(name)
	}
	switch {
	case r.ToolName == name, r.ToolName == "Task" && name == "Agent", r.ToolName == "Agent" && name == "Task":
		return true
	case r.ToolName == "Bash" && name == "Monitor":
		return how == broad
	}
	server, ok := strings.CutPrefix(r.ToolName, "mcp__")
	return ok && server != "" && !strings.Contains(server, "__") && strings.HasPrefix(name, r.ToolName+"__")
}

func (r rule) fitsAgent(req *permission.Request, how reading) (bool, error) {
	if req.ToolName != "Agent" && req.ToolName != "Task" {
		return false, nil
	}
	var in struct {
		Type string `json:"subagent_type"`
	}
	if err := decode(req, &in); err != nil {
		return false, err
	}
	if in.Type == "" { // the CLI chooses the type
		return how == broad, nil
	}
	return in.Type == r.RuleContent, nil
}

// hasContent reports whether there is a rule with content for one of the tools.
func (r *Rules) hasContent(tools ...string) bool {
	return slices.ContainsFunc(r.rules, func(rule rule) bool {
		return rule.RuleContent != "" && slices.Contains(tools, rule.ToolName)
	})
}

// decode reads an input by the rules of the protocol: names match exactly, as
// they do for the CLI, and a repeated name is refused.
func decode(req *permission.Request, v any) error {
	if err := jsonx.Unmarshal(req.Input, v); err != nil {
		return fmt.Errorf("policy: input of %s: %w", req.ToolName, err)
	}
	return nil
}
