package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestRealACPKilled kills the program at every frame of a turn with a permission, and
// opens the session again, at once. A question that was open is asked again, the call runs
// once if it is allowed, and never twice.
func TestRealACPKilled(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	var table []string
	for at, whole := 1, false; !whole; at++ {
		ran := false
		ok := t.Run(fmt.Sprintf("frame %d", at), func(t *testing.T) {
			ran = true
			var row string
			row, whole = newKill(t, cli).run(t, at)
			table = append(table, row)
		})
		if !ok || !ran {
			return
		}
	}
	t.Logf("%d kills:\n%s", len(table), strings.Join(table, "\n"))
	if !slices.ContainsFunc(table, func(row string) bool { return strings.Contains(row, " question ") }) {
		t.Error("no kill while the question was open: a frame was left out")
	}
}

// TestRealACPKilledAtQuestion kills the program while its question is open. The CLI sees
// the end of its input and a signal, in either order; if it has the time, it refuses the
// call and the model comments on that. Both times the question is asked again.
func TestRealACPKilledAtQuestion(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	unsignalled := filepath.Join(t.TempDir(), "cli")
	script := fmt.Sprintf("#!/bin/sh\ntrap '' TERM\n'%s' \"$@\"\n", cli) // the signal is for the shell
	if err := os.WriteFile(unsignalled, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, cli := range map[string]string{"signal": cli, "end of input": unsignalled} {
		t.Run(name, func(t *testing.T) {
			k := newKill(t, cli)
			if row, _ := k.run(t, atQuestion); !strings.Contains(row, "question") {
				t.Error("not killed while the question was open")
			}
			const refusal = "Tool permission stream closed"
			if name == "end of input" && !k.inTranscript(refusal) {
				t.Error("the CLI did not refuse the call")
			}
			k.onceMore(t)
			calls := k.model.Calls()
			var read []byte
			for _, m := range calls[len(calls)-1].Messages {
				read = append(append(read, m.Content...), '\n')
			}
			if n := bytes.Count(read, []byte(`"type":"tool_result"`)); n != 1 || bytes.Contains(read, []byte(refusal)) {
				t.Errorf("the model reads %d results of the call, want that of its run alone:\n%s", n, read)
			}
		})
	}
}

// atQuestion is the frame with the question, wherever it comes.
const atQuestion = -1

// kill is a program to be killed, with its editor.
type kill struct {
	cli, home, mark string
	session         schema.SessionID
	env             []string
	model           *claudetest.Model

	mu       sync.Mutex
	cmd      *exec.Cmd
	at       int // the frame at which to kill; 0: none
	frame    int
	last     string // the frame at which it was killed
	prompted bool
	asked    int
	answered bool
	ended    bool // the call was seen to end
	said     chan string
}

func newKill(t *testing.T, cli string) *kill {
	model := claudetest.NewModel(
		claudetest.Say("I will.").With(claudetest.UseTool("Bash", map[string]string{"command": "echo ran >> ran.txt"})),
		claudetest.Say("finished"), claudetest.Say("finished").Forever())
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	mark := leak.Processes(t)
	env, home := realcli.Env(t, base)
	return &kill{cli: cli, home: home, mark: mark, env: append(env, asProgram+"=1", mark), model: model, said: make(chan string, 1000)}
}

// start starts the program and introduces the editor.
func (k *kill) start(t *testing.T) *drive.Driver {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "acp", "--cli", k.cli)
	cmd.Env, cmd.Dir, cmd.Stderr = k.env, k.home, os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	k.cmd = cmd
	k.mu.Unlock()
	d := drive.Connect(struct {
		io.Reader
		io.WriteCloser
	}{stdout, stdin}, drive.Setup{OnUpdate: k.update, Permission: k.permission})
	if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

// count counts a frame of the turn, and kills the program at the one it waits for.
func (k *kill) count(name string) (killed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.prompted {
		return false
	}
	k.frame++
	if k.frame != k.at && !(name == "question" && k.at == atQuestion) {
		return false
	}
	k.last = name
	k.cmd.Process.Signal(syscall.SIGKILL)
	return true
}

// inTranscript reports whether a transcript has a text.
func (k *kill) inTranscript(text string) bool {
	files, _ := filepath.Glob(filepath.Join(k.home, ".claude", "projects", "*", "*.jsonl"))
	return slices.ContainsFunc(files, func(file string) bool {
		data, _ := os.ReadFile(file)
		return bytes.Contains(data, []byte(text))
	})
}

func (k *kill) update(_ schema.SessionID, up schema.SessionUpdate) {
	name := "update"
	switch {
	case up.AvailableCommandsUpdate != nil:
		return // of the session; it may come before the turn or in it
	case up.AgentMessageChunk != nil:
		name = "text " + up.AgentMessageChunk.Content.Text.Text
		k.said <- up.AgentMessageChunk.Content.Text.Text
	case up.ToolCall != nil:
		name = "call"
	case up.ToolCallUpdate != nil:
		name = "update of the call " + string(up.ToolCallUpdate.Status)
		if up.ToolCallUpdate.Status == schema.ToolCallStatusCompleted {
			k.mu.Lock()
			k.ended = true
			k.mu.Unlock()
		}
	}
	k.count(name)
}

func (k *kill) permission(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
	k.mu.Lock()
	k.asked++
	k.mu.Unlock()
	if k.count("question") {
		<-ctx.Done()
		return ""
	}
	k.mu.Lock()
	k.answered = true
	k.mu.Unlock()
	return "allow-once"
}

// ran is how often the command ran.
func (k *kill) ran() int {
	data, _ := os.ReadFile(filepath.Join(k.home, "ran.txt"))
	return bytes.Count(data, []byte("ran"))
}

// run kills the program at a frame of the turn and opens the session again. It
// returns a row of the table, and whether the turn had ended before that frame.
func (k *kill) run(t *testing.T, at int) (row string, whole bool) {
	d := k.start(t)
	id := d.New(t, k.home)
	k.session = id
	k.mu.Lock()
	k.at, k.prompted = at, true
	k.mu.Unlock()
	_, err := d.Prompt(t.Context(), id, "Go.")
	k.mu.Lock()
	last, asked, answered, ended := k.last, k.asked, k.answered, k.ended
	k.at, k.prompted, k.asked = 0, false, 0
	k.mu.Unlock()
	if last == "" {
		if last, whole = "the end of the turn", true; err != nil {
			t.Errorf("a turn that was not killed: %v", err)
		}
	}
	d.Close()
	k.cmd.Process.Signal(syscall.SIGKILL)
	k.cmd.Wait()
	before := k.ran()
	for len(k.said) > 0 {
		<-k.said
	}

	d = k.start(t)
	if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: k.home}, nil); err != nil {
		if before > 0 || asked > 0 {
			t.Errorf("load: %v", err)
		}
		d.Close()
		k.cmd.Wait()
		k.allEnded(t)
		return fmt.Sprintf("%2d %-28s not stored yet: nothing is asked, nothing ran", at, last), whole
	}
	switch open := asked > 0 && !answered; {
	case open:
		k.await(t, "finished")
	case asked == 0: // stored or not, before the editor saw it
		select {
		case <-k.finished():
		case <-time.After(2 * time.Second):
		}
	}
	k.mu.Lock()
	again := k.asked
	k.mu.Unlock()
	if _, err := d.Prompt(t.Context(), id, "And?"); err != nil {
		t.Errorf("the next prompt: %v", err)
	}
	ran := k.ran()
	d.Close()
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	k.allEnded(t)
	row = fmt.Sprintf("%2d %-28s asked %d, ran %d; after the load asked %d, ran %d", at, last, asked, before, again, ran)
	t.Log(row)
	switch {
	case ran > 1:
		t.Errorf("the call ran %d times", ran)
	case asked > 0 && !answered && (again != 1 || ran != 1):
		t.Errorf("asked %d times after the load and ran %d times, want both once", again, ran)
	case answered && again > 0:
		t.Error("asked again although it was answered")
	case ended && ran != 1:
		t.Errorf("the call ended, and ran %d times", ran)
	case asked == 0 && ran != again:
		t.Errorf("asked %d times, ran %d times", again, ran)
	}
	return row, whole
}

// onceMore opens the session again, so that the CLI reads the whole conversation from
// its transcript, and prompts it.
func (k *kill) onceMore(t *testing.T) {
	t.Helper()
	d := k.start(t)
	if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: k.session, Cwd: k.home}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Prompt(t.Context(), k.session, "Once more."); err != nil {
		t.Error(err)
	}
	d.Close()
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	k.allEnded(t)
}

// allEnded waits for the end of all processes that the program has left.
func (k *kill) allEnded(t *testing.T) {
	t.Helper()
	for begin := time.Now(); len(leak.MarkedBy(k.mark)) > 0; <-time.After(10 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("left: %q", leak.MarkedBy(k.mark))
		}
	}
}

// await waits for a text.
func (k *kill) await(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for text := ""; !strings.Contains(text, want); {
		select {
		case more := <-k.said:
			text += more
		case <-timeout:
			t.Fatalf("said %q after a minute, want %q", text, want)
		}
	}
}

func (k *kill) finished() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for text := ""; !strings.Contains(text, "finished"); {
			text += <-k.said
		}
	}()
	return done
}
