package claude_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/wire"
)

// playCLI is the test binary in the role of a CLI, as a real child process.
func playCLI(role string) {
	in := bufio.NewReader(os.Stdin)
	greet := func(payload string) {
		line, _ := in.ReadBytes('\n')
		f, _ := wire.Parse(line)
		r, _ := f.Request()
		reply, _ := wire.EncodeSuccess(r.ID, []byte(payload))
		fmt.Printf("%s\n", reply)
	}
	for _, arg := range os.Args {
		if arg == "--version" {
			switch version := os.Getenv("CLI_VERSION"); version {
			case "slow":
				forever()
			case "failing":
				os.Exit(7)
			default:
				fmt.Println(version + " (Claude Code)")
			}
			return
		}
	}
	switch role {
	case "canary":
		playCanary(in)
	case "flood": // a turn of 10,000 messages, then exit
		greet(`{"claude_code_version":"2.1.325"}`)
		line, _ := in.ReadBytes('\n')
		f, _ := wire.Parse(line)
		out := bufio.NewWriter(os.Stdout)
		for i := range 10_000 {
			fmt.Fprintf(out, `{"type":"assistant","n":%d,"message":{"content":"%s"}}`+"\n", i, strings.Repeat("x", 200))
		}
		fmt.Fprintf(out, `{"type":"result","subtype":"success","user_message_uuids":[%q]}`+"\n", f.Text("uuid"))
		out.Flush()
	case "unstoppable": // ignores the end of its input and signals
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		greet(`{"claude_code_version":"2.1.325"}`)
		fmt.Println(`{"type":"system","subtype":"unstoppable"}`)
		forever()
	case "leaver": // leaves a process in its group and one in another session
		greet(`{"claude_code_version":"2.1.325"}`)
		startLeft(false)
		startLeft(true)
		fmt.Println(`{"type":"system","subtype":"left"}`)
		io.Copy(io.Discard, in)
	case "left": // ends at no signal that can be ignored
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		os.Stderr.WriteString("!")
		forever()
	case "patient": // waits for the end of its input
		greet(`{"claude_code_version":"2.1.325"}`)
		io.Copy(io.Discard, in)
	case "modest":
		greet(`{}`)
		in.ReadBytes('\n')
	case "unnamed": // knows hooks that fail closed, names no version, and asks a hook
		greet(`{"hook_on_failure_supported":true}`)
		in.ReadBytes('\n') // the prompt
		fmt.Println(stopRequest)
		answer, _ := in.ReadBytes('\n')
		fmt.Printf(`{"type":"system","subtype":"answer","text":%q}`+"\n", answer)
	case "quitter": // starts something, refuses the handshake and stays
		startLeft(false)
		line, _ := in.ReadBytes('\n')
		f, _ := wire.Parse(line)
		r, _ := f.Request()
		fmt.Printf("%s\n", wire.EncodeError(r.ID, &wire.ReplyError{Message: "no thanks"}))
		forever()
	case "silent":
		forever()
	case "busy": // does not answer the handshake, but asks for permission
		in.ReadBytes('\n')
		fmt.Println(`{"type":"control_request","request_id":"u-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`)
		io.Copy(io.Discard, in)
	case "crash":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "chatty":
		fmt.Fprintln(os.Stderr, "jq: unknown option --frob")
		os.Exit(5)
	case "old":
		fmt.Fprintln(os.Stderr, "error: unknown option '--session-id=x'")
		os.Exit(1)
	}
}

// startLeft starts a process to be left behind, in the CLI's group or in a
// session of its own, and waits until it ignores signals.
func startLeft(session bool) {
	left := exec.Command(os.Args[0])
	left.Env = append(os.Environ(), "CLAUDE_TEST_ROLE=left")
	if session {
		left.SysProcAttr = ownSession
	}
	if os.Getenv("CLI_LEFT_HOLDS") != "" {
		left.Stdout = os.Stdout
	}
	ready, err := left.StderrPipe()
	if err != nil || left.Start() != nil {
		os.Exit(9)
	}
	io.ReadFull(ready, make([]byte, 1))
}

// childCLI returns options that start the test binary as a CLI.
func childCLI(t *testing.T, role string) *claude.Options {
	t.Helper()
	leak.Check(t)
	return &claude.Options{
		CLIPath: os.Args[0],
		Env: append(os.Environ(), "CLAUDE_TEST_ROLE="+role, "CLI_VERSION=1.0.40", leak.Mark(),
			"GORACE=atexit_sleep_ms=0"), // built for race detection it would take a second to exit
		Logger: harness.Logger(t),
	}
}

