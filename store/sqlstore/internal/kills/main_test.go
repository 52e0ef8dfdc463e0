package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/internal/test/takeover"
)

// TestMain lets the test binary be the processes that are killed.
func TestMain(m *testing.M) {
	if code, played := takeover.Play(sqlite); played {
		os.Exit(code)
	}
	os.Exit(leak.Main(m.Run))
}

// start makes a place for runs with the real CLI.
func start(t *testing.T) *takeover.Lab {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	l := &takeover.Lab{Backend: sqlite, CLI: realcli.Need(t, realcli.Tested()), Dir: t.TempDir()}
	stop, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Conversations that take turns on two CLIs all get their answers, and leave nothing.
func TestRealCrowd(t *testing.T) {
	l, c := start(t), takeover.Crowd{Conversations: 6, CLIs: 2, For: 0}
	r, err := l.RunCrowd(t.Context(), c)
	if err == nil {
		err = r.Err(c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The smallest table with the real CLI: nothing in it is wrong, and every process that was
// to be killed was.
func TestRealKills(t *testing.T) {
	l := start(t)
	table, err := l.RunAll(t.Context(), takeover.Plan{
		Tools: []takeover.Tool{takeover.Bash, takeover.GoTool}, Gates: []takeover.Gate{takeover.Person, takeover.NoGate},
		Delays: []time.Duration{5 * time.Millisecond}, Runs: 1, Writes: 1, Side: 4,
	}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	table.Print(&text)
	t.Log(text.String())
	if len(table.Faults) > 0 || !strings.Contains(text.String(), "12 runs, 12 of them killed, 0 wrong") {
		t.Error("the table has faults")
	}
}
