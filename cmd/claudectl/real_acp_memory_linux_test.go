package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// mostMemory is the promise of docs/performance.md for an agent with three sessions, its
// program included.
const mostMemory = 15 << 20

// TestRealACPMemory has three sessions on the real CLI, with turns that answer, ask and run
// a command, and write a long text. At the start and at the end of each turn the agent keeps
// to its promise.
func TestRealACPMemory(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel()
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	cmd := exec.CommandContext(t.Context(), built(t), "acp", "--cli", cli)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, home, 10*time.Second
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	peak := 0
	d := drive.Connect(struct {
		io.Reader
		io.WriteCloser
	}{stdout, stdin}, drive.Setup{
		Capabilities: schema.ClientCapabilities{Meta: map[string]any{"terminal_output": true}},
		Permission:   func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID { return "allow-once" },
		OnUpdate: func(schema.SessionID, schema.SessionUpdate) {
			now, _ := residentOf(t, cmd.Process.Pid)
			peak = max(peak, now)
		},
	})
	defer d.Close()
	keeps := func(when string) {
		t.Helper()
		now, own := residentOf(t, cmd.Process.Pid)
		t.Logf("%s: %.1f MiB, %.1f of its own", when, float64(now)/(1<<20), float64(own)/(1<<20))
		if now > mostMemory {
			t.Errorf("%s the agent has %d bytes, more than %d", when, now, mostMemory)
		}
	}
	if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	keeps("initialized")
	var sessions []schema.SessionID
	for range 3 {
		sessions = append(sessions, d.New(t, home))
	}
	for _, turn := range []struct {
		what    string
		replies []claudetest.Reply
	}{
		{"an answer", []claudetest.Reply{claudetest.Say("Hello.")}},
		{"a command", []claudetest.Reply{claudetest.Say("I will.").With(claudetest.UseTool("Bash", map[string]string{"command": "echo here >> ran.txt"})), claudetest.Say("Done.")}},
		{"a text", []claudetest.Reply{claudetest.Say(strings.Repeat("word ", 1000)).Chunks(5, time.Millisecond)}},
	} {
		for i, id := range slices.Concat(sessions, sessions) {
			model.Add(turn.replies...)
			if _, err := d.Prompt(t.Context(), id, "More."); err != nil {
				t.Fatal(err)
			}
			keeps(fmt.Sprintf("after %s in session %d", turn.what, i%3+1))
		}
	}
	t.Logf("at most, when a message came: %.1f MiB", float64(peak)/(1<<20))
}

// residentOf returns the memory of a process in bytes, as the kernel counts it page by page:
// all that is loaded, and what the process has for itself.
func residentOf(t *testing.T, pid int) (all, own int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "Rss: %d kB", &all)
		_, _ = fmt.Sscanf(line, "Anonymous: %d kB", &own)
	}
	if all == 0 || own == 0 {
		t.Errorf("no figures in %s", text)
	}
	return all << 10, own << 10
}