func TestChildLosesNothing(t *testing.T) {
	s, err := claude.Connect(t.Context(), childCLI(t, "flood"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := harness.Collect(s.Run(t.Context(), "talk"))
	if err != nil || len(got) != 10_001 || got[10_000] != "result " {
		t.Errorf("%d messages, error %v", len(got), err)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("Wait = %v", err)
	}
}

func TestChildThatIgnoresEverything(t *testing.T) {
	long.Test(t, "waits from SIGTERM to SIGKILL")
	o := childCLI(t, "unstoppable")
	o.Timeouts.Close = 100 * time.Millisecond
	s, err := claude.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for range s.Messages(t.Context()) {
		break // it reports when nothing stops it
	}
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("Close took %v, want about 5 s from SIGTERM to SIGKILL", took)
	}
}

// Processes that a CLI leaves behind when it ends in good order are gone when
// Close returns, even if they ignore signals.
func TestChildLeavesNothing(t *testing.T) {
	long.Test(t, "waits for the time between SIGTERM and SIGKILL")
	for name, holds := range map[string]string{"with its output": "yes", "without": ""} {
		t.Run(name, func(t *testing.T) {
			o := childCLI(t, "leaver")
			o.Env = append(o.Env, "CLI_LEFT_HOLDS="+holds)
			s, err := claude.Connect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range s.Messages(t.Context()) {
				break // it reports when it has started them
			}
			if n := len(leak.Marked()); n != 3 {
				t.Errorf("%d processes, want the CLI and two of its own", n)
			}
			begin := time.Now()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if left := leak.Marked(); len(left) > 0 {
				t.Errorf("Close has left %q", left)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("Close took %v, want about 2 s from SIGTERM to SIGKILL", took)
			}
		})
	}
}

func TestChildStartErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		role   string
		change func(*claude.Options)
		check  func(error) bool
		text   string
		waits  bool // it does not end by itself
	}{
		{"crash", "crash", nil, is(claude.ErrExited), "out of luck", false},
		{"silence", "silent", func(o *claude.Options) { o.Timeouts.Initialize = 100 * time.Millisecond }, is(claude.ErrInitializeTimeout), "100ms", false},
		{"silence of an old version", "silent", nil, is(claude.ErrUnsupportedVersion), "1.0.40", true},
		{"refused, and left behind", "quitter", nil, is(claude.ErrInitializeRefused), "no thanks", true},
		{"unknown flag from us", "old", nil, is(claude.ErrUnsupportedVersion), "--session-id", false},
		{"missing program", "crash", func(o *claude.Options) { o.CLIPath = missing }, is(claude.ErrNotFound), missing, false},
		{"not a program", "crash", func(o *claude.Options) { o.CLIPath = file }, is(claude.ErrSpawn), file, false},
		{"nothing in PATH", "crash", func(o *claude.Options) { o.CLIPath = ""; o.Env = []string{"PATH=" + t.TempDir()} }, is(claude.ErrNotFound), "claude", false},
		{"missing directory", "crash", func(o *claude.Options) { o.Cwd = missing }, func(err error) bool {
			bad, ok := errors.AsType[*claude.OptionError](err)
			return ok && bad.Field == "Cwd"
		}, missing, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.waits {
				long.Test(t, "waits for the time between SIGTERM and SIGKILL")
			}
			o := childCLI(t, tt.role)
			if tt.change != nil {
				tt.change(o)
			}
			_, err := claude.Connect(t.Context(), o)
			if left := leak.Marked(); len(left) > 0 {
				t.Errorf("a failed Connect has left %q", left)
			}
			if err == nil || !tt.check(err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error = %v, want %q in it", err, tt.text)
			}
		})
	}
}

// However early Connect is given up, no process of the CLI is left when it
// returns.
func TestChildConnectGivenUp(t *testing.T) {
	for _, after := range []time.Duration{time.Microsecond, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			_, err := claude.Connect(ctx, childCLI(t, "silent"))
			if left := leak.Marked(); len(left) > 0 {
				t.Errorf("a failed Connect has left %q", left)
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func TestChildTooOldForHooks(t *testing.T) {
	o := childCLI(t, "modest") // it does not report its version by itself
	o.Env = append(o.Env, "CLI_VERSION=1.0.70")
	o.Hooks = []hook.Hook{hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, nil })}
	if _, err := claude.Connect(t.Context(), o); !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), "1.0.85") {
		t.Errorf("error = %v", err)
	}
}

func TestChildExitCode(t *testing.T) {
	o := childCLI(t, "crash")
	_, err := claude.Ask(t.Context(), "hello", o)
	exit, ok := errors.AsType[*claude.ProcessError](err)
	if !ok || exit.ExitCode != 3 || !strings.Contains(exit.Stderr, "out of luck") {
		t.Errorf("error = %v", err)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Error("an error of os/exec leaks through")
	}
}

func TestTransportThatDoesNotStart(t *testing.T) {
	full := errors.New("cluster is full")
	for name, transport := range map[string]badStart{"error": {err: full}, "nothing": {}} {
		_, err := claude.Connect(t.Context(), &claude.Options{Transport: transport})
		if start, ok := errors.AsType[*claude.StartError](err); !ok || start.Reason != claude.ErrSpawn || !errors.Is(err, transport.err) && transport.err != nil {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

// forever blocks a child for longer than any test takes. A select without cases would
// be reported as a deadlock where nothing else runs, and would end it.
func forever() { <-time.After(10 * time.Minute) }
