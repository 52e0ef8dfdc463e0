package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp/acptest"
	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestRealACP is an editor that starts the program with the real CLI, and is gone
// in the middle of a turn: by closing its end, and with the program killed. No
// process may be left, and the session must open again.
func TestRealACP(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	for _, end := range []string{"closed", "killed"} {
		t.Run(end, func(t *testing.T) {
			mark := leak.Processes(t)
			model := claudetest.NewModel(claudetest.Say("hello"), claudetest.Say(strings.Repeat("word ", 500)).Chunks(5, 50*time.Millisecond))
			base, err := model.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			env, home := realcli.Env(t, base)
			env = append(env, asProgram+"=1", mark)
			record := filepath.Join(home, "session.ndjson")
			said := make(chan struct{}, 1000)
			start := func() (*exec.Cmd, *acptest.Driver) {
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
				d := acptest.Connect(struct {
					io.Reader
					io.WriteCloser
				}{stdout, stdin}, acptest.Setup{OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
					if up.AgentMessageChunk != nil {
						said <- struct{}{}
					}
				}})
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
			go d.Prompt(t.Context(), id, "Go.")
			<-said
			begin := time.Now()
			if end == "killed" {
				cmd.Process.Signal(syscall.SIGKILL)
			}
			d.Close()
			if err := cmd.Wait(); err != nil && end == "closed" {
				t.Errorf("exit: %v", err)
			}
			for ; len(leak.MarkedBy(mark)) > 0; <-time.After(10 * time.Millisecond) {
				if time.Since(begin) > time.Minute {
					t.Fatalf("left after a minute: %q", leak.MarkedBy(mark))
				}
			}
			t.Logf("nothing left after %v", time.Since(begin))
			if _, err := os.Stat(record); err != nil {
				t.Error(err)
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
		})
	}
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
