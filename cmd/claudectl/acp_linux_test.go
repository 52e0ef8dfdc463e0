package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// leftAfter is the promise of docs/acp.md: this long after its editor is gone, no process
// of the agent is left.
const leftAfter = 5 * time.Second

// TestRealACP is an editor that starts the program with the real CLI, and is gone: by
// closing its end, and with the program killed; while the CLI is idle, while it speaks,
// and while it runs a command that would not end. No process may be left, and the session
// must open again.
func TestRealACP(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	for _, end := range []string{"closed", "killed"} {
		for _, does := range []string{"idle", "speaks", "runs a command"} {
			t.Run(end+", "+does, func(t *testing.T) { goneEditor(t, cli, end == "killed", does) })
		}
	}
}

func goneEditor(t *testing.T, cli string, kills bool, does string) {
	mark := leak.Processes(t)
	second := claudetest.Say(strings.Repeat("word ", 500)).Chunks(5, 50*time.Millisecond)
	if does == "runs a command" {
		second = claudetest.UseTool("Bash", map[string]string{"command": "mkfifo never && echo runs > runs && cat never"})
	}
	model := claudetest.NewModel(claudetest.Say("hello"), second)
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	env = append(env, asProgram+"=1", mark)
	record := filepath.Join(home, "session.ndjson")
	said := make(chan struct{}, 1000)
	start := func() (*exec.Cmd, *drive.Driver) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "acp", "--cli", cli, "--record", record)
		cmd.Env, cmd.Dir = env, home
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		d := drive.Connect(struct {
			io.Reader
			io.WriteCloser
		}{stdout, stdin}, drive.Setup{
			OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
				if up.AgentMessageChunk != nil {
					said <- struct{}{}
				}
			},
			Permission: func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID { return "allow-once" },
		})
		if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
			t.Fatal(err)
		}
		t.Logf("initialize answered %v after the start", time.Since(begin))
		return cmd, d
	}
	cmd, d := start()
	id := d.New(t, home)
	if _, err := d.Prompt(t.Context(), id, "Hello."); err != nil {
		t.Fatal(err)
	}
	<-said
	if does != "idle" {
		go d.Prompt(t.Context(), id, "Go.")
	}
	switch does {
	case "speaks":
		<-said
	case "runs a command":
		for begin := time.Now(); ; <-time.After(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(home, "runs")); err == nil {
				break
			}
			if time.Since(begin) > time.Minute {
				t.Fatal("the command does not run")
			}
		}
	}
	left := leak.Outlive(mark)
	if kills {
		cmd.Process.Signal(syscall.SIGKILL)
	}
	d.Close()
	if err := cmd.Wait(); err != nil && !kills {
		t.Errorf("exit: %v", err)
	}
	took, err := left.Within(leftAfter)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("nothing left after %v", took)
	if got := invoke(t, "", "inspect", record); got.code != 0 || !strings.Contains(got.stdout, "hello") {
		t.Errorf("the recording: exit code %d, %s\n%s", got.code, got.stderr, got.stdout)
	}
	cmd, d = start()
	if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: home}, nil); err != nil {
		t.Errorf("load: %v", err)
	}
	if text := d.Text(id); !strings.HasPrefix(text, "hello") {
		t.Errorf("loaded %q, want what was said", text)
	}
	d.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// TestRecordingKilled ends a CLI that ignores everything in time, behind its recording.
func TestRecordingKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.NewCLI(&claudetest.Script{IgnoreEOF: true, IgnoreTerm: true})
		s, err := claude.Connect(t.Context(), &claude.Options{
			Transport: recording{filepath.Join(t.TempDir(), "session.ndjson"), cli},
			Timeouts:  claude.Timeouts{Close: time.Second, Kill: 2 * time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("closed after %v, want 2 s", took)
		}
	})
}

// TestRecordingClosed leaves no recording open after its session.
func TestRecordingClosed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "session.ndjson")
	s, err := claude.Connect(t.Context(), &claude.Options{Transport: recording{name, claudetest.New(claudetest.Say("hello"))}})
	if err != nil {
		t.Fatal(err)
	}
	if !isOpen(t, name) {
		t.Fatal("the recording is not open during the session")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); isOpen(t, name); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the recording is open 10 s after the session")
		}
	}
	if data, err := os.ReadFile(name); err != nil || !strings.Contains(string(data), "exit_code") {
		t.Errorf("the recording lacks its end: %v, %s", err, data)
	}
}

// isOpen reports whether this process has a file open.
func isOpen(t *testing.T, name string) bool {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		return err == nil && target == name
	})
}

// TestPolicyFile reads rules for an editor, and refuses what it does not know.
func TestPolicyFile(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"deny":["Bash(rm:*)"],"allow":["Read"],"confine":true}`: true,
		`{}`:                    true,
		`{"denny":["Bash"]}`:    false,
		`{"deny":["Bash("]}`:    false,
		`{"deny":"Bash"}`:       false,
		`{"deny":[],"deny":[]}`: false,
		`deny`:                  false,
	} {
		name := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readPolicy(name); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestACPLogin signs in with the CLI, for the account that was chosen.
func TestACPLogin(t *testing.T) {
	cli := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(cli, []byte("#!/bin/sh\necho signed in: \"$@\"\nexit ${STATUS:-0}\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for account, want := range map[string]string{"--claudeai": "--claudeai", "--console": "--console", "": "--claudeai"} {
		args := []string{"acp", "--cli", cli, "--login"}
		if account != "" {
			args = append(args, account)
		}
		if got := invoke(t, "", args...); got.code != 0 || got.stdout != "signed in: auth login "+want+"\n" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := invoke(t, "", "acp", "--cli", cli, "--login", "--claudeai", "--console"); got.code != int(exitUsage) {
		t.Errorf("both accounts: %+v", got)
	}
	if got := invoke(t, "", "acp", "--cli", cli+"-not", "--login"); got.code == 0 || !strings.Contains(got.stderr, "claude-not") {
		t.Errorf("no CLI: %+v", got)
	}
}
