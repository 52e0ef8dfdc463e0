package acp_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

var editors = flag.Int("editors", 24, "how many editors vanish in TestRealVanish")

// The moments at which an editor vanishes.
var moments = [...]string{"before the start", "in the start", "while it speaks", "while it asks", "while it runs a command", "after the answer"}

// vanishing are editors that vanish, each from a real CLI of its own.
type vanishing struct {
	cli, dir string
	env      []string
	mu       sync.Mutex
	longest  time.Duration // from the end of an editor to that of its agent
}

// TestRealVanish lets editors vanish at every moment from agents with the real CLI, four at
// once. No process of them is left, and nothing in this one.
func TestRealVanish(t *testing.T) {
	cli, mark := realcli.Need(t, realcli.Version), leak.Processes(t)
	model := claudetest.NewModelFunc(vanishReply)
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, base)
	v := &vanishing{cli: cli, dir: filepath.Join(home, "project"), env: append(env, mark)}
	if err := os.Mkdir(v.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	many := func(n int) {
		var all sync.WaitGroup
		free := make(chan struct{}, 4)
		for i := range n {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				if err := v.one(t.Context(), moments[i%len(moments)]); err != nil {
					t.Errorf("editor %d, %s: %v", i, moments[i%len(moments)], err)
				}
			})
		}
		all.Wait()
	}
	many(len(moments)) // what is made once
	before := leak.Used()
	many(*editors)
	if left := leak.MarkedBy(mark); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	after := leak.Used()
	for begin := time.Now(); after.Exceeds(before, 5, 4<<20) && time.Since(begin) < 10*time.Second; after = leak.Used() {
		<-time.After(50 * time.Millisecond)
	}
	t.Logf("%d editors: %v, before %v; the last process was gone %v after its editor", *editors, after, before, v.longest)
	if after.Exceeds(before, 5, 4<<20) {
		buf := make([]byte, 1<<20)
		t.Errorf("%v, before %v\n%s", after, before, buf[:runtime.Stack(buf, true)])
	}
	if v.longest > 5*time.Second {
		t.Errorf("an agent ended %v after its editor, want 5 s at most", v.longest)
	}
}

// vanishReply is the model: the prompt names what it does.
func vanishReply(c *claudetest.ModelCall) claudetest.Reply {
	c.Raw, c.Messages, c.System, c.Tools, c.Header = nil, nil, "", nil, nil // a model remembers its calls, and the heap is measured
	switch {
	case c.Side:
		return claudetest.Say("A title")
	case strings.HasPrefix(c.Prompt, "run "):
		return claudetest.UseTool("Bash", map[string]any{"command": "echo > " + strings.TrimPrefix(c.Prompt, "run ") + "; sleep 600", "timeout": 600_000})
	case c.Prompt == "speak":
		return claudetest.Say(strings.Repeat("word ", 2000)).Chunks(5, 5*time.Millisecond)
	}
	return claudetest.Say("done")
}

// one is an editor.
func (v *vanishing) one(ctx context.Context, moment string) error {
	begins, began, said, asked := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	var saying, asking sync.Once
	local := &acp.Local{Options: &claude.Options{CLIPath: v.cli, Env: v.env, Transport: observed{begins, began}}}
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- acp.Serve(context.Background(), theirs, local) }()
	d := drive.Connect(ours, drive.Setup{
		OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
			if up.AgentMessageChunk != nil {
				saying.Do(func() { close(said) })
			}
		},
		Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			asking.Do(func() { close(asked) })
			if moment == "while it runs a command" {
				return "allow-once"
			}
			<-ctx.Done()
			return ""
		},
	})
	defer d.Close()
	if err := d.Call(ctx, schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		return err
	}
	if err := v.until(ctx, d, moment, begins, began, said, asked); err != nil {
		return err
	}
	gone := time.Now()
	d.Close()
	err := <-ended
	v.mu.Lock()
	defer v.mu.Unlock()
	v.longest = max(v.longest, time.Since(gone))
	return err
}

// until brings a session to a moment.
func (v *vanishing) until(ctx context.Context, d *drive.Driver, moment string, begins, began, said, asked <-chan struct{}) error {
	reached := map[string]<-chan struct{}{"before the start": begins, "in the start": began, "while it speaks": said, "while it asks": asked}[moment]
	made, failed := make(chan schema.SessionID, 1), make(chan error, 2)
	go func() {
		var resp schema.NewSessionResponse
		if err := d.Call(ctx, schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: v.dir}, &resp); err != nil {
			failed <- err
			return
		}
		made <- resp.SessionID
	}()
	if moment == "before the start" || moment == "in the start" {
		select {
		case <-reached:
			return nil
		case err := <-failed:
			return err
		}
	}
	var id schema.SessionID
	select {
	case id = <-made:
	case err := <-failed:
		return err
	}
	prompt := map[string]string{"while it speaks": "speak", "after the answer": "Answer."}[moment]
	if prompt == "" {
		pipe := filepath.Join(v.dir, string(id))
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			return err
		}
		defer os.Remove(pipe)
		prompt = "run " + pipe
		if moment == "while it runs a command" {
			runs := make(chan struct{})
			reached = runs
			go func() {
				defer close(runs)
				if f, err := os.Open(pipe); err == nil { // when the command opens it too
					f.Close()
				}
			}()
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := d.Prompt(ctx, id, prompt); err != nil {
			failed <- err
		}
	}()
	if moment == "after the answer" {
		reached = ended
	}
	select {
	case <-reached:
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	case err := <-failed:
		return fmt.Errorf("prompt: %w", err)
	case <-time.After(time.Minute):
		return fmt.Errorf("it did not come")
	}
}

// observed closes channels when the start of a CLI begins, and when it has its process.
type observed struct{ begins, began chan struct{} }

// Start implements [claude.Transport].
func (o observed) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	close(o.begins)
	defer close(o.began)
	return claude.ChildProcess().Start(ctx, l)
}
