package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/sandbox"
)

// ask asks a CLI something and returns what its model was asked, the last call first.
func (r *real) ask(t *testing.T, prompt string) (*message.Result, *claudetest.ModelCall) {
	t.Helper()
	res, err := claude.Ask(t.Context(), prompt, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	calls := r.calls()
	return res, calls[len(calls)-1]
}

// The model reads each form of a system prompt, and the session has its title.
func TestRealPromptsElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "all forms of a system prompt")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		r := realCLI(t, claudetest.Say("done").Forever())
		at.move(r)
		r.opts.SystemPrompt, r.opts.Title = claude.SystemPrompt{Preset: true, Append: "Really.", Static: true}, "About sheep"
		res, preset := r.ask(t, "hello")
		first := r.transcript(t, res.SessionID)
		r.opts.SystemPrompt, r.opts.Title = claude.SystemPrompt{Sections: []string{"You count.", "Sheep only."}, Fresh: true}, ""
		res, sections := r.ask(t, "hello")
		r.opts.SystemPrompt = claude.SystemPrompt{Text: "You are a lighthouse."}
		_, text := r.ask(t, "hello")
		at.shows(t, effects{
			"SystemPrompt.Preset":   has(preset.System, "# Harness") && !has(text.System, "# Harness"),
			"SystemPrompt.Append":   has(preset.System, "Really."),
			"SystemPrompt.Static":   !has(preset.System, r.dir) && has(string(preset.Raw), r.dir),
			"SystemPrompt.Sections": has(sections.System, "You count.", "Sheep only."),
			"SystemPrompt.Fresh":    has(first, "prompt_snapshot") && !has(r.transcript(t, res.SessionID), "prompt_snapshot"),
			"SystemPrompt.Text":     has(text.System, "You are a lighthouse.") && !has(text.System, "Sheep only."),
			"Title":                 has(first, `"customTitle":"About sheep"`),
		}, "the model was told %q, %q, %q", preset.System, sections.System, text.System)
	})
}

// A plugin is there with its skill, its command and its hook, and an agent answers.
func TestRealPluginElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "choosing skills")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
			switch {
			case has(c.System, "You count sheep."):
				return claudetest.Say("seven sheep")
			case len(c.ToolResults) > 0:
				return claudetest.Say("one two three four").Chunks(4, 0)
			}
			return claudetest.UseTools(claudetest.ScriptedCall{Name: "Skill", Input: map[string]string{"skill": "box:greet"}},
				claudetest.ScriptedCall{Name: "Agent", Input: map[string]any{"subagent_type": "shepherd", "description": "count", "prompt": "Count.", "run_in_background": false}})
		}))
		at.move(r)
		plugin := writePlugin(t)
		writeFiles(t, plugin, map[string]string{
			"commands/shout.md": "---\ndescription: shouts\n---\nShout $ARGUMENTS to the hills.\n",
			"hooks/hooks.json":  `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"cat \"${CLAUDE_PLUGIN_ROOT}/said\""}]}]}}`,
			"said":              "the plugin has heard it",
		})
		r.opts.Plugins = []control.PluginConfig{{Path: plugin}}
		r.opts.Skills = []string{"box:greet"}
		r.opts.Agents = map[string]claude.AgentDefinition{"shepherd": {Description: "counts sheep", Prompt: "You count sheep."}}
		r.opts.ForwardSubagentText, r.opts.PartialMessages = true, true
		var partial strings.Builder
		forwarded := ""
		for msg, err := range claude.Query(t.Context(), "/box:shout loudly", r.opts) {
			if err != nil {
				t.Fatal(err)
			}
			switch m := msg.(type) {
			case *message.StreamEvent:
				partial.WriteString(m.Text())
			case *message.Assistant:
				if m.ParentToolUseID != "" {
					forwarded += m.Text()
				}
			}
		}
		calls := r.calls()
		first, results := string(calls[0].Raw), calls[len(calls)-1].ToolResults
		counted := len(results) == 2 && has(results[1].Text, "seven sheep")
		at.shows(t, effects{
			"Plugins":             has(first, "Shout loudly to the hills.", "the plugin has heard it") && len(results) == 2 && has(results[0].Text, "box:greet"),
			"Skills":              has(first, "greets people") && !has(first, "does other things"),
			"Agents":              counted,
			"ForwardSubagentText": forwarded == "seven sheep",
			"PartialMessages":     has(partial.String(), "one two three four"),
		}, "results %+v, forwarded %q, partial %q, asked %s", results, forwarded, partial.String(), first)
	})
}

