package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// write is a call of the tool Write.
func write(path, content string) claudetest.Reply {
	return claudetest.UseTool("Write", map[string]any{"file_path": path, "content": content})
}

// content reads a file, "" if there is none.
func content(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// lastResult is the text of the last tool result that the model saw.
func (r *real) lastResult(t *testing.T) claudetest.ToolResult {
	t.Helper()
	calls := r.calls()
	for _, c := range slices.Backward(calls) {
		if len(c.ToolResults) > 0 {
			return c.ToolResults[len(c.ToolResults)-1]
		}
	}
	t.Error("the model saw no tool result")
	return claudetest.ToolResult{}
}

// The hook and the callback are asked together. The first answer decides;
// the other one's context ends.
func TestRealHookAndCallbackRace(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "the withdrawal of a question")
	for _, winner := range []string{"hook", "callback"} {
		t.Run(winner, func(t *testing.T) {
			r := realCLI(t)
			file := filepath.Join(r.dir, "a.txt")
			r.model.Add(write(file, "x"), claudetest.Say("done"))
			hooked, asked := make(chan struct{}), make(chan struct{})
			lost := make(chan error, 1)
			both := func(own, other chan struct{}) {
				close(own)
				<-other
			}
			wait := func(ctx context.Context) error {
				<-ctx.Done()
				lost <- ctx.Err()
				return ctx.Err()
			}
			r.opts.Hooks = []hook.Hook{hook.PermissionRequest("", func(ctx context.Context, in *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
				both(hooked, asked)
				if winner == "hook" {
					return hook.Decide(permission.Allow()), nil
				}
				return nil, wait(ctx)
			})}
			r.opts.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
				both(asked, hooked)
				if winner == "callback" {
					return permission.Allow(), nil
				}
				return permission.Deny("lost"), wait(ctx)
			}
			s := r.connect(t)
			if _, err := s.Ask(t.Context(), "write"); err != nil {
				t.Fatal(err)
			}
			if err := <-lost; !errors.Is(err, context.Canceled) {
				t.Errorf("the loser's context: %v", err)
			}
			if got := content(file); got != "x" {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

func TestRealSixCallbacksAtOnce(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	r := realCLI(t)
	read := func(name string) claudetest.Reply {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return claudetest.UseTool("Read", map[string]any{"file_path": filepath.Join(r.dir, name)})
	}
	all := read("a")
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		all = all.With(read(name))
	}
	r.model.Add(all, claudetest.Say("done"))
	var together sync.WaitGroup
	together.Add(6)
	r.opts.Hooks = append(r.opts.Hooks, hook.PreToolUse("Read", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		together.Done()
		together.Wait() // returns when all six are here
		return nil, nil
	}).FailClosed())
	res, err := claude.Ask(t.Context(), "read", r.opts)
	if err != nil || res.Text != "done" || len(res.PermissionDenials) != 0 {
		t.Errorf("result %+v, %v", res, err)
	}
}

// Callbacks may use the session that calls them.
func TestRealCallbackUsesItsSession(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "an interrupt during a question")
	r := realCLI(t)
	file := func(name string) string { return filepath.Join(r.dir, name) }
	r.model.Add(
		write(file("mode"), "x"), write(file("no question"), "x"), claudetest.Say("mode set"),
		claudetest.UseTool("Bash", map[string]any{"command": "sh -c 'echo > " + file("interrupted") + "'"}),
		claudetest.UseTool("Bash", map[string]any{"command": "sh -c 'echo > " + file("closed") + "'"}),
	)
	var asked []string
	closed := make(chan error, 1)
	r.opts.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		s := claude.SessionFrom(ctx)
		asked = append(asked, req.ToolName)
		switch len(asked) {
		case 1:
			return permission.Allow(), s.SetPermissionMode(ctx, permission.ModeAcceptEdits)
		case 2:
			_, err := s.Interrupt(ctx)
			return permission.Allow(), err
		}
		closed <- s.Close()
		return permission.Allow(), nil
	}
	s := r.connect(t)
	if res, err := s.Ask(t.Context(), "write"); err != nil || res.Text != "mode set" {
		t.Fatalf("SetPermissionMode: %+v, %v", res, err)
	}
	if len(asked) != 1 || content(file("mode")) != "x" || content(file("no question")) != "x" {
		t.Errorf("asked for %q, want one question", asked)
	}
	_, err := s.Ask(t.Context(), "interrupt")
	if failed, ok := errors.AsType[*claude.ResultError](err); !ok || !ended(failed.Result, message.EndAbortedTools) {
		t.Errorf("Interrupt: %v", err)
	}
	if _, err := s.Ask(t.Context(), "close"); !errors.Is(err, claude.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close in a callback = %v", err)
	}
	for _, name := range []string{"interrupted", "closed"} {
		if _, err := os.Stat(file(name)); err == nil {
			t.Errorf("the tool ran: %s", name)
		}
	}
}

