package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// The helpers do what their names say, each in a turn of the same session.
func TestRealHookHelpers(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "what hooks can say")
	r := realCLI(t)
	file := func(name string) string { return filepath.Join(r.dir, name) }
	turn := ""
	pre := map[string]*hook.PreToolUseOutput{
		"deny":    hook.DenyTool("keep off"),
		"allow":   hook.AllowTool("continue"),
		"ask":     hook.AskTool("is that so?"),
		"defer":   hook.DeferTool(),
		"rewrite": hook.RewriteInput(map[string]string{"file_path": file("rewrite"), "content": "rewritten"}),
		"context": {Decision: hook.PermissionAllow, AdditionalContext: "remember the milk"},
		"stop":    {Common: hook.StopRun("enough")},
		"async":   {Common: hook.Async(time.Second), Decision: hook.PermissionDeny},
	}
	kept := false
	r.opts.Hooks = []hook.Hook{
		hook.PreToolUse("Write", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return pre[turn], nil }),
		hook.UserPromptSubmit(func(_ context.Context, in *hook.UserPromptSubmitInput) (*hook.PromptOutput, error) {
			switch turn = in.Prompt; turn {
			case "block":
				return hook.BlockPrompt("not that"), nil
			case "prompt context":
				return &hook.PromptOutput{AdditionalContext: "the sky is green"}, nil
			}
			return nil, nil
		}),
		hook.Stop(func(_ context.Context, in *hook.StopInput) (*hook.StopOutput, error) {
			if turn == "keep going" && !in.StopHookActive {
				kept = true
				return hook.KeepGoing("one more thing"), nil
			}
			return nil, nil
		}),
		hook.PostToolUse("Write", func(context.Context, *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) {
			if turn == "stop after" {
				return &hook.PostToolUseOutput{Common: hook.StopRun("that will do")}, nil
			}
			return nil, nil
		}),
	}
	var asked []*permission.Request
	r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		asked = append(asked, req)
		return permission.Allow(), nil
	}
	s := r.connect(t)
	type outcome struct {
		res    *message.Result
		file   string
		asked  []*permission.Request
		calls  []*claudetest.ModelCall
		result claudetest.ToolResult
	}
	run := func(prompt string, replies ...claudetest.Reply) outcome {
		t.Helper()
		r.model.Add(replies...)
		before := len(r.calls())
		asked = nil
		res, err := s.Ask(t.Context(), prompt)
		if err != nil {
			t.Fatalf("%s: %v", prompt, err)
		}
		if n := r.model.Unused(); n != 0 {
			t.Errorf("%s: %d replies of the model are left", prompt, n)
		}
		return outcome{res, content(file(prompt)), asked, r.calls()[before:], r.lastResult(t)}
	}
	w := func(name string) claudetest.Reply { return write(file(name), "written") }
	done := claudetest.Say("done")

	if o := run("allow", w("allow"), done); o.file != "written" || len(o.asked) != 0 {
		t.Errorf("AllowTool: file %q, asked %d times", o.file, len(o.asked))
	}
	if o := run("deny", w("deny"), done); o.file != "" || !strings.Contains(o.result.Text, "keep off") || len(o.res.PermissionDenials) != 1 {
		t.Errorf("DenyTool: file %q, the model saw %q, denials %+v", o.file, o.result.Text, o.res.PermissionDenials)
	}
	if o := run("ask", w("ask"), done); o.file != "written" || len(o.asked) != 1 || o.asked[0].ReasonType != "hook" || !strings.Contains(o.asked[0].Reason, "is that so?") {
		t.Errorf("AskTool: file %q, asked %+v", o.file, o.asked)
	}
	if o := run("rewrite", w("rewrite"), done); o.file != "rewritten" || len(o.asked) != 1 || !strings.Contains(string(o.asked[0].Input), "rewritten") {
		t.Errorf("RewriteInput: file %q, asked %+v", o.file, o.asked)
	}
	if o := run("context", w("context"), done); o.file != "written" || !strings.Contains(string(o.calls[1].Raw), "remember the milk") {
		t.Errorf("AdditionalContext: file %q", o.file)
	}
	if o := run("async", w("async"), done); o.file != "written" || len(o.asked) != 1 {
		t.Errorf("Async: file %q, asked %d times", o.file, len(o.asked))
	}
	// The tool runs anyway; DenyTool would stop it.
	if o := run("stop", w("stop")); o.file != "written" || o.res.TerminalReason != message.EndHookStopped || len(o.calls) != 1 {
		t.Errorf("StopRun before a tool: file %q, ended by %s", o.file, o.res.TerminalReason)
	}
	if o := run("stop after", w("stop after")); o.file != "written" || o.res.TerminalReason != message.EndHookStopped || len(o.calls) != 1 {
		t.Errorf("StopRun after a tool: file %q, ended by %s", o.file, o.res.TerminalReason)
	}
	if o := run("block"); len(o.calls) != 0 || o.res.Failed() {
		t.Errorf("BlockPrompt: %d calls of the model, result %+v", len(o.calls), o.res)
	}
	if o := run("prompt context", done); !strings.Contains(string(o.calls[0].Raw), "the sky is green") {
		t.Error("the context of a prompt did not reach the model")
	}
	if o := run("keep going", claudetest.Say("first"), claudetest.Say("second")); !kept || len(o.calls) != 2 || !strings.Contains(string(o.calls[1].Raw), "one more thing") {
		t.Errorf("KeepGoing: %d calls of the model", len(o.calls))
	}
	if o := run("defer", w("defer")); o.file != "" || o.res.TerminalReason != message.EndToolDeferred {
		t.Errorf("DeferTool: file %q, ended by %s", o.file, o.res.TerminalReason)
	}
	if _, err := os.Stat(file("deny")); err == nil {
		t.Error("a denied tool ran")
	}
}

