package realstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// firstMirror is the first CLI that mirrors its transcripts.
const firstMirror = "2.1.97"

// leased is a store with owners.
type leased interface {
	store.Sessions
	store.Leases
}

// The owner's environment variables.
const (
	ownCLI     = "REALSTORE_CLI"
	ownDir     = "REALSTORE_DIR"
	ownEnv     = "REALSTORE_ENV"
	ownProject = "REALSTORE_PROJECT"
	ownJournal = "REALSTORE_JOURNAL"
	separator  = "\x1f" // between the entries of ownEnv
)

// Suspended shows that an owner that is suspended for longer than its lease lasts
// stores nothing when it wakes up, and ends. The process is one that calls [Own]
// with a store of the same data.
func Suspended(t *testing.T, s leased, process *exec.Cmd) {
	t.Helper()
	realcli.Needs(t, firstMirror, "mirrored transcripts")
	release := make(chan struct{})
	m := newMachine(t, realcli.Tested(), claudetest.NewModel(claudetest.Say("one"), claudetest.Say("two").Hold(release)), s)
	project := m.opts.Store.Project
	process.Env = append(process.Environ(), ownCLI+"="+m.opts.CLIPath, ownDir+"="+m.opts.Cwd,
		ownEnv+"="+strings.Join(m.opts.Env, separator), ownProject+"="+project, ownJournal+"="+t.TempDir(), leak.Mark())
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may have ended
		_ = process.Wait()
	})
	said := bufio.NewScanner(out)
	said.Scan()
	key := store.Key{Project: project, Session: said.Text()}
	said.Scan() // it asks a second time
	if err := key.Check(); err != nil || said.Text() != "sent" {
		t.Fatalf("the owner says %q and %q", key.Session, said.Text())
	}
	if err := suspend(process.Process); err != nil {
		t.Fatal(err)
	}
	takeOver(t, s, key)
	before := count(t, s, key)
	close(release)
	if err := wake(process.Process); err != nil {
		t.Fatal(err)
	}
	for said.Scan() {
		if text := said.Text(); text != "lost" {
			t.Errorf("the owner says %q", text)
		}
	}
	if err := process.Wait(); err != nil {
		t.Error(err)
	}
	if after := count(t, s, key); after != before || before == 0 {
		t.Errorf("%d entries before it woke up, %d after", before, after)
	}
}

// takeOver acquires the lease of the other process when it has expired. Until then
// it is refused at once, with the owner's name.
func takeOver(t *testing.T, s leased, key store.Key) {
	t.Helper()
	refused := 0
	for {
		_, err := s.Acquire(t.Context(), key.Project, key.Session, "another", time.Minute)
		if err == nil {
			break
		}
		if held, ok := errors.AsType[*store.HeldError](err); !ok || held.Owner != "the first" {
			t.Fatal(err)
		}
		refused++
		<-time.After(50 * time.Millisecond)
	}
	if refused == 0 {
		t.Error("the session was nobody's")
	}
}

func count(t *testing.T, s store.Sessions, k store.Key) (n int) {
	t.Helper()
	for _, err := range store.Entries(t.Context(), s, k) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Owner reports whether this process was started to call [Own].
func Owner() bool { return os.Getenv(ownCLI) != "" }

// Own has a session with a lease that a test can wait for, and prints what happens to it. Call it from
// TestMain if [Owner] returns true. It returns the exit code.
func Own(s store.Sessions) int {
	ctx := context.Background()
	session, err := claude.Connect(ctx, &claude.Options{
		CLIPath: os.Getenv(ownCLI), Cwd: os.Getenv(ownDir), Env: strings.Split(os.Getenv(ownEnv), separator),
		Store: &claude.StoreOptions{Store: s, Project: os.Getenv(ownProject), Owner: "the first",
			TTL: 10 * time.Second, Journal: os.Getenv(ownJournal)},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := session.Ask(ctx, "first"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(session.ID())
	if _, err := session.Send(ctx, "second"); err != nil {
		fmt.Println(err)
	}
	fmt.Println("sent")
	if err := session.Wait(); !errors.Is(err, store.ErrLeaseLost) {
		fmt.Println(err)
		return 1
	}
	fmt.Println("lost")
	return 0
}
