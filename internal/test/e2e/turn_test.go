package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

func TestRealAsk(t *testing.T) {
	t.Parallel()
	r := realCLI(t, claudetest.Say("Four."))
	res, err := claude.Ask(t.Context(), "What is 2+2?", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != "Four." || res.Failed() || realcli.Has("2.1.325") && len(res.Prompts) != 1 {
		t.Errorf("result %q, failed %v, prompts %v", res.Text, res.Failed(), res.Prompts)
	}
	if agent := r.calls()[0].Header.Get("User-Agent"); !strings.Contains(agent, "sdk-go") || realcli.Has("2.1.325") && !strings.Contains(agent, "agent-sdk/"+claude.Version) {
		t.Errorf("the API is told %q, want this SDK and its version in it", agent)
	}
	if sys := r.calls()[0].System; realcli.Has("1.0.128") && (strings.Contains(sys, "interactive") || len(sys) > 1000) {
		t.Errorf("a system prompt of %d characters, want none of our own", len(sys))
	}
}

func TestRealThreeTurns(t *testing.T) {
	t.Parallel()
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two"), claudetest.Say("three"))
	s := r.connect(t)
	if realcli.Has("2.1.325") && (s.Info().CLIVersion != realcli.Tested() || len(s.Info().Models) == 0) {
		t.Errorf("info: version %q, %d models", s.Info().CLIVersion, len(s.Info().Models))
	}
	id := s.ID()
	for i, want := range []string{"one", "two", "three"} {
		got, err := harness.Collect(s.Run(t.Context(), fmt.Sprint("prompt ", i)))
		if err != nil || !slices.Contains(got, want) || got[len(got)-1] != "result "+want {
			t.Errorf("turn %d: %q, %v", i, got, err)
		}
	}
	if s.ID() != id || id == "" {
		t.Errorf("session id %q, was %q", s.ID(), id)
	}
	if n := len(r.calls()); n != 3 {
		t.Errorf("%d calls of the model", n)
	}
}

func TestRealPartialMessages(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "PartialMessages")
	r := realCLI(t, claudetest.Say("one two three four").Chunks(4, 0))
	r.opts.PartialMessages = true
	var partial, whole strings.Builder
	for msg, err := range claude.Query(t.Context(), "count", r.opts) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *message.StreamEvent:
			partial.WriteString(m.Text())
		case *message.Assistant:
			whole.WriteString(m.Text())
		}
	}
	if partial.String() != "one two three four" || whole.String() != partial.String() {
		t.Errorf("partial %q, whole %q", partial.String(), whole.String())
	}
}

func TestRealAPIErrorIsAnError(t *testing.T) {
	t.Parallel()
	r := realCLI(t, claudetest.Fail(400, "invalid_request_error", "no good").Forever())
	res, err := claude.Ask(t.Context(), "hello", r.opts)
	failed, ok := errors.AsType[*claude.ResultError](err)
	if !ok || res == nil || failed.Result != res || res.Subtype != "success" || !res.IsError {
		t.Errorf("result %+v, error %v", res, err)
	}
}

func TestRealInterruptMidStream(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "PartialMessages")
	hold := make(chan struct{})
	defer close(hold)
	r := realCLI(t, claudetest.Say("one two three four five six").Chunks(4, 0).Hold(hold), claudetest.Say("next"))
	r.opts.PartialMessages = true
	s := r.connect(t)
	var last error
	var res *message.Result
	for msg, err := range s.Run(t.Context(), "count") {
		if last = err; err != nil {
			continue
		}
		switch m := msg.(type) {
		case *message.StreamEvent:
			if strings.Contains(m.Text(), "one") {
				if _, err := s.Interrupt(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		case *message.Result:
			res = m
		}
	}
	if _, ok := errors.AsType[*claude.ResultError](last); !ok || res == nil || !ended(res, message.EndAbortedStreaming) {
		t.Errorf("result %+v, error %v", res, last)
	}
	if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
		t.Errorf("next turn: %+v, %v", res, err)
	}
}

// shell is a long tool call that signals when it runs.
func shell(dir string) (reply claudetest.Reply, started string) {
	started = filepath.Join(dir, "started")
	return claudetest.UseTool("Bash", map[string]any{"command": "touch " + started + "; sleep 300", "timeout": 300_000}), started
}

// waitForFile waits for a file; nothing announces it.
func waitForFile(t *testing.T, path string) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s did not appear", path)
		}
	}
}

// work starts a long shell command in a session and returns once it runs.
func (r *real) work(t *testing.T, started string) (s *claude.Session, end func() error) {
	t.Helper()
	r.opts.PermissionMode = permission.ModeBypassPermissions
	s = r.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- harness.LastError(s.Run(ctx, "work")) }()
	waitForFile(t, started)
	return s, func() error { cancel(); return <-done }
}

func TestRealInterruptMidTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call, started := shell(dir)
	r := realCLI(t, call, claudetest.Say("next"))
	r.opts.PermissionMode = permission.ModeBypassPermissions
	s := r.connect(t)
	done := make(chan error, 1)
	go func() { done <- harness.LastError(s.Run(t.Context(), "work")) }()
	waitForFile(t, started)
	if _, err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed, ok := errors.AsType[*claude.ResultError](<-done)
	if !ok || !ended(failed.Result, message.EndAbortedTools) {
		t.Errorf("error = %v", failed)
	}
	if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
		t.Errorf("next turn: %+v, %v", res, err)
	}
}

func TestRealLeavingRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call, started := shell(dir)
	r := realCLI(t, call, claudetest.Say("clean"))
	s, end := r.work(t, started)
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	got, err := harness.Collect(s.Run(t.Context(), "again"))
	if err != nil || got[len(got)-1] != "result clean" || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "result") && s != "result clean" }) {
		t.Errorf("next turn: %q, %v, want nothing of the old one", got, err)
	}
}

// CLIs up to 2.1.0 leave their shells behind when they are asked to end; nothing
// of them is there anyway.
func TestRealCloseWhileBashRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call, started := shell(dir)
	r := realCLI(t, call)
	s, _ := r.work(t, started)
	if n := len(leak.MarkedBy(r.mark)); n < 2 {
		t.Errorf("%d processes, want the CLI and its shell", n)
	}
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("Close took %v", took)
	}
	if left := leak.MarkedBy(r.mark); len(left) > 0 {
		t.Errorf("Close has left %q", left)
	}
}

func TestRealQueryLeftWhileBashRuns(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"break", "context"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			call, started := shell(dir)
			r := realCLI(t, call)
			r.opts.PermissionMode = permission.ModeBypassPermissions
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for msg, err := range claude.Query(ctx, "work", r.opts) {
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					break
				}
				if m, ok := msg.(*message.Assistant); ok && len(m.ToolUses()) > 0 {
					waitForFile(t, started)
					if how == "break" {
						break
					}
					cancel()
				}
			}
			if left := leak.MarkedBy(r.mark); len(left) > 0 {
				t.Errorf("the query has left %q", left)
			}
		})
	}
}

func TestRealMergedSends(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "naming prompts in results")
	hold := make(chan struct{})
	r := realCLI(t, claudetest.Say("one two three four").Chunks(4, 0).Hold(hold), claudetest.Say("both"))
	r.opts.PartialMessages = true
	s := r.connect(t)
	first, err := s.Send(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	var late []string
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.StreamEvent); ok && m.Text() != "" && late == nil {
			for _, prompt := range []string{"second", "third"} {
				id, err := s.Send(t.Context(), prompt)
				if err != nil {
					t.Fatal(err)
				}
				late = append(late, id)
			}
			// A control round trip shows that the CLI has read both.
			if err := s.SetModel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			close(hold)
		}
		if m, ok := msg.(*message.Result); ok {
			if slices.Contains(m.Prompts, first) {
				continue
			}
			if !slices.Equal(m.Prompts, late) {
				t.Errorf("the second result answers %q, want both of %q", m.Prompts, late)
			}
			// In the single form the CLI names the last.
			var single struct {
				Prompt string `json:"user_message_uuid"`
			}
			if err := json.Unmarshal(m.Raw, &single); err != nil || single.Prompt != late[1] {
				t.Errorf("the second result names %q (%v), want %q", single.Prompt, err, late[1])
			}
			break
		}
	}
}

// A prompt that is sent while a tool runs is folded into the turn: it is
// answered by the result of that turn.
func TestRealPromptDuringTool(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a prompt that joins a turn")
	dir := t.TempDir()
	started, release := filepath.Join(dir, "started"), filepath.Join(dir, "release")
	bash := claudetest.UseTool("Bash", map[string]any{"command": "touch " + started + "; " + untilExists(release)})
	r := realCLI(t, bash, claudetest.Say("both"), claudetest.Say("next"))
	r.opts.PermissionMode = permission.ModeBypassPermissions
	s := r.connect(t)
	first, err := s.Send(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	waitForFile(t, started)
	var res *message.Result
	for msg, err := range s.Run(t.Context(), "second") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.CommandLifecycle); ok && m.CommandUUID != first && m.State == message.CommandQueued {
			if err := os.WriteFile(release, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		res, _ = msg.(*message.Result)
	}
	if res == nil || res.Text != "both" || len(res.Prompts) != 2 || res.Prompts[0] != first {
		t.Errorf("result %+v, want one for both prompts", res)
	}
	if res, err := s.Ask(t.Context(), "third"); err != nil || res.Text != "next" {
		t.Errorf("next turn: %+v, %v", res, err)
	}
}

func TestRealUnsolicitedTurn(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "turns that nobody asked for")
	done := filepath.Join(t.TempDir(), "go")
	bash := claudetest.UseTool("Bash", map[string]any{
		"command": untilExists(done), "run_in_background": true,
	})
	r := realCLI(t, bash, claudetest.Say("started"), claudetest.Say("noticed"), claudetest.Say("answer"))
	r.opts.PermissionMode = permission.ModeBypassPermissions
	s := r.connect(t)
	if res, err := s.Ask(t.Context(), "start it"); err != nil || res.Text != "started" {
		t.Fatalf("Ask = %+v, %v", res, err)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.Result); ok {
			if len(m.Prompts) != 0 || m.Origin == nil || m.Origin.Kind != message.OriginTaskNotification {
				t.Errorf("unsolicited result: prompts %q, origin %+v", m.Prompts, m.Origin)
			}
			break
		}
	}
	if res, err := s.Ask(t.Context(), "and now?"); err != nil || res.Text != "answer" {
		t.Errorf("Ask = %+v, %v", res, err)
	}
}