// A prompt that a callback sends is answered, in the same turn or after it.
func TestRealCallbackSends(t *testing.T) {
	t.Parallel()
	const more = "and another thing"
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if strings.Contains(string(c.Raw), more) {
			return claudetest.Say("both heard")
		}
		if len(c.ToolResults) > 0 {
			return claudetest.Say("heard one")
		}
		return claudetest.UseTool("Bash", map[string]any{"command": "sh -c true"})
	}))
	sent := make(chan string, 1)
	r.opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
		id, err := claude.SessionFrom(ctx).Send(ctx, more)
		sent <- id
		return permission.Allow(), err
	}
	s := r.connect(t)
	if _, err := s.Send(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.Result); ok && m.Text == "both heard" {
			break
		}
	}
	if id := <-sent; id == "" {
		t.Error("the prompt has no id")
	}
}

// Three megabytes go through a hook and a callback, which echoes them, and reach
// the tool unchanged.
func TestRealHugeInput(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	r := realCLI(t)
	file := filepath.Join(r.dir, "big")
	text := make([]byte, 3<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range text {
		text[i] = ` abc"\<>&'{}[]:,0123456789`[random.IntN(26)]
	}
	r.model.Add(write(file, string(text)+"é😀").Chunks(1<<20, 0), claudetest.Say("done"))
	var hooked, asked json.RawMessage
	r.opts.Hooks = []hook.Hook{hook.PreToolUse("Write", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		hooked = bytes.Clone(in.ToolInput)
		return nil, nil
	}).FailClosed()}
	r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		asked = bytes.Clone(req.Input)
		return permission.Allow(), nil
	}
	if _, err := claude.Ask(t.Context(), "write", r.opts); err != nil {
		t.Fatal(err)
	}
	if len(hooked) < len(text) || !bytes.Equal(hooked, asked) {
		t.Errorf("the hook saw %d bytes, the callback %d", len(hooked), len(asked))
	}
	if got := content(file); got != string(text)+"é😀" {
		t.Errorf("the file holds %d bytes, want %d, the same", len(got), len(text))
	}
}

// Without a callback the CLI denies every call it would ask about, and reports
// it.
func TestRealAutoDeny(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.85", "the list of denials")
	r := realCLI(t)
	file := filepath.Join(r.dir, "a.txt")
	r.model.Add(write(file, "x"), claudetest.Say("done"))
	res, err := claude.Ask(t.Context(), "write", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.PermissionDenials) != 1 || res.PermissionDenials[0].ToolName != "Write" {
		t.Errorf("denials %+v", res.PermissionDenials)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the tool ran")
	}
}

// Remembered rules stop the next question: suggestions that are handed back,
// and rules of the program's own.
func TestRealRememberedRules(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "a rule that is remembered")
	r := realCLI(t)
	bash := func(name string) claudetest.Reply {
		return claudetest.UseTool("Bash", map[string]any{"command": "mkfifo " + name})
	}
	r.model.Add(write(filepath.Join(r.dir, "a"), "x"), write(filepath.Join(r.dir, "b"), "x"), bash("c"), bash("d"), claudetest.Say("done"))
	var asked []string
	r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		asked = append(asked, req.ToolName)
		if req.ToolName == "Write" {
			if len(req.Suggestions) == 0 {
				t.Error("no suggestions")
			}
			return permission.Allow(req.Suggestions...), nil
		}
		return permission.Allow(permission.AllowRule("Bash", "mkfifo *", permission.ToSession)), nil
	}
	if _, err := claude.Ask(t.Context(), "work", r.opts); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Write", "Bash"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// The tool runs with the changed input, no matter who changed it.
