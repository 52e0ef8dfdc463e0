package serve_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

var editors = flag.Int("editors", 24, "how many editors vanish in TestRealEditorsVanish")

// The moments at which an editor vanishes.
var moments = [...]string{"before the start", "in the start", "while it speaks", "while it asks", "after the answer"}

// starts reports when CLIs have their processes.
type starts chan struct{}

// Start implements [claude.Transport].
func (s starts) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := claude.ChildProcess().Start(ctx, l)
	select {
	case s <- struct{}{}:
	default:
	}
	return conn, err
}

// TestRealEditorsVanish lets editors on WebSockets vanish at every moment from conversations
// with the real CLI, of which four run at once. What was prompted is answered, or waits for
// a person, who deletes it; no process is left, and the server is as small as before.
func TestRealEditorsVanish(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		c.Raw, c.Messages, c.System, c.Tools, c.Header = nil, nil, "", nil, nil // a model remembers its calls, and the heap is measured
		switch {
		case c.Side:
			return claudetest.Say("A title")
		case strings.Contains(c.Prompt, "asks"):
			return claudetest.UseTool("Bash", map[string]string{"command": "touch asked"})
		case strings.Contains(c.Prompt, "speaks"):
			return claudetest.Say(strings.Repeat("word ", 200)).Chunks(5, 5*time.Millisecond)
		}
		return claudetest.Say("done")
	})
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, base)
	root, begun := t.TempDir(), make(starts, 4)
	r := newRealRig(t, fleet.Options{
		Store: store.Files(t.TempDir()), MaxLive: 4, IdleAfter: time.Millisecond,
		Gate: &approval.Options{Patience: 50 * time.Millisecond}, // real time: it only says how soon a call is deferred
	}, serve.Options{StreamsPerUser: 100, Presets: []serve.Preset{{Name: "shop", Roots: []string{root}, Options: &claude.Options{
		CLIPath: cli, Env: append(env, mark), Transport: begun, Logger: slog.New(slog.DiscardHandler), PartialMessages: true,
	}}}})
	r.token("ada", api.RoleOperator)
	many := func(n int) {
		var all sync.WaitGroup
		free := make(chan struct{}, 8)
		for i := range n {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				if err := r.vanish(t.Context(), root, moments[i%len(moments)], begun); err != nil {
					t.Errorf("editor %d, %s: %v", i, moments[i%len(moments)], err)
				}
			})
		}
		all.Wait()
	}
	many(len(moments)) // what is made once
	deleted := 0
	before := r.settled(t, len(moments), &deleted, mark)
	many(*editors)
	after := r.settled(t, len(moments)+*editors, &deleted, mark)
	room := uint64(4<<20 + *editors<<14) // the server knows something of each conversation
	for begin := time.Now(); after.Exceeds(before, 10, room) && time.Since(begin) < 10*time.Second; after = leak.Used() {
		<-time.After(50 * time.Millisecond)
	}
	t.Logf("%d editors: %v, before %v", *editors, after, before)
	if after.Exceeds(before, 10, room) {
		buf := make([]byte, 1<<20)
		t.Errorf("%v, before %v\n%s", after, before, buf[:runtime.Stack(buf, true)])
	}
}

// vanish is an editor that begins a conversation, prompts, and is cut off at a moment.
func (r *rig) vanish(ctx context.Context, root, moment string, begun starts) error {
	said, asked := make(chan struct{}), make(chan struct{})
	var saying, asking sync.Once
	conn, _, err := r.dial(ctx, r.bearerOf("ada", api.RoleOperator))
	if err != nil {
		return err
	}
	d := drive.Connect(&framed{conn: conn}, drive.Setup{
		OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
			if up.AgentMessageChunk != nil {
				saying.Do(func() { close(said) })
			}
		},
		Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			asking.Do(func() { close(asked) })
			<-ctx.Done()
			return ""
		},
	})
	defer d.Close()
	var made schema.NewSessionResponse
	err = d.Call(ctx, schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil)
	if err == nil {
		err = d.Call(ctx, schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: root}, &made)
	}
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := d.Prompt(ctx, made.SessionID, "It vanishes "+moment+".")
		ended <- err
	}()
	if moment == "before the start" || moment == "in the start" {
		if err := r.accepted(ctx, string(made.SessionID)); err != nil || moment == "before the start" {
			return err
		}
	}
	select {
	case <-map[string]<-chan struct{}{"in the start": begun, "while it speaks": said, "while it asks": asked}[moment]:
		return nil
	case err := <-ended:
		if moment == "while it asks" {
			return fmt.Errorf("the turn ended, %v", err)
		}
		return err // short turns may end first
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("it did not come")
	}
}

// accepted waits until the server has a prompt of a conversation.
func (r *rig) accepted(ctx context.Context, id string) error {
	page := r.remote("ada", api.RoleOperator, nil)
	for {
		if c, err := page.Conversation(ctx, id); err != nil || c.State != api.StateIdle || c.Turns > 0 {
			return err
		}
		<-time.After(time.Millisecond)
	}
}

// settled waits until as many conversations are asleep, of which those that wait for a
// person are deleted, and returns what this process has then.
func (r *rig) settled(t *testing.T, conversations int, deleted *int, mark string) leak.Usage {
	t.Helper()
	page := r.remote("ada", api.RoleOperator, nil)
	for end := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		asleep, states := *deleted, make(map[api.State]int)
		for c, err := range page.Conversations(t.Context(), api.ConversationQuery{Limit: 200}) {
			if err != nil {
				t.Fatal(err)
			}
			states[c.State]++
			switch {
			case c.State == api.StateIdle && c.Turns == 1:
				asleep++
			case c.State == api.StateDeferred:
				if err := page.Delete(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
				*deleted++
			}
		}
		left, logs := leak.MarkedBy(mark), r.server.LogsInUse()
		if asleep == conversations && len(left) == 0 && logs == 0 {
			return leak.Used()
		}
		if time.Now().After(end) {
			t.Fatalf("conversations are %v, %d of %d asleep; %d logs are in use; processes %q", states, asleep, conversations, logs, left)
		}
	}
}
