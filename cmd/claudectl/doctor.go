package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// doctorCommand is "claudectl doctor".
type doctorCommand struct {
	CLI string `name:"cli" placeholder:"PATH" complete:"file" help:"The CLI to use. Default: the \"claude\" that is installed."`
	Cwd string `placeholder:"DIR" help:"The working directory, whose settings apply."`
}

// grade is the severity of a finding.
type grade string

const (
	gradeOK   grade = "ok"
	gradeWarn grade = "warning" // it works, but less well than it could
	gradeFail grade = "failed"
)

// finding is one thing that was looked at.
type finding struct {
	Name   string `json:"name"`
	Grade  grade  `json:"grade"`
	Detail string `json:"detail"`
	// Advice describes the remedy.
	Advice string `json:"advice,omitzero"`
	// Items are the parts of a finding that is a list.
	Items []string `json:"items,omitzero"`
}

// checkup holds doctor's findings, in the order of its checks.
type checkup struct {
	CLI      string    `json:"cli"`
	Version  string    `json:"version"`
	Findings []finding `json:"findings"`
}

func (u *checkup) add(f finding) { u.Findings = append(u.Findings, f) }

func (u *checkup) failed() bool {
	for _, f := range u.Findings {
		if f.Grade == gradeFail {
			return true
		}
	}
	return false
}

// Run looks at everything that a session needs, and starts one. It sends no
// prompt, so it costs nothing.
func (d *doctorCommand) Run(c *console) error {
	ctx, release := endOnSignal(c.ctx)
	defer release()
	var u checkup
	code := d.examine(ctx, c, &u)
	if ctx.Err() != nil {
		return because(ctx, ctx.Err())
	}
	if c.json {
		if err := c.emit(u); err != nil {
			return err
		}
	} else {
		u.write(c)
	}
	if code != exitOK {
		return &failure{code: code} // the findings have said why
	}
	if u.failed() {
		return &failure{code: exitFindings}
	}
	return nil
}

// examine makes the findings. The exit code is that of a CLI that cannot be
// started, otherwise 0.
func (d *doctorCommand) examine(ctx context.Context, c *console, u *checkup) exitCode {
	path, err := proc.Find(d.CLI, c.env)
	if err != nil {
		code := exitStart
		if _, ok := errors.AsType[*proc.NotFoundError](err); ok {
			code = exitNotFound
		}
		u.add(finding{"cli", gradeFail, err.Error(), adviceOf(code), nil})
		return code
	}
	u.CLI = path
	u.add(finding{"cli", gradeOK, path, "", nil})
	mark := newMark()
	opts := &claude.Options{CLIPath: path, Cwd: d.Cwd, Env: append(c.agentEnv(), mark.entry()), MCPServers: mark.helper()}
	began := time.Now()
	session, err := claude.Connect(ctx, opts)
	if err != nil {
		u.add(finding{"handshake", gradeFail, err.Error(), adviceOf(codeOf(err)), nil})
		return codeOf(err)
	}
	u.add(finding{"handshake", gradeOK, "answered in " + brief.Seconds(time.Since(began)), "", nil})
	info := session.Info()
	u.Version = info.CLIVersion
	if u.Version == "" {
		u.Version = askVersion(ctx, path, opts.Env)
	}
	u.add(checkVersion(u.Version))
	u.add(checkAccount(c, info.Account))
	u.add(listed("models", modelNames(info.Models), "model"))
	u.add(listed("commands", commandNames(session.Commands()), "command"))
	mcp, helped := checkMCP(ctx, session)
	u.add(mcp)
	if helped {
		mark.await(ctx)
	}
	u.add(checkStop(session, mark))
	return exitOK
}

// adviceOf returns the remedy for a CLI that cannot be started.
func adviceOf(code exitCode) string {
	switch code {
	case exitNotFound:
		return "install the CLI (npm install -g @anthropic-ai/claude-code), or name it with --cli"
	case exitVersion:
		return "update the CLI: claude update"
	case exitUsage:
		return "correct the option"
	}
	return "run the CLI by itself (claude --version), and read what it says"
}

