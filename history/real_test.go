package history_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// workshop is the real CLI with a scripted model, and a configuration directory
// for its sessions.
type workshop struct {
	model  *claudetest.Model
	opts   claude.Options
	home   string
	config string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	path := realcli.Need(t, realcli.Tested())
	realcli.Needs(t, "2.1.325", "the format of transcripts")
	model := claudetest.NewModel()
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, url)
	if home, err = filepath.EvalSymlinks(home); err != nil {
		t.Fatal(err)
	}
	return &workshop{model: model, home: home, config: filepath.Join(home, ".claude"), opts: claude.Options{CLIPath: path, Env: env}}
}

// dir makes a working directory below the home.
func (w *workshop) dir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(w.home, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// session runs a session in a directory and returns its id at the end.
func (w *workshop) session(t *testing.T, dir string, change func(*claude.Options), do func(s *claude.Session)) string {
	t.Helper()
	o := w.opts
	o.Cwd = dir
	o.PermissionMode = permission.ModeBypassPermissions
	if change != nil {
		change(&o)
	}
	s, err := claude.Connect(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do(s)
	return s.ID()
}

// ask asks and wants an answer.
func (w *workshop) ask(t *testing.T, s *claude.Session, prompt string, replies ...claudetest.Reply) {
	t.Helper()
	w.model.Add(replies...)
	if _, err := s.Ask(t.Context(), prompt); err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	if n := w.model.Unused(); n > 0 {
		t.Fatalf("%s: %d replies of the model are left", prompt, n)
	}
}

// sessions makes one session of each kind and returns their ids by name.
func (w *workshop) sessions(t *testing.T) map[string]string {
	ids := make(map[string]string)
	say := claudetest.Say
	dir := w.dir(t, "work")
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) claudetest.ScriptedCall {
		return claudetest.ScriptedCall{Name: "Read", Input: map[string]string{"file_path": filepath.Join(dir, name)}}
	}
	ids["plain"] = w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "What is a session?\nIn one line.", say("A conversation."))
		w.ask(t, s, "And a turn?", claudetest.Think("easy", "One question and its answer."))
	})
	ids["parallel"] = w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "Read both", claudetest.UseTools(read("a"), read("b")), say("a and b"))
		w.ask(t, s, "And once more", claudetest.UseTools(read("b"), read("a")), say("b and a"))
	})
	ids["agent"] = w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "Have it looked at", claudetest.UseTool("Agent", map[string]any{
			"description": "look", "prompt": "Look at it", "subagent_type": "general-purpose", "run_in_background": false,
		}), say("I looked"), say("It was looked at"))
	})
	ids["compacted"] = w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "First", say("one"))
		w.ask(t, s, "Second", say("two"))
		w.ask(t, s, "/compact", say("<summary>First and second were asked.</summary>"))
		w.ask(t, s, "Third", say("three"))
	})
	ids["mid-turn"] = w.midTurn(t, dir)
	ids["cleared"] = w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "Before", say("before"))
		w.ask(t, s, "/clear")
		w.ask(t, s, "After", say("after"))
	})
	ids["renamed"] = w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "Call this something", say("Gladly"))
		if err := s.Rename(t.Context(), "A good name"); err != nil {
			t.Fatal(err)
		}
	})
	ids["forked"] = w.session(t, dir, func(o *claude.Options) { o.Resume, o.ForkSession = ids["plain"], true }, func(s *claude.Session) {
		w.ask(t, s, "Another way", say("Here"))
	})
	for name, in := range map[string]string{
		"accented": "caf\u00e9 \U0001F600", "decomposed": "cafe\u0301", "long": strings.Repeat("long-path/", 25) + "end",
	} {
		ids[name] = w.session(t, w.dir(t, in), nil, func(s *claude.Session) { w.ask(t, s, "Where am I?", say("In "+name)) })
	}
	w.worktree(t, ids)
	return ids
}

// midTurn makes a session in which a prompt was folded into a running turn.
func (w *workshop) midTurn(t *testing.T, dir string) string {
	t.Helper()
	var s *claude.Session
	return w.session(t, dir, func(o *claude.Options) {
		o.Hooks = []hook.Hook{hook.PreToolUse("Bash", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			_, err := claude.SessionFrom(ctx).Send(ctx, "Sent in mid-turn")
			return nil, err
		})}
	}, func(own *claude.Session) {
		s = own
		w.ask(t, s, "Take your time", claudetest.UseTool("Bash", map[string]string{"command": "echo done"}), claudetest.Say("Both answered"))
	})
}

