package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// death is where a worker is killed: at a call of its kind, after some others. The kinds are
// "get" and "put" of a chunk, "record" before and "recorded" after the record of a save, and
// "git".
type death struct {
	Call  string
	After int64
	// Restored kills a worker that has got through its restore. Otherwise it is the save after
	// a turn that counts.
	Restored bool
}

// What a worker reports that was not killed at such a call.
const (
	restored = "restored"
	answered = "answered"
)

// mortal kills its process at a call.
type mortal struct {
	call string
	left atomic.Int64
}

func newMortal(d death) *mortal {
	m := &mortal{call: d.Call}
	m.left.Store(d.After)
	return m
}

func (m *mortal) count(call string) {
	if call == m.call && m.left.Add(-1) < 0 {
		die()
	}
}

// die kills this process.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type mortalBlobs struct {
	workspace.Blobs
	*mortal
}

func (b *mortalBlobs) Get(ctx context.Context, name string) ([]byte, error) {
	b.count("get")
	return b.Blobs.Get(ctx, name)
}

func (b *mortalBlobs) Put(ctx context.Context, name string, data []byte) error {
	b.count("put")
	return b.Blobs.Put(ctx, name, data)
}

type mortalRecords struct {
	store.Records
	*mortal
}

func (r *mortalRecords) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	r.count("record")
	next, err := r.Records.Change(ctx, f, c...)
	r.count("recorded")
	return next, err
}

// gitFile has how many calls of git are left, as long as it is there. It lies beside a git
// that counts them, and kills the process that has called it.
const gitFile = "left"

// mortalGit makes such a git, and returns its folder.
func mortalGit(t *testing.T) string {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nif read -r left 2>/dev/null <'%s'; then\n[ \"$left\" -gt 0 ] || { kill -9 $PPID; exit 1; }\necho $((left - 1)) >'%[1]s'\nfi\nexec '%s' \"$@\"\n", filepath.Join(dir, gitFile), real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// arm lets the calls of git count from now on.
func (w chainWorker) arm() {
	if w.Dies != nil && w.Dies.Call == "git" {
		if err := os.WriteFile(filepath.Join(w.Git, gitFile), fmt.Append(nil, w.Dies.After, "\n"), 0o600); err != nil {
			panic(err)
		}
	}
}

// started is called when the folder of the conversation is there, before its CLI starts.
func (w chainWorker) started() {
	switch {
	case w.Dies == nil:
	case w.Dies.Restored:
		w.report(restored)
	default:
		w.arm()
	}
}

// report ends a worker that was not killed.
func (w chainWorker) report(what string) {
	if err := os.WriteFile(w.Report, []byte(what), 0o600); err != nil {
		panic(err)
	}
	die()
}

// playChainWorker runs a prompt in a fleet of its own, and is killed.
func playChainWorker() {
	var w chainWorker
	if err := json.Unmarshal([]byte(os.Getenv(chainRole)), &w); err != nil {
		panic(err)
	}
	f, _, err := w.open(context.Background())
	if err != nil {
		panic(err)
	}
	if w.Dies.Restored {
		w.arm()
	}
	text, err := lastText(f.RunPrompt(context.Background(), "ada", fleet.Prompt{ID: w.ID, Text: w.Prompt}))
	if err == nil {
		err = f.Close(context.Background())
	}
	if err != nil {
		panic(fmt.Sprintf("%q, %v", text, err))
	}
	w.report(answered)
}

// killed runs the worker as a process that dies, ends its lease, and returns what it has
// reported before.
func (w chainWorker) killed(t *testing.T, mark string, d death) (reported string) {
	t.Helper()
	w.Dies, w.Git, w.Report = &d, mortalGit(t), filepath.Join(t.TempDir(), "report")
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CLAUDE_TEST_ROLE=chain", chainRole+"="+string(text), "TMPDIR="+t.TempDir(), "PATH="+w.Git+":"+os.Getenv("PATH"), leak.Mark())
	out, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || !status.Signaled() {
		t.Fatalf("%+v: %v: %s", d, err, out)
	}
	free(t, store.Files(w.Store), "p", "fleet/c/ada")
	eventually(t, "the CLI outlives its program", func() bool { return len(leak.MarkedBy(mark)) == 0 })
	said, _ := os.ReadFile(w.Report)
	return string(said)
}

// killedEverywhere kills workers at every call of some kinds, until one gets through, and
// looks at what they leave.
func killedEverywhere(t *testing.T, mark string, next func() chainWorker, restore bool, calls []string, look func(t *testing.T, what string)) {
	t.Helper()
	for _, call := range calls {
		for n := int64(0); ; n++ {
			reported := next().killed(t, mark, death{call, n, restore})
			look(t, fmt.Sprintf("killed at %s %d (%s)", call, n, reported))
			if reported != "" {
				t.Logf("killed at each of %d calls: %s", n, call)
				if n == 0 {
					t.Errorf("not among the calls: %s", call)
				}
				break
			}
		}
	}
}

// wholeNotes returns how many turns have left a line and a commit, and fails if there is
// one without the other.
func wholeNotes(t *testing.T, what, main, notes, log string) (turns int) {
	t.Helper()
	turns = strings.Count(notes, "more\n")
	if main != "package edited\n" || notes != "begun\n"+strings.Repeat("more\n", turns) || log != strings.Repeat("by the hook\n", turns+1)+"first" {
		t.Errorf("%s: a mix: %q, %q, %q", what, main, notes, log)
	}
	return turns
}
