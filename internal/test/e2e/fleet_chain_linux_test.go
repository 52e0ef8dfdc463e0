package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// chainWorker is a machine of a fleet with everything: conversations have git worktrees that
// travel, run in bubblewrap, and reach the API through a proxy that has the key.
type chainWorker struct {
	CLI, Upstream, Key string
	Env                []string // of the CLI, with a home of its own
	Repo, Root         string   // a clone, and where the worktrees are
	Store, Blobs       string   // what all workers share
	Journal            string
	Prompt, ID         string // what a worker runs that is another process
	// Dies kills the process. Git is the folder of the git that it calls then, and Report a
	// file for what it has reached.
	Dies        *death
	Git, Report string
}

// chainRole is the variable that makes the test binary such a process.
const chainRole = "CHAIN_WORKER"

// committer commits what commands leave, outside of the sandbox, where the repository is.
func (w chainWorker) committer(ctx context.Context, in *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) {
	cmd := exec.CommandContext(ctx, "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message=by the hook", "--", "notes")
	cmd.Dir = in.Cwd
	add := exec.CommandContext(ctx, "git", "add", "notes")
	add.Dir = in.Cwd
	if out, err := add.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return nil, nil
}

func (w chainWorker) snapshots(ctx context.Context) (*workspace.Snapshots, error) {
	trees, err := workspace.NewWorktrees(ctx, workspace.WorktreeOptions{Repo: w.Repo, Root: w.Root})
	if err != nil {
		return nil, err
	}
	o := workspace.SnapshotOptions{Worktrees: trees, Records: store.Files(w.Store), Project: "p", Blobs: workspace.FileBlobs(w.Blobs)}
	if w.Dies != nil {
		m := newMortal(*w.Dies)
		o.Records, o.Blobs = &mortalRecords{o.Records, m}, &mortalBlobs{o.Blobs, m}
	}
	return workspace.NewSnapshots(o)
}

// open opens the fleet of a worker. Call end when it is closed.
func (w chainWorker) open(ctx context.Context) (f *fleet.Fleet, end func(), err error) {
	files, err := w.snapshots(ctx)
	if err != nil {
		return nil, nil, err
	}
	proxy, err := egress.New(egress.Options{Upstream: w.Upstream, Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
		return egress.Credential{Secret: w.Key}, nil
	}})
	if err != nil {
		return nil, nil, err
	}
	url, err := proxy.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	helper, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	f, err = fleet.Open(ctx, fleet.Options{
		Store: store.Files(w.Store), Project: "p", Journal: w.Journal, Attempts: 100, Workspace: files, Egress: &fleet.Egress{Proxy: proxy, URL: url},
		Gate: &approval.Options{Patience: 100 * time.Millisecond, Needs: approval.NeedsRules("Edit")},
		Session: func(ctx context.Context, _ string) (*claude.Options, error) {
			inside := &sandbox.Bubblewrap{Helper: helper}
			if dir := workspace.From(ctx); dir != nil { // under one path on all machines: what a person has approved names it
				inside.Mounts = []sandbox.Mount{{Source: dir.Path(), Target: "/workspace", Writable: true}}
				w.started()
			}
			return &claude.Options{
				CLIPath: w.CLI, Env: w.Env, Transport: inside, Hooks: []hook.Hook{hook.PostToolUse("Bash", w.committer)},
				PermissionMode: permission.ModeBypassPermissions, AllowBypassPermissions: true,
			}, nil
		},
	})
	return f, func() { _ = proxy.Close() }, err
}