// worktree makes a session in each of two worktrees of a repository.
func (w *workshop) worktree(t *testing.T, ids map[string]string) {
	t.Helper()
	repo, other := w.dir(t, "repo"), filepath.Join(w.home, "other")
	for _, args := range [][]string{
		{"init", "-q", "-b", "trunk"},
		{"-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
		{"worktree", "add", "-q", "-b", "side", other},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	ids["trunk"] = w.session(t, repo, nil, func(s *claude.Session) { w.ask(t, s, "On trunk", claudetest.Say("yes")) })
	ids["side"] = w.session(t, other, nil, func(s *claude.Session) { w.ask(t, s, "On the side", claudetest.Say("yes")) })
}

// official holds the official SDK's answers about the same files.
type official struct {
	Sessions []officialInfo
	Dirs     map[string][]string
	Messages map[string][]officialMessage
	System   map[string][]string
	Agents   map[string]map[string][]officialMessage
}

type officialInfo struct {
	ID, Title, CustomTitle, FirstPrompt, Tag, Dir, Branch string
	Created, Modified                                     float64
	Size                                                  int64
	Archived                                              bool
}

type officialMessage struct {
	Type, UUID, Session, Parent string
	Message                     json.RawMessage
}

func readOfficial(t *testing.T, config string, dirs ...string) official {
	t.Helper()
	sdk := officialsdk.Package()
	module := "file://" + filepath.ToSlash(sdk.Path(npm.Need(t, sdk), "sdk.mjs"))
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"testdata/official.mjs", module}, dirs...)...)
	cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+config)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the official SDK: %v\n%s", err, stderr.String())
	}
	var o official
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// canonical makes two spellings of the same JSON alike.
func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// On files that the real CLI wrote, the official SDK and this package see the
// same sessions and the same messages.
func TestRealAgreement(t *testing.T) {
	w := newWorkshop(t)
	ids := w.sessions(t)
	h := history.Disk(w.config)
	if err := h.Tag(t.Context(), ids["plain"], "Release"); err != nil {
		t.Fatal(err)
	}
	if err := h.Rename(t.Context(), ids["parallel"], "Two at a time"); err != nil {
		t.Fatal(err)
	}
	if err := h.Archive(t.Context(), ids["cleared"]); err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join(w.home, "work"), filepath.Join(w.home, "repo"), filepath.Join(w.home, "other"), filepath.Join(w.home, strings.Repeat("long-path/", 25)+"end"), filepath.Join(w.home, "caf\u00e9 \U0001F600"), filepath.Join(w.home, "cafe\u0301")}
	want := readOfficial(t, w.config, dirs...)

	var got []officialInfo
	for info, err := range h.List(t.Context(), history.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Entrypoint != "sdk-go" {
			t.Errorf("%s: entrypoint %q", info.ID, info.Entrypoint)
		}
		got = append(got, officialInfo{
			info.ID, info.Title, info.CustomTitle, info.FirstPrompt, info.Tag, info.Dir, info.Branch,
			float64(info.Created.UnixMilli()), float64(info.Modified.UnixMilli()), info.Size, info.Archived,
		})
	}
	for i := range min(len(got), len(want.Sessions)) {
		// The official SDK rounds to a millisecond, Go cuts.
		if m := &want.Sessions[i].Modified; math.Abs(*m-got[i].Modified) <= 1 {
			*m = got[i].Modified
		}
	}
	compare(t, "sessions", got, want.Sessions)
	for _, dir := range dirs {
		var listed []string
		for info, err := range h.List(t.Context(), history.Query{Dir: dir}) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, info.ID)
		}
		compare(t, "sessions of "+dir, listed, want.Dirs[dir])
	}
	names := make(map[string]string)
	for name, id := range ids {
		names[id] = name
	}
	for _, s := range want.Sessions {
		compareMessages(t, h, s.ID, cmp.Or(names[s.ID], s.Title), want)
	}
	for name, id := range ids {
		t.Logf("%-12s %2d messages, %d subagents", name, len(want.Messages[id]), len(want.Agents[id]))
	}
}

func compare[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: missing %+v", what, want[i])
		case i >= len(want):
			t.Errorf("%s: too much: %+v", what, got[i])
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("%s: number %d\n got %+v\nwant %+v", what, i, got[i], want[i])
		}
	}
}