// TestRealRewriteInput changes an input with every decision. On each version the
// tool runs with the new input or not at all: never with the one it had.
func TestRealRewriteInput(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.85", "hooks")
	r := realCLI(t)
	file := func(name string) string { return filepath.Join(r.dir, name) }
	var decision hook.PermissionDecision
	r.opts.Hooks = []hook.Hook{hook.PreToolUse("Write", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		out := hook.RewriteInput(map[string]string{"file_path": file("file" + string(decision)), "content": "new"})
		out.Decision = decision
		return out, nil
	})}
	var asked []string
	r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		asked = append(asked, string(req.Input))
		return permission.Allow(), nil
	}
	s := r.connect(t)
	for _, tt := range []struct {
		decision hook.PermissionDecision
		since    string
		asks     bool
	}{{"", "2.1.325", true}, {hook.PermissionAllow, "2.0.77", false}, {hook.PermissionAsk, "2.1.299", true}} {
		decision, asked = tt.decision, nil
		r.model.Add(write(file("file"+string(decision)), "old"), claudetest.Say("done"))
		if _, err := s.Ask(t.Context(), "write"); err != nil {
			t.Fatal(err)
		}
		want := "new"
		if !realcli.Has(tt.since) {
			want = ""
		}
		if got := content(file("file" + string(decision))); got != want {
			t.Errorf("decision %q: the tool wrote %q, want %q", decision, got, want)
		}
		if want == "new" && tt.asks != (len(asked) == 1 && strings.Contains(asked[0], `"new"`)) {
			t.Errorf("decision %q: asked about %q", decision, asked)
		}
		if told := r.lastResult(t).Text; want == "" && !strings.Contains(told, "does not use the changed input") {
			t.Errorf("decision %q: the model was told %q", decision, told)
		}
	}
}

// TestRealRewriteInputWithSlowVersion puts wrappers around the CLI that hang when
// they are asked for the version. A CLI that names it in the handshake is known; one
// that does not is an old one, and no tool runs with the input it had.
func TestRealRewriteInputWithSlowVersion(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.85", "hooks")
	for name, tt := range map[string]struct{ filter, want string }{
		"slow":             {"", "new"},
		"slow and unnamed": {` | sed -u 's/"claude_code_version"/"left_out"/'`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file")
			r := realCLI(t, write(file, "old"), claudetest.Say("done"))
			command := fmt.Sprintf("%q", r.opts.CLIPath)
			if filepath.Ext(r.opts.CLIPath) == ".js" {
				command = "node " + command
			}
			r.opts.CLIPath = harness.Script(t, "wrapper", "case \"$*\" in *--version*) exec sleep 600;; esac\n"+command+` "$@"`+tt.filter+"\n")
			r.opts.Hooks = []hook.Hook{hook.PreToolUse("Write", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				out := hook.RewriteInput(map[string]string{"file_path": file, "content": "new"})
				out.Decision = hook.PermissionAllow
				return out, nil
			})}
			s, err := claude.Connect(t.Context(), r.opts)
			if !realcli.Has("2.1.325") {
				if !errors.Is(err, claude.ErrUnsupportedVersion) {
					t.Errorf("error = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Ask(t.Context(), "write"); err != nil {
				t.Fatal(err)
			}
			if got := content(file); got != tt.want {
				t.Errorf("the tool wrote %q, want %q", got, tt.want)
			}
			if told := r.lastResult(t).Text; tt.want == "" && !strings.Contains(told, "does not use the changed input") {
				t.Errorf("the model was told %q", told)
			}
		})
	}
}