func TestRealControlWhileMessagesAreUnread(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "PartialMessages")
	hold := make(chan struct{})
	defer close(hold)
	r := realCLI(t, claudetest.Say(strings.Repeat("word ", 4000)).Chunks(5, 0).Hold(hold))
	r.opts.PartialMessages = true
	read, enough := 0, make(chan struct{})
	r.opts.Trace = &claude.Trace{FrameRead: func([]byte) {
		if read++; read == 1100 {
			close(enough)
		}
	}}
	s := r.connect(t)
	if _, err := s.Send(t.Context(), "talk"); err != nil {
		t.Fatal(err)
	}
	<-enough
	if err := s.SetModel(t.Context(), "sonnet"); err != nil {
		t.Error(err)
	}
	unread := 0
	for _, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if unread++; unread == 1000 {
			break
		}
	}
}

func TestRealHugeLine(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a long line before the exit")
	const size = 20 << 20
	r := realCLI(t, claudetest.Say(strings.Repeat("x", size)).Chunks(1<<20, 0))
	res, err := claude.Ask(t.Context(), "talk", r.opts)
	if err != nil || len(res.Text) != size || len(res.Raw) <= size {
		t.Errorf("error %v, want a result of %d bytes", err, size)
	}
}

func TestRealPermissionAndHook(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.85", "a hook")
	file := filepath.Join(t.TempDir(), "out.txt")
	write := func(text string) claudetest.Reply {
		return claudetest.UseTool("Write", map[string]any{"file_path": file, "content": text})
	}
	r := realCLI(t, write("denied"), write("allowed"), write("hooked"), claudetest.Say("done"))
	var asked []string
	r.opts.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		var in struct {
			Content string `json:"content"`
		}
		if err := req.DecodeInput(&in); err != nil {
			return permission.Pass(), err
		}
		asked = append(asked, in.Content)
		if in.Content == "allowed" {
			return permission.Allow(), nil
		}
		return permission.Deny("not today"), nil
	}
	r.opts.Hooks = []hook.Hook{hook.PreToolUse("Write", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		if strings.Contains(string(in.ToolInput), "hooked") {
			return hook.DenyTool("guarded"), nil
		}
		return nil, nil
	})}
	res, err := claude.Ask(t.Context(), "write", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []string{"denied", "allowed"}) || realcli.Has("2.1.325") && len(res.PermissionDenials) != 2 {
		t.Errorf("asked for %q, denials %+v", asked, res.PermissionDenials)
	}
	if got, _ := os.ReadFile(file); string(got) != "allowed" {
		t.Errorf("the file holds %q", got)
	}
}

func TestRealRewindFiles(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.0.77", "FileCheckpointing")
	r := realCLI(t)
	file := filepath.Join(r.dir, "a.txt")
	r.model.Add(claudetest.UseTool("Write", map[string]any{"file_path": file, "content": "new"}), claudetest.Say("done"))
	r.opts.PermissionMode = permission.ModeAcceptEdits
	r.opts.FileCheckpointing = true
	s := r.connect(t)
	id, err := s.Send(t.Context(), "write")
	if err != nil {
		t.Fatal(err)
	}
	for msg := range s.Messages(t.Context()) {
		if _, ok := msg.(*message.Result); ok {
			break
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Files().Rewind(t.Context(), id); err != nil || !got.CanRewind {
		t.Errorf("RewindFiles = %+v, %v", got, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("after the rewind the file is there: %v", err)
	}
}

func TestRealSlashCommands(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "slash commands that answer")
	r := realCLI(t, claudetest.Say("hello"))
	s := r.connect(t)
	if _, err := s.Ask(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Ask(t.Context(), "/cost"); err != nil || res.Text == "" {
		t.Errorf("/cost = %+v, %v", res, err)
	}
	id := s.ID()
	if _, err := s.Ask(t.Context(), "/clear"); err != nil {
		t.Errorf("/clear: %v", err)
	}
	if s.ID() == id {
		t.Errorf("the session id is still %s after /clear", id)
	}
}

// untilExists is a shell command that waits for a file. It gives up after two
// minutes, because a test that is killed never makes the file.
func untilExists(path string) string {
	return "for i in $(seq 2400); do [ -e " + path + " ] && break; sleep 0.05; done"
}