func TestRealChangedInput(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a decision of a PermissionRequest hook")
	r := realCLI(t)
	file := func(name string) string { return filepath.Join(r.dir, name) }
	r.model.Add(write(file("callback"), "original"), write(file("hook"), "original"), write(file("request"), "original"), claudetest.Say("done"))
	changed := func(name string) map[string]string {
		return map[string]string{"file_path": file(name), "content": "changed"}
	}
	r.opts.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		if strings.Contains(string(req.Input), file("callback")) {
			return permission.AllowWith(changed("callback")), nil
		}
		<-ctx.Done() // the hook decides
		return permission.Pass(), ctx.Err()
	}
	r.opts.Hooks = []hook.Hook{
		hook.PreToolUse("Write", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			if !strings.Contains(string(in.ToolInput), file("hook")) {
				return nil, nil
			}
			out := hook.RewriteInput(changed("hook"))
			out.Decision = hook.PermissionAllow
			return out, nil
		}),
		hook.PermissionRequest("Write", func(_ context.Context, in *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
			if !strings.Contains(string(in.ToolInput), file("request")) {
				return nil, nil
			}
			return hook.Decide(permission.AllowWith(changed("request"))), nil
		}),
	}
	if _, err := claude.Ask(t.Context(), "write", r.opts); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"callback", "hook", "request"} {
		if got := content(file(name)); got != "changed" {
			t.Errorf("%s: the file holds %q", name, got)
		}
	}
}

func TestRealDenyAndStop(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "a denial that stops")
	r := realCLI(t)
	file := filepath.Join(r.dir, "a.txt")
	r.model.Add(write(file, "x"), claudetest.Say("next"))
	r.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.DenyAndStop("enough"), nil
	}
	s := r.connect(t)
	_, err := s.Ask(t.Context(), "write")
	if failed, ok := errors.AsType[*claude.ResultError](err); !ok || !ended(failed.Result, message.EndAbortedTools) {
		t.Errorf("error = %v, want an aborted turn", err)
	}
	if n := len(r.calls()); n != 1 {
		t.Errorf("the model was called %d times, want once", n)
	}
	if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
		t.Errorf("next turn: %+v, %v", res, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the tool ran")
	}
}

// The model sees the answers: a label, several, free text, by text and index.
func TestRealQuestions(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "AskUserQuestion")
	question := func(text string, multi bool) map[string]any {
		return map[string]any{"question": text, "header": "H", "multiSelect": multi, "options": []any{
			map[string]any{"label": "red", "description": "r"}, map[string]any{"label": "green", "description": "g"}, map[string]any{"label": "blue", "description": "b"},
		}}
	}
	r := realCLI(t,
		claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{question("One?", false), question("Many?", true), question("Other?", false), question("At?", true)}}),
		claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{question("One?", false)}}),
		claudetest.Say("done"))
	asked := 0
	r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		if asked++; asked == 2 { // a wrong answer is an error here
			return req.Answers().Choose("One?", "pink").Decision()
		}
		if realcli.Has("2.1.325") && !req.RequiresUserInteraction {
			t.Error("a question that needs nobody")
		}
		return req.Answers().Choose("One?", "red").Choose("Many?", "red", "blue").Write("Other?", "ultraviolet, rather").ChooseAt(3, 1, 2).Decision()
	}
	s := r.connect(t)
	if _, err := s.Ask(t.Context(), "ask"); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, c := range r.calls() {
		if len(c.ToolResults) == 1 {
			results = append(results, c.ToolResults[0].Text)
		}
	}
	if len(results) != 2 {
		t.Fatalf("results %q", results)
	}
	for _, want := range []string{`"One?"="red"`, `"Many?"="red, blue"`, `"Other?"="ultraviolet, rather"`, `"At?"="green, blue"`} {
		if !strings.Contains(results[0], want) {
			t.Errorf("the model saw %q, want %s", results[0], want)
		}
	}
	if !strings.Contains(results[1], `no option "pink"`) {
		t.Errorf("after a wrong answer the model saw %q", results[1])
	}
}