// TestRealWholeChain has a conversation with a commit, an untracked file and a gated edit
// that sleeps on one machine. It wakes on another, with another clone, root and home, and the
// edit is made there, once. Processes that are killed at any chunk, record or git while they
// restore or save it leave the last whole state to the next. The key is in none of the
// sandboxes.
func TestRealWholeChain(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	const key = "sk-ant-api03-the-real-key-of-this-chain"
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		last := ""
		for _, r := range c.ToolResults {
			last = r.Text
		}
		switch answered := len(c.ToolResults) > 0; {
		case strings.Contains(c.Prompt, "begin") && !answered:
			return bash("echo begun >> notes; env > seen; cat /proc/*/environ /proc/*/cmdline >> seen 2>/dev/null; echo done-by-bash")
		case strings.Contains(last, "done-by-bash"):
			return claudetest.UseTool("Read", map[string]string{"file_path": "/workspace/main.go"})
		case strings.Contains(last, "package old") && !strings.Contains(last, "edited"):
			return claudetest.UseTool("Edit", map[string]string{"file_path": "/workspace/main.go", "old_string": "old", "new_string": "edited"})
		case strings.Contains(c.Prompt, "more") && !answered:
			return bash("echo more >> notes")
		case answered:
			return claudetest.Say("It says: " + last)
		}
		return claudetest.Say("nothing to do")
	})
	first := startReal(t, model)
	shared := chainWorker{CLI: first.opts.CLIPath, Upstream: model.URL(), Key: key, Store: t.TempDir(), Blobs: t.TempDir()}
	origin := t.TempDir()
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.WriteFile(filepath.Join(origin, "main.go"), []byte("package old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(origin, "init", "--quiet")
	git(origin, "add", ".")
	git(origin, "commit", "--quiet", "--message=first")
	worker := func() chainWorker {
		w := shared
		w.Repo, w.Root, w.Journal = filepath.Join(t.TempDir(), "clone"), t.TempDir(), t.TempDir()
		git(origin, "clone", "--quiet", origin, w.Repo)
		env, _ := realcli.Env(t, model.URL())
		w.Env = append(env, first.mark, "ANTHROPIC_API_KEY="+key)
		return w
	}
	open := func(w chainWorker) (*fleet.Fleet, func()) {
		t.Helper()
		f, end, err := w.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return f, func() { closeFleet(t, f); end() }
	}
	// state is found by a machine that has never seen the conversation.
	state := func() (main, notes, log string) {
		t.Helper()
		files, err := worker().snapshots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d, err := files.Open(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(d.Path(), name))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		return read("main.go"), read("notes"), git(d.Path(), "log", "--format=%s")
	}
	const id = "00000000-0000-4000-8000-00000000000a"
	prompt := fleet.Prompt{ID: id, Text: "begin"}

	a := worker()
	f, end := open(a)
	_, err := lastText(f.RunPrompt(t.Context(), "ada", prompt))
	waits, ok := errors.AsType[*fleet.DeferredError](err)
	if !ok {
		t.Fatalf("not deferred: %v", err)
	}
	end()
	if main, notes, log := state(); main != "package old\n" || notes != "begun\n" || log != "by the hook\nfirst" {
		t.Errorf("while it sleeps: %q, %q, %q", main, notes, log)
	}

	b := worker()
	f, err = fleet.Open(t.Context(), fleet.Options{Store: store.Files(shared.Store), Project: "p", MaxLive: fleet.NoCLIs, Gate: new(approval.Options)})
	if err != nil {
		t.Fatal(err)
	}
	q, err := f.Approvals().Get(t.Context(), waits.Question)
	if err == nil { // where no process runs the conversation
		_, err = f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
	}
	if err != nil {
		t.Fatal(err)
	}
	closeFleet(t, f)
	for _, call := range []string{"get", "git"} {
		machine := worker() // that finds what the killed ones before have left there
		machine.Prompt, machine.ID = prompt.Text, id
		killedEverywhere(t, first.mark, func() chainWorker { return machine }, true, []string{call}, func(t *testing.T, what string) {
			t.Helper()
			if main, notes, log := state(); main != "package old\n" || notes != "begun\n" || log != "by the hook\nfirst" {
				t.Errorf("%s in the restore: %q, %q, %q", what, main, notes, log)
			}
		})
	}
	f, end = open(b)
	text, err := lastText(f.RunPrompt(t.Context(), "ada", prompt))
	if err != nil || !strings.Contains(text, "It says: The file /workspace/main.go has been updated") {
		t.Fatalf("the answer: %q, %v", text, err)
	}
	end()
	if main, notes, log := state(); main != "package edited\n" || notes != "begun\n" || log != "by the hook\nfirst" {
		t.Errorf("after the edit: %q, %q, %q", main, notes, log)
	}
	left, _ := filepath.Glob(filepath.Join(a.Root, "*", "main.go"))
	if len(left) != 1 {
		t.Fatalf("the first machine has %q", left)
	}
	if text, err := os.ReadFile(left[0]); err != nil || string(text) != "package old\n" {
		t.Errorf("the edit was made on the first machine: %q, %v", text, err)
	}

	prompts, turns := 0, 0
	more := func() chainWorker {
		w := worker()
		prompts++
		w.Prompt, w.ID = "more", fmt.Sprintf("00000000-0000-4000-8000-b%011x", prompts)
		return w
	}
	killedEverywhere(t, first.mark, more, false, []string{"put", "record", "recorded", "git"}, func(t *testing.T, what string) {
		t.Helper()
		main, notes, log := state()
		now := wholeNotes(t, what+" in the save", main, notes, log)
		if now < turns || now == turns && (strings.Contains(what, answered) || strings.Contains(what, "recorded")) {
			t.Errorf("%s in the save: %d turns are left of %d: %q", what, now, turns, notes)
		}
		turns = now
	})
	c := worker()
	f, end = open(c)
	if text, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: "00000000-0000-4000-8000-00000000000c", Text: "more"})); err != nil || !strings.Contains(text, "It says:") {
		t.Errorf("the answer: %q, %v", text, err)
	}
	end()
	if main, notes, log := state(); wholeNotes(t, "in the end", main, notes, log) <= turns {
		t.Errorf("in the end there are no more than %d turns: %q", turns, notes)
	}
	seen, _ := filepath.Glob(filepath.Join(a.Root, "*", "seen"))
	if len(seen) != 1 {
		t.Fatalf("the attack has left %q", seen)
	}
	if text, err := os.ReadFile(seen[0]); err != nil || strings.Contains(string(text), key) || !strings.Contains(string(text), "ANTHROPIC_API_KEY=") {
		t.Errorf("the attack found the key, or did not look: %d bytes, %v", len(text), err)
	}
	for _, call := range model.Calls() {
		if call.Header.Get("X-Api-Key") != key {
			t.Errorf("the API is asked with %q", call.Header.Get("X-Api-Key"))
		}
	}
}