// compareMessages compares the messages of one session and of its subagents.
func compareMessages(t *testing.T, h *history.History, id, name string, want official) {
	t.Helper()
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Error(err)
		return
	}
	if tr.Skipped > 0 {
		t.Errorf("%s: %d lines were skipped", name, tr.Skipped)
	}
	compare(t, name, said(t, tr), texts(t, want.Messages[id]))
	if n := tr.Len(); n != len(want.Messages[id]) {
		t.Errorf("%s: Len = %d, want %d", name, n, len(want.Messages[id]))
	}
	var system []string
	for m, err := range tr.Messages(t.Context(), history.Page{System: true}) {
		if err != nil {
			t.Fatal(err)
		}
		system = append(system, m.Head().Type+" "+m.UUID)
	}
	compare(t, name+" with system lines", system, want.System[id])
	agents, err := tr.Subagents(t.Context())
	if err != nil {
		t.Error(err)
	}
	if len(agents) != len(want.Agents[id]) {
		t.Errorf("%s: %d subagents, want %d", name, len(agents), len(want.Agents[id]))
	}
	for _, a := range agents {
		sub, err := tr.Subagent(t.Context(), a.ID)
		if err != nil {
			t.Error(err)
			continue
		}
		compare(t, name+" "+a.ID, said(t, sub), texts(t, want.Agents[id][a.ID]))
	}
}

// said writes the messages of a transcript, one per line.
func said(t *testing.T, tr *history.Transcript) []string {
	t.Helper()
	var out []string
	for m, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		b := m.Head()
		var raw struct {
			Message json.RawMessage `json:"message"`
			Parent  string          `json:"parent_tool_use_id"`
		}
		if err := json.Unmarshal(b.Raw, &raw); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join([]string{b.Type, m.UUID, b.SessionID, raw.Parent, canonical(t, raw.Message)}, " "))
	}
	return out
}

func texts(t *testing.T, list []officialMessage) []string {
	t.Helper()
	var out []string
	for _, m := range list {
		out = append(out, strings.Join([]string{m.Type, m.UUID, m.Session, m.Parent, canonical(t, m.Message)}, " "))
	}
	return out
}

// The real CLI resumes a fork, and the model gets the same messages as in the
// original.
func TestRealFork(t *testing.T) {
	w := newWorkshop(t)
	dir := w.dir(t, "work")
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	read := claudetest.ScriptedCall{Name: "Read", Input: map[string]string{"file_path": filepath.Join(dir, "a")}}
	id := w.session(t, dir, nil, func(s *claude.Session) {
		w.ask(t, s, "First", claudetest.Say("one"))
		w.ask(t, s, "/compact", claudetest.Say("<summary>One was asked.</summary>"))
		w.ask(t, s, "Second", claudetest.UseTools(read, read), claudetest.Say("two"))
		w.ask(t, s, "Third", claudetest.Say("three"))
	})
	h := history.Disk(w.config)
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var second string
	for m, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := m.Message.(*message.Assistant); ok && a.Text() == "two" {
			second = m.UUID
		}
	}
	// resume asks one more question and returns what the model was told.
	resume := func(id string, change func(*claude.Options)) []string {
		t.Helper()
		w.session(t, dir, func(o *claude.Options) {
			o.Resume = id
			if change != nil {
				change(o)
			}
		}, func(s *claude.Session) { w.ask(t, s, "Last", claudetest.Say("bye")) })
		calls := w.model.Calls()
		var told []string
		for _, m := range calls[len(calls)-1].Messages {
			told = append(told, m.Role+" "+canonical(t, m.Content))
		}
		return told
	}
	whole, err := h.Fork(t.Context(), id, history.ForkOptions{Title: "A copy"})
	if err != nil {
		t.Fatal(err)
	}
	part, err := h.Fork(t.Context(), id, history.ForkOptions{UpTo: second})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := h.Info(t.Context(), whole); err != nil || info.Title != "A copy" {
		t.Errorf("the fork is called %q, %v", info.Title, err)
	}
	before, err := os.ReadFile(transcriptOf(t, w.config, id))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "part", resume(part, nil), resume(id, func(o *claude.Options) { o.ForkSession, o.ResumeAt = true, second }))
	compare(t, "whole", resume(whole, nil), resume(id, func(o *claude.Options) { o.ForkSession = true }))
	after, err := os.ReadFile(transcriptOf(t, w.config, id))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the original has changed")
	}
}