// checkAccount names the credential in use. The credential itself is never looked at.
// The name of a provider is not a credential: the CLI reports one without any. Bedrock,
// Vertex and others have credentials of their own, which the CLI does not report.
func checkAccount(c *console, a control.Account) finding {
	var kinds []string
	for _, kind := range []struct{ name, value string }{
		{"subscription", a.SubscriptionType}, {"token", a.TokenSource}, {"API key", a.APIKeySource},
	} {
		if kind.value != "" && kind.value != "none" {
			kinds = append(kinds, kind.name+": "+kind.value)
		}
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if c.variable(name) != "" && name != a.TokenSource && name != a.APIKeySource {
			kinds = append(kinds, name+" is set")
		}
	}
	const advice = "run claude and sign in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"
	switch {
	case len(kinds) > 0:
	case a == (control.Account{}): // an old version, which does not report one
		return finding{"account", gradeWarn, "the CLI does not say which credential it has", advice, nil}
	case a.APIProvider != "" && a.APIProvider != firstParty:
		return finding{"account", gradeWarn, "the credentials of " + a.APIProvider + ", which the CLI does not check before the first prompt",
			"if prompts fail, look at the credentials of " + a.APIProvider, nil}
	default:
		return finding{"account", gradeFail, "no credential", advice, nil}
	}
	if a.APIProvider != "" && a.APIProvider != firstParty {
		kinds = append(kinds, "provider: "+a.APIProvider)
	}
	return finding{"account", gradeOK, strings.Join(kinds, ", "), "", nil}
}

// firstParty is the CLI's name for the provider that is not a cloud.
const firstParty = "firstParty"

func listed(name string, items []string, thing string) finding {
	if len(items) == 0 {
		return finding{name, gradeWarn, "the CLI lists none", "newer versions do: claude update", nil}
	}
	return finding{name, gradeOK, brief.Count(len(items), thing), "", items}
}

func modelNames(models []control.ModelInfo) []string {
	var names []string
	for _, m := range models {
		names = append(names, m.Value)
	}
	return names
}

func commandNames(commands []control.Command) []string {
	var names []string
	for _, m := range commands {
		names = append(names, "/"+m.Name)
	}
	return names
}

// checkMCP reports the state of the MCP servers in the settings, and whether the
// CLI knows the helper.
func checkMCP(ctx context.Context, session *claude.Session) (f finding, helped bool) {
	servers, err := session.MCP().Status(ctx)
	if err != nil {
		return finding{"mcp", gradeWarn, err.Error(), "newer versions answer: claude update", nil}, false
	}
	all := len(servers)
	servers = slices.DeleteFunc(servers, func(s control.MCPServerStatus) bool { return s.Name == helperName })
	f = finding{Name: "mcp", Grade: gradeOK, Detail: brief.Count(len(servers), "server")}
	for _, s := range servers {
		item := s.Name + ": " + string(s.Status)
		if s.Error != "" {
			item += ": " + s.Error
		}
		f.Items = append(f.Items, item)
		if s.Status == control.MCPFailed || s.Status == control.MCPNeedsAuth {
			f.Grade, f.Advice = gradeWarn, "fix what the server reports, or take it out of the settings: claude mcp list"
		}
	}
	return f, len(servers) < all
}

// checkStop ends the session and looks for leftovers of its processes. One of
// them is our helper, which does not end by itself.
func checkStop(session *claude.Session, m mark) finding {
	before := m.processes()
	began := time.Now()
	err := session.Close()
	took := time.Since(began)
	if err != nil {
		return finding{"stop", gradeFail, err.Error(), "end the process by hand; it does not obey SIGKILL", nil}
	}
	if left := m.processes(); len(left) > 0 {
		return finding{"stop", gradeFail, brief.Count(len(left), "process") + " left behind",
			"end them by hand; a hook or an MCP server of the settings may have started them", left}
	}
	what := "the processes have"
	if len(before) > 0 {
		what = "a tree of " + brief.Count(len(before), "process") + " has"
	}
	return finding{"stop", gradeOK, what + " ended in " + brief.Seconds(took), "", nil}
}

// write writes the findings for people.
func (u *checkup) write(c *console) {
	colour := terminal.Coloured(c.env, c.stdout.stream)
	for _, f := range u.Findings {
		label := fmt.Sprintf("%-8s %-10s", f.Grade, f.Name)
		if colour {
			label = terminal.Paint(map[grade]string{gradeOK: terminal.Green, gradeWarn: terminal.Bold, gradeFail: terminal.Red}[f.Grade], label)
		}
		c.printf("%s %s\n", label, c.line(f.Detail))
		if len(f.Items) > 0 {
			c.printf("%20s%s\n", "", c.line(strings.Join(f.Items, ", ")))
		}
		if f.Advice != "" {
			c.printf("%20s-> %s\n", "", c.line(f.Advice))
		}
	}
}
