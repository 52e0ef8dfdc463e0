package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// twoCalls is the model's part of a story: two calls that need an answer, the first of them
// with a command of its own, and a talk that needs an end.
func twoCalls(first string) []claudetest.Reply {
	return []claudetest.Reply{
		claudetest.Say("I will. ").With(claudetest.UseTool("Bash", map[string]string{"command": first})), claudetest.Say("One is done."),
		claudetest.Say("I will. ").With(claudetest.UseTool("Bash", map[string]string{"command": "echo two >> ran.txt"})), claudetest.Say("Two is done."),
		claudetest.Say(strings.Repeat("word ", 2000)).Chunks(5, 20*time.Millisecond),
	}
}

// realServer is "claudectl serve" as a process of its own, with the real CLI and a
// model that follows a story.
type realServer struct {
	model      *claudetest.Model
	url, token string
	home, dir  string // dir is where its conversations are begun
	env        []string
	choices    string // more members of its preset
}

// firstCall is the command of the story that is asked about first.
const firstCall = "echo one >> ran.txt"

// newRealServer starts it, after prepare has changed what it likes.
func newRealServer(t *testing.T, story []claudetest.Reply, prepare func(*realServer), args ...string) *realServer {
	t.Helper()
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	model := claudetest.NewModel(story...)
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, base)
	s := &realServer{model: model, home: home, dir: filepath.Join(home, "project"), env: append(env, mark, "USER=ada")}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(s)
	}
	presets, db := filepath.Join(home, "presets.json"), filepath.Join(home, "store")
	write(t, presets, `{"presets":[{"name":"shop","roots":["`+s.dir+`"]`+s.choices+`}]}`, os.FileMode(0o600))
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), built(t), append([]string{"--json", "serve", "--store", db, "--presets", presets, "--cli", cli}, args...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = s.env, home, 10*time.Second
	var problems bytes.Buffer
	cmd.Stderr = &problems
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the server: %v\n%s", err, problems.Bytes())
		}
	})
	var said struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&said); err != nil {
		t.Fatal(err)
	}
	var token bytes.Buffer
	if code := run(t.Context(), []string{"serve", "token", "editor", "--store", db, "--role", "operator"}, strings.NewReader(""), &token, io.Discard, s.env); code != 0 {
		t.Fatalf("no token: exit code %d", code)
	}
	s.url, s.token = said.URL, strings.TrimSpace(token.String())
	return s
}

// ran returns what the calls have written, in a line.
func (s *realServer) ran() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "ran.txt"))
	return strings.ReplaceAll(string(data), "\n", " ")
}

// bridge is an editor that has started "claudectl acp --connect".
type bridge struct {
	*drive.Driver
	cmd     *exec.Cmd
	asked   chan string // the titles of the calls
	answers chan schema.PermissionOptionID
	said    chan string
	listed  chan []string // slash commands, as often as they were told
	begun   chan string   // the titles of calls that were shown at work
}

func (s *realServer) bridge(t *testing.T) *bridge {
	t.Helper()
	return s.bridgeOf(t, schema.ClientCapabilities{})
}

// bridgeOf is a bridge of an editor with capabilities.
func (s *realServer) bridgeOf(t *testing.T, can schema.ClientCapabilities) *bridge {
	t.Helper()
	b := &bridge{cmd: exec.CommandContext(t.Context(), built(t), "acp", "--connect", s.url), asked: make(chan string, 10), answers: make(chan schema.PermissionOptionID, 10), said: make(chan string, 10_000), listed: make(chan []string, 100), begun: make(chan string, 100)}
	b.cmd.Env, b.cmd.Dir, b.cmd.WaitDelay = append([]string{serverToken + "=" + s.token}, s.env...), s.dir, 10*time.Second
	stdin, err1 := b.cmd.StdinPipe()
	stdout, err2 := b.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.Driver = drive.Connect(struct {
		io.Reader
		io.WriteCloser
	}{stdout, stdin}, drive.Setup{
		Permission: func(ctx context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
			b.asked <- *req.ToolCall.Title
			select {
			case a := <-b.answers:
				return a
			case <-ctx.Done():
				return ""
			}
		},
		OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
			if up.AgentMessageChunk != nil {
				b.said <- up.AgentMessageChunk.Content.Text.Text
			}
			if up.ToolCall != nil && up.ToolCall.Status == schema.ToolCallStatusInProgress {
				b.begun <- up.ToolCall.Title
			}
			if list := up.AvailableCommandsUpdate; list != nil {
				var names []string
				for _, c := range list.AvailableCommands {
					names = append(names, c.Name)
				}
				b.listed <- names
			}
		},
	})
	if err := b.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: can}, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// until waits for a text.
func (b *bridge) until(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for text := ""; !strings.Contains(text, want); {
		select {
		case more := <-b.said:
			text += more
		case <-timeout:
			t.Fatalf("said %q after a minute, want %q", text, want)
		}
	}
}