// A guard sees what the CLI would not ask about, and stops it.
func TestRealGuard(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	r := realCLI(t)
	file := filepath.Join(r.dir, "a.txt")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.model.Add(claudetest.UseTool("Read", map[string]any{"file_path": file}), claudetest.Say("denied"),
		claudetest.UseTool("Read", map[string]any{"file_path": file}), claudetest.Say("not reached"))
	stop := false
	r.opts.Hooks = []hook.Hook{hook.Guard("", func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		if req.Cwd != r.dir || req.ToolName != "Read" {
			return permission.Allow(), fmt.Errorf("asked about %s in %s", req.ToolName, req.Cwd)
		}
		if stop {
			return permission.DenyAndStop("enough"), nil
		}
		return permission.Deny("not that file"), nil
	})}
	s := r.connect(t)
	if res, err := s.Ask(t.Context(), "read"); err != nil || res.Text != "denied" {
		t.Errorf("result %+v, %v", res, err)
	}
	if got := r.lastResult(t); !got.IsError || !strings.Contains(got.Text, "not that file") {
		t.Errorf("the model saw %+v", got)
	}
	stop = true
	calls := len(r.calls())
	res, err := s.Ask(t.Context(), "read again")
	if err != nil || res.TerminalReason != message.EndHookStopped || len(r.calls()) != calls+1 {
		t.Errorf("result %+v, %v, %d calls more", res, err, len(r.calls())-calls)
	}
}

// A foreign prompt tool decides in the place of a callback.
func TestRealPermissionPromptTool(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a late MCP server as permission prompt")
	inEachRoot(t, func(t *testing.T, at *place) {
		r := realCLI(t)
		at.move(r)
		file := filepath.Join(r.dir, "a.txt")
		r.model.Add(write(file, "x"), claudetest.Say("done"))
		asked := make(chan string, 1)
		r.opts.MCPServers = claude.MCPServers{"gate": &harness.MCPServer{Answer: func(_ context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
			switch method {
			case "initialize":
				return harness.AnswerTo(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"gate","version":"1"}}`), nil
			case "tools/list":
				return harness.AnswerTo(m, `{"tools":[{"name":"approve","description":"Decide","inputSchema":{"type":"object"}}]}`), nil
			case "tools/call":
				asked <- string(m)
				reply, _ := json.Marshal(map[string]any{"behavior": "allow", "updatedInput": map[string]string{"file_path": file, "content": "approved"}})
				text, _ := json.Marshal(string(reply))
				return harness.AnswerTo(m, `{"content":[{"type":"text","text":`+string(text)+`}]}`), nil
			}
			return nil, nil
		}}}
		r.opts.PermissionPromptTool = "mcp__gate__approve"
		if _, err := claude.Ask(t.Context(), "write", r.opts); err != nil {
			t.Fatal(err)
		}
		if got := content(file); got != "approved" {
			t.Errorf("the file holds %q", got)
		}
		call := ""
		select {
		case call = <-asked:
		default:
		}
		at.shows(t, effects{"PermissionPromptTool": has(call, `"tool_name":"Write"`)}, "asked %q", call)
	})
}

// What the start-up warnings say about modes: bypassPermissions asks only what
// a person has to answer, dontAsk nothing at all.
func TestRealModesThatShadow(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "the mode dontAsk")
	question := claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which?", "header": "H", "multiSelect": false,
		"options": []any{map[string]any{"label": "a", "description": "d"}, map[string]any{"label": "b", "description": "d"}},
	}}})
	for mode, want := range map[permission.Mode][]string{
		permission.ModeBypassPermissions: {"AskUserQuestion"},
		permission.ModeDontAsk:           nil,
	} {
		t.Run(string(mode), func(t *testing.T) {
			r := realCLI(t)
			r.model.Add(write(filepath.Join(r.dir, "a"), "x"), question, claudetest.Say("done"))
			r.opts.PermissionMode = mode
			var asked []string
			r.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
				asked = append(asked, req.ToolName)
				return permission.Deny("no"), nil
			}
			if _, err := claude.Ask(t.Context(), "work", r.opts); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(asked, want) {
				t.Errorf("asked for %q, want %q", asked, want)
			}
			if ran := content(filepath.Join(r.dir, "a")) != ""; ran != (mode == permission.ModeBypassPermissions) {
				t.Errorf("the tool ran: %v", ran)
			}
		})
	}
}