// transcriptOf finds the file of a session.
func transcriptOf(t *testing.T, config, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(config, "projects", "*", id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("session %s is in %q, %v", id, found, err)
	}
	return found[0]
}

// A fork of a session with a deferred call ends before the call.
func TestRealForkBeforeDeferral(t *testing.T) {
	w := newWorkshop(t)
	dir := w.dir(t, "work")
	var prompt string
	id := w.session(t, dir, func(o *claude.Options) {
		o.Hooks = []hook.Hook{hook.PreToolUse("Write", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return hook.DeferTool(), nil
		})}
	}, func(s *claude.Session) {
		w.ask(t, s, "First", claudetest.Say("one"))
		w.model.Add(claudetest.UseTool("Write", map[string]string{"file_path": filepath.Join(dir, "w"), "content": "x"}))
		var err error
		if prompt, err = s.Send(t.Context(), "Write it"); err != nil {
			t.Fatal(err)
		}
		for m, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := m.(*message.Result); ok && slices.Contains(r.Prompts, prompt) {
				break
			}
		}
	})
	h := history.Disk(w.config)
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if s, open := tr.PromptState(prompt); s != history.PromptDeferred || len(open) != 1 {
		t.Errorf("the prompt is %v, open calls %q", s, open)
	}
	for keep, want := range map[bool]int{false: 3, true: 4} {
		fork, err := h.Fork(t.Context(), id, history.ForkOptions{KeepDeferred: keep})
		if err != nil {
			t.Fatal(err)
		}
		copied, err := h.Read(t.Context(), fork)
		if err != nil {
			t.Fatal(err)
		}
		if copied.Len() != want {
			t.Errorf("with KeepDeferred %v the fork has %d messages, want %d", keep, copied.Len(), want)
		}
	}
}

// A session whose transcript is kept in a store is the same there as on disk, and
// the real CLI resumes it from there after every possible change.
func TestRealInStore(t *testing.T) {
	w := newWorkshop(t)
	dir := w.dir(t, "work")
	kept := store.Memory()
	in := func(o *claude.Options) { o.Store = &claude.StoreOptions{Store: kept, Project: "tenant"} }
	id := w.session(t, dir, in, func(s *claude.Session) {
		w.ask(t, s, "Have it looked at", claudetest.UseTool("Agent", map[string]any{
			"description": "look", "prompt": "Look at it", "subagent_type": "general-purpose", "run_in_background": false,
		}), claudetest.Say("I looked"), claudetest.Say("It was looked at"))
		w.ask(t, s, "And again", claudetest.Say("No need"))
	})
	h := history.In(kept, "tenant")
	here, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	there, err := history.Disk(w.config).Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "messages", said(t, here), said(t, there))
	a, errA := here.Subagents(t.Context())
	b, errB := there.Subagents(t.Context())
	if errA != nil || errB != nil || len(a) != 1 || len(b) != 1 || a[0].ID != b[0].ID || a[0].Type != b[0].Type || a[0].ToolUseID != b[0].ToolUseID {
		t.Errorf("subagents %+v, %v; on disk %+v, %v", a, errA, b, errB)
	}
	if err := errors.Join(h.Rename(t.Context(), id, "Looked at"), h.Tag(t.Context(), id, "seen"), h.Archive(t.Context(), id)); err != nil {
		t.Fatal(err)
	}
	fork, err := h.Fork(t.Context(), id, history.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(transcriptOf(t, w.config, id))
	for _, id := range []string{id, fork} {
		var text []byte
		for e, err := range store.Entries(t.Context(), kept, store.Key{Project: "tenant", Session: id}) {
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, e...), '\n')
		}
		if err := os.WriteFile(filepath.Join(folder, id+".jsonl"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		w.session(t, dir, func(o *claude.Options) { o.Resume = id }, func(s *claude.Session) {
			w.ask(t, s, "Are you there?", claudetest.Say("Yes"))
		})
		calls := w.model.Calls()
		if n := len(calls[len(calls)-1].Messages); n < 5 {
			t.Errorf("session %s: the model was told %d messages", id, n)
		}
	}
	info, err := h.Info(t.Context(), id)
	if err != nil || info.Title != "Looked at" || info.Tag != "seen" || !info.Archived {
		t.Errorf("in the store: %+v, %v", info, err)
	}
}
