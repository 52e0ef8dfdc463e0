//go:build unix

package natsfleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// computer is a machine with the real CLI: a home and a working directory of its
// own, and a worker in a process of its own.
type computer struct {
	*process
	dir string
}

func startComputer(t *testing.T, url, model string) *computer {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	path := realcli.Need(t, realcli.Tested())
	mark := leak.Processes(t)
	env, _ := realcli.Env(t, model)
	dir := t.TempDir()
	p := startWorkerProcess(t, workerRole{URL: url, CLI: path, Dir: dir, Env: append(env, mark), Patience: 100 * time.Millisecond})
	return &computer{p, dir}
}

// noted returns what the tool has written on this computer.
func (c *computer) noted() string {
	text, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		return err.Error()
	}
	return string(text)
}

// noteModel makes a note on request, and reports the outcome.
func noteModel(t *testing.T) (url string) {
	t.Helper()
	m := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if n := len(c.ToolResults); n > 0 {
			return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
		}
		command := "echo one >> log"
		if strings.Contains(c.Prompt, "and rest") {
			command = "echo two >> log; sleep 60"
		}
		return claudetest.UseTool("Bash", map[string]string{"command": command, "description": "note it"})
	})
	url, err := m.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return url
}

func allow(t *testing.T, f *natsfleet.Client, q approval.Question) {
	t.Helper()
	if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
}

// The real CLI on three computers. A call is deferred on the first, which dies; it is
// decided, and the second makes it, once. The second dies while another call runs:
// the third does not make it again, and reports its outcome as unknown.
func TestRealComputersDie(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	client, model := connect(t, c.URL()), noteModel(t)
	first := startComputer(t, c.URL(), model)
	id, q := deferred(t, client, "ada", "make a note")
	first.signal(syscall.SIGKILL)
	allow(t, client, q)

	second := startComputer(t, c.URL(), model)
	if o := ends(t, client, "ada", id); !strings.Contains(o.Text, "It says:") {
		t.Errorf("the answer: %+v", o)
	}
	if first.noted() != "" || second.noted() != "one\n" {
		t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
	}
	settled(t, client, q.ID, approval.OutcomeRan)

	id, q = deferred(t, client, "ada", "make a note and rest")
	allow(t, client, q)
	eventually(t, "the tool did not run", func() bool { return strings.Contains(second.noted(), "two") })
	second.signal(syscall.SIGKILL)
	third := startComputer(t, c.URL(), model)
	o := ends(t, client, "ada", id)
	if !strings.Contains(o.Text, "It says:") {
		t.Errorf("the answer: %+v", o)
	}
	if second.noted() != "one\ntwo\n" || third.noted() != "" {
		t.Errorf("the tool wrote %q, then %q", second.noted(), third.noted())
	}
	settled(t, client, q.ID, approval.OutcomeUnknown)
	t.Logf("the model was told: %s", o.Text)
}

// settled wants a question to have ended in a way.
func settled(t *testing.T, f *natsfleet.Client, id string, want approval.Outcome) {
	t.Helper()
	if q, err := f.Approvals().Get(t.Context(), id); err != nil || q.State != approval.StateSettled || q.Outcome != want {
		t.Errorf("the question is %s %s, %v; want %s", q.State, q.Outcome, err, want)
	}
}
