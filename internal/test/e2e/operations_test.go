package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// TestRealControlOperations calls the operations once each, in one session.
func TestRealControlOperations(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "most operations")
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("aside"))
	r.model.HandleSide(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say(`{"title":"About sheep"}`) })
	sub := filepath.Join(r.dir, "sub")
	file := filepath.Join(sub, "a.txt")
	if err := errors.Join(os.MkdirAll(sub, 0o755), os.WriteFile(file, []byte("hi\xff"), 0o644)); err != nil {
		t.Fatal(err)
	}
	r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
	s := r.connect(t)
	if _, err := s.Ask(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	type c = context.Context
	for name, call := range map[string]func(c) (bool, error){
		"AskSideQuestion": func(ctx c) (bool, error) {
			a, err := s.AskSideQuestion(ctx, "what?")
			return a.Response == "aside" && !a.Synthetic, err
		},
		"Usage": func(ctx c) (bool, error) {
			u, err := s.Usage(ctx)
			return u.Session.TotalCostUSD > 0 && len(u.Session.ModelUsage) > 0, err
		},
		"Cost": func(ctx c) (bool, error) {
			v, err := s.Cost(ctx)
			return strings.Contains(v.Text, "Total cost"), err
		},
		"ContextUsage": func(ctx c) (bool, error) {
			u, err := s.ContextUsage(ctx)
			return u.TotalTokens > 0 && len(u.Categories) > 0 && u.Model != "", err
		},
		"Models":        func(ctx c) (bool, error) { m, err := s.Models(ctx); return len(m) > 0 && m[0].Value != "", err },
		"BinaryVersion": func(ctx c) (bool, error) { v, err := s.BinaryVersion(ctx); return v.Version == realcli.Tested(), err },
		"Settings": func(ctx c) (bool, error) {
			v, err := s.Settings().Get(ctx)
			return len(v.Effective) > 0 && v.Applied.Model != "", err
		},
		"SaveSettings": func(ctx c) (bool, error) {
			err := s.Settings().Save(ctx, claude.SettingSourceLocal, map[string]any{"outputStyle": "default"})
			_, stat := os.Stat(filepath.Join(r.dir, ".claude", "settings.local.json"))
			return stat == nil, err
		},
		"PermissionRules": func(ctx c) (bool, error) {
			v, err := s.Settings().PermissionRules(ctx)
			return v.OriginalCwd == r.dir, err
		},
		"Hooks": func(ctx c) (bool, error) { v, err := s.Settings().Hooks(ctx); return len(v.Catalog) > 20, err },
		"ReloadPlugins": func(ctx c) (bool, error) {
			v, err := s.Settings().ReloadPlugins(ctx)
			return len(v.Commands) > 0 && len(v.Agents) > 0 && v.ErrorCount == 0, err
		},
		"ReloadSkills": func(ctx c) (bool, error) {
			v, err := s.Settings().ReloadSkills(ctx)
			return len(v) > 0 && v[0].Name != "", err
		},
		"ReloadOutputStyles": func(ctx c) (bool, error) { v, err := s.Settings().ReloadOutputStyles(ctx); return len(v) > 0, err },
		"ReadFile": func(ctx c) (bool, error) {
			f, err := s.Files().Read(ctx, "sub/a.txt", 0)
			data, decodeErr := f.Bytes()
			return string(data) == "hi\xff" && f.Path == file, errors.Join(err, decodeErr)
		},
		"SuggestFiles": func(ctx c) (bool, error) {
			for { // the CLI answers before it has looked
				v, err := s.Files().Suggest(ctx, "a.t")
				if err != nil || len(v.Suggestions) > 0 {
					return err == nil && v.Cwd == r.dir && v.Suggestions[0].Path == "sub/a.txt", err
				}
			}
		},
		"SeedReadState":    func(ctx c) (bool, error) { return true, s.Files().SeedReadState(ctx, file, time.Now()) },
		"RegisterRepoRoot": func(ctx c) (bool, error) { v, err := s.Files().RegisterRepoRoot(ctx, sub); return v == sub, err },
		"SetThinking": func(ctx c) (bool, error) {
			return true, s.SetThinking(ctx, claude.Thinking{Mode: claude.ThinkingEnabled, Budget: 2000})
		},
		"SetModel": func(ctx c) (bool, error) { return true, errors.Join(s.SetModel(ctx, "haiku"), s.SetModel(ctx, "")) },
		"SetPermissionMode": func(ctx c) (bool, error) {
			return true, errors.Join(s.SetPermissionMode(ctx, permission.ModePlan), s.SetPermissionMode(ctx, permission.ModeDefault))
		},
		"SetMCPPermissionMode": func(ctx c) (bool, error) {
			w, err := s.MCP().SetPermissionMode(ctx, "clock", "default")
			return w == "", err
		},
		"MCPServerStatus": func(ctx c) (bool, error) {
			v, err := s.MCP().Status(ctx)
			return len(v) == 1 && v[0].Status == control.MCPConnected, err
		},
		"Rename": func(ctx c) (bool, error) { return true, s.Rename(ctx, "A new title") },
		"GenerateTitle": func(ctx c) (bool, error) {
			title, err := s.GenerateTitle(ctx, "a talk about sheep", false)
			return title == "About sheep", err
		},
		"CancelPrompt": func(ctx c) (bool, error) { done, err := s.CancelPrompt(ctx, "unknown"); return !done, err },
		"Interrupt":    func(ctx c) (bool, error) { v, err := s.Interrupt(ctx); return len(v.StillQueued) == 0, err },
		"InterruptAll": func(ctx c) (bool, error) { v, err := s.InterruptAll(ctx); return v.Cancelled != nil, err },
		"StopTask":     func(ctx c) (bool, error) { return true, s.Tasks().Stop(ctx, "unknown") },
		"BackgroundTask": func(ctx c) (bool, error) {
			moved, err := s.Tasks().Background(ctx, "unknown")
			return !moved, errors.Join(err, s.Tasks().BackgroundAll(ctx))
		},
		"Control": func(ctx c) (bool, error) {
			var cost struct{ Text string }
			err := s.Control(ctx, "get_session_cost", nil, &cost)
			return cost.Text != "", err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		ok, err := call(ctx)
		cancel()
		if err != nil || !ok {
			t.Errorf("%s: as expected %v, error %v", name, ok, err)
		}
	}
	if len(s.Info().Agents) == 0 || len(s.Commands()) == 0 || s.Info().Account.APIKeySource == "" {
		t.Errorf("info: %d agents, %d commands, account %+v", len(s.Info().Agents), len(s.Commands()), s.Info().Account)
	}
	wantRefused(t, "CallMCPTool on an in-process server", errorOf(s.MCP().Call(t.Context(), "mcp__clock__now", nil)))
	wantRefused(t, "ReadMCPResource on an in-process server", errorOf(s.MCP().ReadResource(t.Context(), "clock", "ui://a")))
	wantRefused(t, "ReadFile outside", errorOf(s.Files().Read(t.Context(), "/etc/shadow", 0)))
	wantRefused(t, "ReadTaskOutput of nothing", errorOf(s.Tasks().Output(t.Context(), "unknown")))
	if err := s.End(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	<-s.Done()
	if s.State() != claude.StateStopped {
		t.Errorf("state %v after End", s.State())
	}
}

func wantRefused(t *testing.T, what string, err error) {
	t.Helper()
	if failed, ok := errors.AsType[*claude.ControlError](err); !ok || failed.Message == "" {
		t.Errorf("%s: error = %v, want a refusal", what, err)
	}
}

// TestRealControlSettings changes settings of a running session and sees what
// happens to them.
func TestRealControlSettings(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "changing settings")
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two"))
	s := r.connect(t)
	if err := s.Settings().Set(t.Context(), map[string]any{"model": "haiku"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if err := s.Settings().Set(t.Context(), map[string]any{"model": nil}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	calls := r.calls()
	if a, b := calls[0].Model, calls[len(calls)-1].Model; !strings.Contains(a, "haiku") || strings.Contains(b, "haiku") {
		t.Errorf("models %q and %q", a, b)
	}
}

// TestRealControlMCPCall calls a tool of an external server without the model.
func TestRealControlMCPCall(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a tool call without the model")
	r := realCLI(t)
	r.opts.MCPServers = claude.MCPServers{"asker": asker(t)}
	r.opts.OnElicitation = func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
		return control.Accept(map[string]string{"name": "Ada"}), nil
	}
	s := r.connect(t)
	if _, err := s.Ask(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	got, err := s.MCP().Call(t.Context(), "mcp__asker__ask", map[string]any{})
	if err != nil || len(got.Content) == 0 {
		t.Errorf("CallMCPTool = %s, %v", got.Raw, err)
	}
	page, err := s.MCP().ReadResource(t.Context(), "asker", "ui://asker/form")
	if err != nil || len(page) != 1 || page[0].URI != "ui://asker/form" || page[0].MIMEType != "text/html" || page[0].Text != "<p>name?</p>" {
		t.Errorf("ReadMCPResource = %+v, %v", page, err)
	}
}

// TestRealControlTasks moves a shell command to the background while the model
// waits for it. Then its output is read, and it is stopped.
func TestRealControlTasks(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "following tasks")
	r := realCLI(t,
		claudetest.UseTool("Bash", map[string]any{"command": "echo begun; sleep 600"}),
		claudetest.Say("it runs").Forever())
	r.opts.AllowedTools = []string{"Bash"}
	s := r.connect(t)
	task := ""
	for msg, err := range s.Run(t.Context(), "start it") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.TaskStarted); ok {
			task = m.TaskID
			if moved, err := s.Tasks().Background(t.Context(), m.ToolUseID); err != nil || !moved {
				t.Errorf("BackgroundTask = %v, %v", moved, err)
			}
		}
	}
	if got := r.lastResult(t); got.IsError || !strings.Contains(got.Text, task) {
		t.Errorf("the model was told %+v", got)
	}
	if task == "" {
		t.Fatal("no task was started")
	}
	var out *control.TaskOutput
	for begin := time.Now(); time.Since(begin) < 20*time.Second; {
		var err error
		if out, err = s.Tasks().Output(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		if out.TotalBytes > 0 {
			break
		}
	}
	if out.Output != "begun\n" || out.Truncated {
		t.Errorf("output %+v", out)
	}
	if err := s.Tasks().Stop(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.TaskNotification); ok && m.TaskID == task {
			if m.Status != "stopped" {
				t.Errorf("status %q", m.Status)
			}
			break
		}
	}
}

// TestRealRewindToTheByte rewinds an edit and shows which changes are not
// rewound: those of shell commands.
func TestRealRewindToTheByte(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "FileCheckpointing")
	r := realCLI(t)
	edited, shelled := filepath.Join(r.dir, "edited.txt"), filepath.Join(r.dir, "shelled.txt")
	const before = "line one\r\nline two\nno newline at the end: \u00e9"
	for _, path := range []string{edited, shelled} {
		if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.model.Add(
		claudetest.UseTool("Read", map[string]any{"file_path": edited}),
		claudetest.UseTool("Write", map[string]any{"file_path": edited, "content": "all new\n"}),
		claudetest.UseTool("Bash", map[string]any{"command": "echo changed > " + shelled}),
		claudetest.Say("done"))
	r.opts.AllowedTools = []string{"Read", "Write", "Bash"}
	r.opts.FileCheckpointing = true
	s := r.connect(t)
	id, err := s.Send(t.Context(), "change them")
	if err != nil {
		t.Fatal(err)
	}
	for msg := range s.Messages(t.Context()) {
		if _, ok := msg.(*message.Result); ok {
			break
		}
	}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	preview, err := s.Files().PreviewRewind(t.Context(), id)
	if err != nil || !preview.CanRewind || len(preview.FilesChanged) != 1 || preview.Deletions == 0 && preview.Insertions == 0 {
		t.Errorf("preview %+v, %v", preview, err)
	}
	if read(edited) != "all new\n" {
		t.Errorf("a preview changed the file to %q", read(edited))
	}
	if got, err := s.Files().Rewind(t.Context(), id); err != nil || !got.CanRewind {
		t.Errorf("rewound %+v, %v", got, err)
	}
	if read(edited) != before {
		t.Errorf("rewound to %q, want %q", read(edited), before)
	}
	if read(shelled) != "changed\n" {
		t.Errorf("a change by the shell was rewound: %q", read(shelled))
	}
}