// Settings of each kind hold, with the files that the CLI finds where it is; it runs there, and
// not here.
func TestRealSettingsElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "ManagedSettings")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		said := func(command string) claudetest.Reply {
			return claudetest.UseTool("Bash", map[string]string{"command": command})
		}
		r := realCLI(t, said(`echo "[$OURS $USER_FILE $PROJECT_FILE $TEST_OWN]"; hostname; pwd; readlink /proc/$PPID/exe`), said("touch made"), claudetest.Say("done"))
		at.move(r)
		writeFiles(t, r.home, map[string]string{".claude/settings.json": `{"env":{"USER_FILE":"user"}}`})
		writeFiles(t, r.dir, map[string]string{
			".claude/settings.json": `{"env":{"PROJECT_FILE":"project"},"enableAllProjectMcpServers":true}`,
			".mcp.json":             `{"mcpServers":{"found":{"command":"false"}}}`,
		})
		o := r.opts
		o.AllowedTools, o.Env = []string{"Bash"}, append(o.Env, "CLAUDE_TEST_OWN=own")
		o.SettingSources = []claude.SettingSource{claude.SettingSourceProject}
		o.Settings = map[string]any{"env": map[string]string{"OURS": "ours", "TEST_OWN": "own"}}
		o.ManagedSettings = map[string]any{"permissions": map[string]any{"deny": []string{"Bash(touch:*)"}}}
		var servers []string
		var res *message.Result
		for _, strict := range []bool{false, true} {
			o.StrictMCPConfig = strict
			servers = append(servers, fmt.Sprint("strict ", strict))
			for msg, err := range claude.Query(t.Context(), "say it", o) {
				if err != nil {
					t.Fatal(err)
				}
				switch m := msg.(type) {
				case *message.Init:
					for _, s := range m.MCPServers {
						servers = append(servers, s.Name)
					}
				case *message.Result:
					if !strict {
						res = m
					}
				}
			}
		}
		out := r.calls()[1].ToolResults[0].Text
		at.shows(t, effects{
			"Settings":        has(out, "[ours"),
			"SettingSources":  has(out, "ours  project"),
			"Env":             has(out, "project own]"),
			"Transport":       has(out, "\nclaude\n"),
			"Cwd":             has(out, "\n"+r.dir+"\n"),
			"CLIPath":         has(out, r.opts.CLIPath),
			"ManagedSettings": len(res.PermissionDenials) == 1 && content(filepath.Join(r.dir, "made")) == "",
			"StrictMCPConfig": slices.Equal(servers, []string{"strict false", "found", "strict true"}),
		}, "the command said %q, denials %+v, servers %q", out, res.PermissionDenials, servers)
	})
}

// Files are kept and restored, and a budget ends a turn, as the number of calls does.
func TestRealFilesAndLimitsElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "FileCheckpointing and MaxBudgetUSD")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		r := realCLI(t)
		at.move(r)
		path := filepath.Join(r.dir, "edited.txt")
		writeFiles(t, r.dir, map[string]string{"edited.txt": "before"})
		r.model.Add(claudetest.UseTool("Read", map[string]any{"file_path": path}), write(path, "after"), claudetest.Say("done"))
		r.opts.AllowedTools, r.opts.FileCheckpointing = []string{"Read", "Write", "Bash"}, true
		s := r.connect(t)
		id, err := s.Send(t.Context(), "change it")
		if err != nil {
			t.Fatal(err)
		}
		until[*message.Result](t, s)
		changed := content(path)
		if _, err := s.Files().Rewind(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		ends := make(map[string]bool)
		limited := *r.opts
		limited.FileCheckpointing = false
		r.opts = &limited
		r.model.Add(claudetest.UseTool("Bash", map[string]string{"command": "true"}).Forever())
		for want, set := range map[string]func(*claude.Options){
			message.ResultErrorMaxTurns:  func(o *claude.Options) { o.MaxTurns = 2 },
			message.ResultErrorMaxBudget: func(o *claude.Options) { o.MaxBudgetUSD = 0.000001 },
		} {
			own := limited
			set(&own)
			res, _ := claude.Ask(t.Context(), "continue", &own)
			ends[want] = res != nil && res.Subtype == want
		}
		at.shows(t, effects{
			"FileCheckpointing": changed == "after" && content(path) == "before",
			"MaxTurns":          ends[message.ResultErrorMaxTurns],
			"MaxBudgetUSD":      ends[message.ResultErrorMaxBudget],
		}, "changed to %q, rewound to %q, ends %v", changed, content(path), ends)
	})
}