// begin starts a prompt.
func (b *bridge) begin(t *testing.T, id schema.SessionID, text string) <-chan schema.StopReason {
	ended := make(chan schema.StopReason, 1)
	go func() {
		resp, err := b.Prompt(context.WithoutCancel(t.Context()), id, text)
		if err != nil {
			ended <- schema.StopReason(err.Error())
			return
		}
		ended <- resp.StopReason
	}()
	return ended
}

// TestRealACPConnect is an editor whose program talks to a server with the real CLI. It
// prompts, is asked, and is killed while it is asked. The next one loads the
// conversation, is asked again, and the call runs once.
func TestRealACPConnect(t *testing.T) {
	s := newRealServer(t, twoCalls(firstCall), nil)
	one := s.bridge(t)
	id := one.New(t, s.dir)
	ended := one.begin(t, id, "Do one.")
	if title := <-one.asked; title != "echo one >> ran.txt" {
		t.Errorf("asked about %q", title)
	}
	if ran := s.ran(); ran != "" {
		t.Errorf("ran %q before it was allowed", ran)
	}
	one.answers <- "allow-once"
	if got := <-ended; got != schema.StopReasonEndTurn || one.Text(id) != "I will. One is done." || s.ran() != "one " {
		t.Errorf("ended %s, said %q, ran %q", got, one.Text(id), s.ran())
	}
	one.begin(t, id, "Do two.")
	<-one.asked
	_ = one.cmd.Process.Kill()
	_ = one.cmd.Wait()
	one.Close()

	two := s.bridge(t)
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if text := two.Text(id); !strings.HasPrefix(text, "I will. One is done.") {
		t.Errorf("loaded %q", text)
	}
	if title := <-two.asked; title != "echo two >> ran.txt" {
		t.Errorf("asked again about %q", title)
	}
	two.answers <- "allow-once"
	two.until(t, "Two is done.")
	if s.ran() != "one two " || len(two.asked) != 0 {
		t.Errorf("ran %q, asked %d times more", s.ran(), len(two.asked))
	}
	ended = two.begin(t, id, "Talk.")
	two.until(t, "word word")
	if err := two.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != schema.StopReasonCancelled {
		t.Errorf("a cancelled turn ended %s", got)
	}
	two.Close()
	if err := two.cmd.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
}

// TestRealACPSocket is an editor on the protocol's own library, whose own WebSocket
// talks to a server with the real CLI: the same story.
func TestRealACPSocket(t *testing.T) {
	s := newRealServer(t, twoCalls(firstCall), nil)
	library := acpLibrary.Path(npm.Need(t, acpLibrary), "")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--experimental-websocket", "testdata/acp_socket.mjs", library, "ws"+strings.TrimPrefix(s.url, "http")+"/acp", s.dir)
	cmd.Env, cmd.WaitDelay = append([]string{serverToken + "=" + s.token}, s.env...), 10*time.Second
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the editor: %v\n%s", err, problems.Bytes())
	}
	const want = `{"loads":true,` +
		`"first":{"asked":"echo one >> ran.txt","ended":"end_turn","text":"I will. One is done.","calls":["echo one >> ran.txt"]},` +
		`"cut":"cut",` +
		`"loaded":{"text":"I will. One is done.I will. ","prompts":"Do one.Do two.","calls":["echo one >> ran.txt","echo two >> ran.txt"]},` +
		`"again":{"asked":"echo two >> ran.txt"},"listed":[true],"cancelled":"cancelled","unknown":-32002}`
	if string(out) != want || s.ran() != "one two " {
		t.Errorf("the editor saw\n%s\nwant\n%s\nran %q", out, want, s.ran())
	}
}

// TestRealACPPlan ends the planning from an editor on a server with the real CLI, and
// chooses the mode that follows: the file is written without another question.
func TestRealACPPlan(t *testing.T) {
	s := newRealServer(t, nil, func(r *realServer) {
		r.choices = `,"modes":["acceptEdits","plan"]`
		r.model.Add(claudetest.UseTool("ExitPlanMode", map[string]string{"plan": "# Plan"}),
			claudetest.UseTool("Write", map[string]string{"file_path": filepath.Join(r.dir, "new.txt"), "content": "x"}), claudetest.Say("Wrote it."))
	})
	b := s.bridge(t)
	id := b.New(t, s.dir)
	if err := b.Call(t.Context(), schema.MethodAgentSessionSetMode, schema.SetSessionModeRequest{SessionID: id, ModeID: "plan"}, nil); err != nil {
		t.Fatal(err)
	}
	ended := b.begin(t, id, "Plan it.")
	<-b.asked
	b.answers <- "exit-plan-accept-edits"
	if got := <-ended; got != schema.StopReasonEndTurn || len(b.asked) != 0 || b.Text(id) != "Wrote it." {
		t.Errorf("ended %s, asked %d times more, said %q", got, len(b.asked), b.Text(id))
	}
	if _, err := os.Stat(filepath.Join(s.dir, "new.txt")); err != nil {
		t.Error(err)
	}
	var shown schema.SessionModeID
	for _, up := range b.Updates(id) {
		if up.CurrentModeUpdate != nil {
			shown = up.CurrentModeUpdate.CurrentModeID
		}
	}
	if shown != "acceptEdits" {
		t.Errorf("the editor is shown mode %q", shown)
	}
}