// What the CLI says when it does not start is heard, and an API that does not answer is given
// up in time.
func TestRealFailuresElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "reports of failed calls")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		r := realCLI(t, claudetest.Say("late").After(time.Hour).Forever())
		at.move(r)
		heard := make(chan string, 100)
		own := *r.opts
		own.ExtraArgs, own.Stderr = []string{"--no-such-flag"}, func(line string) { heard <- line }
		if _, err := claude.Ask(t.Context(), "hello", &own); err == nil {
			t.Error("a flag that does not exist was taken")
		}
		line := ""
		select {
		case line = <-heard:
		case <-time.After(10 * time.Second): // the check below says so
		}
		r.opts.MaxRetries, r.opts.Timeouts.API = claude.NoRetries, time.Second
		_, err := claude.Ask(t.Context(), "hello", r.opts)
		at.shows(t, effects{
			"Stderr":       has(line, "--no-such-flag"),
			"Timeouts.API": err != nil && has(err.Error(), "timed out"),
		}, "heard %q, %v", line, err)
	})
}

// The question of an MCP server that runs there is asked here, and so is a dialog of the CLI.
func TestRealQuestionsElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "elicitations and dialogs")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
			switch {
			case has(c.Model, "fable"):
				return claudetest.Say("").StopReason("refusal")
			case len(c.ToolResults) > 0:
				return claudetest.Say("done")
			}
			return claudetest.UseTool("mcp__eli__ask", map[string]any{})
		}))
		at.move(r)
		r.withMCP(t)
		o := r.opts
		o.OnElicitation = func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Accept(map[string]string{"name": "Ada"}), nil
		}
		// A model that refuses lets the CLI ask whether it should try another.
		o.Model, o.Settings = "fable", map[string]any{"switchModelsOnFlag": false}
		o.Env = append(o.Env, "CLAUDE_CODE_REFUSAL_FALLBACK_CATCH_ALL=1")
		dialogs := make(chan string, 10)
		o.DialogKinds = []string{"refusal_fallback_prompt"}
		o.OnUserDialog = func(_ context.Context, d *control.Dialog) (control.DialogAnswer, error) {
			dialogs <- d.Kind
			return control.CompleteDialog("retry_fallback"), nil
		}
		_, last := r.ask(t, "ask me")
		close(dialogs)
		kind, answered := <-dialogs, r.lastResult(t).Text
		at.shows(t, effects{
			"DialogKinds":   kind == "refusal_fallback_prompt",
			"OnUserDialog":  has(last.Model, "opus"),
			"OnElicitation": has(answered, `"content":{"name":"Ada"}`),
		}, "a dialog %q, the last model was %s, the server was told %q", kind, last.Model, answered)
	})
}

// The sandbox for commands works in the other root, with the stand-in that is there.
func TestRealSandboxElsewhere(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "refusing to start without a sandbox")
	inAnotherRoot(t, func(t *testing.T, at *place) {
		r := realCLI(t, claudetest.UseTool("Bash", map[string]string{"command": "echo inside"}), claudetest.Say("done"))
		at.move(r)
		tools, noted := confiner(t)
		form := r.opts.Transport.(*sandbox.Bubblewrap)
		form.Mounts = append(form.Mounts, sandbox.Mount{Source: tools, Target: "/usr/local/bin"}) // first in PATH
		secret := t.TempDir()
		r.opts.AllowedTools = []string{"Bash"}
		r.opts.Sandbox = &claude.Sandbox{Enabled: true, Filesystem: claude.SandboxFilesystem{DenyRead: []string{secret}}}
		r.ask(t, "say it")
		said, confined := r.lastResult(t), content(noted)
		at.shows(t, effects{"Sandbox": said.Text == "inside" && has(confined, "--unshare-net", "--tmpfs "+secret, "echo inside")},
			"the command said %+v, bubblewrap was told %s", said, confined)
	})
}
