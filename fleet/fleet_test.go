package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// scripted is a CLI that answers each prompt with its text, after a tool call if
// the prompt asks for one, and remembers what it did.
type scripted struct {
	*claudetest.CLI
	mu    sync.Mutex
	live  int
	most  int
	begun int
	calls []string // prompts that the model was asked about first
	tools []string // inputs with which the tool ran
	env   []string // of the last start
	hold  chan struct{}
}

func newScripted() *scripted {
	s := new(scripted)
	s.CLI = claudetest.NewCLI(&claudetest.Script{
		Model: s.reply,
		Tools: map[string]host.RunFunc{"Bash": func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.tools = append(s.tools, string(input))
			return host.TextOutput("built"), nil
		}},
	})
	return s
}

// reply answers. A prompt "tool N" calls a tool first.
func (s *scripted) reply(c *claudetest.ModelCall) claudetest.Reply {
	s.mu.Lock()
	hold := s.hold
	if len(c.ToolResults) == 0 {
		s.calls = append(s.calls, c.Prompt)
	}
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-c.Context().Done():
		}
	}
	if n := len(c.ToolResults); n > 0 {
		return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
	}
	if name, ok := strings.CutPrefix(c.Prompt, "tool "); ok {
		return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_" + name, Name: "Bash", Input: json.RawMessage(`{"command":"make ` + name + `"}`)})
	}
	var heard []string
	for _, m := range c.Messages {
		if m.Role == "user" && m.Text != "" {
			heard = append(heard, m.Text)
		}
	}
	return claudetest.Say("heard " + strings.Join(heard, ", "))
}

// pause lets the model wait with its replies until release is called.
func (s *scripted) pause() (release func()) {
	hold := make(chan struct{})
	set := func(c chan struct{}) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold = c
	}
	set(hold)
	return func() {
		set(nil)
		close(hold)
	}
}

// Start counts the CLIs that run.
func (s *scripted) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := s.CLI.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.live++
	s.begun++
	s.most = max(s.most, s.live)
	s.env = l.Env
	s.mu.Unlock()
	return &counted{Conn: conn, ended: func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.live--
	}}, nil
}

// started is how many CLIs were started.
func (s *scripted) started() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

func (s *scripted) counts() (live, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, s.most
}

// open opens a fleet that is closed at the end of the test.
func open(t *testing.T, s store.Fleet, cli claude.Transport, change func(*fleet.Options)) *fleet.Fleet {
	t.Helper()
	o := fleet.Options{
		Store: s, Project: "p", Journal: t.TempDir(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		StoreTimeout: time.Hour, // some tests have slow stores
		Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: slog.New(slog.DiscardHandler)}, nil
		},
	}
	if db, ok := s.(*store.MemoryStore); ok {
		o.Store = &strict{MemoryStore: db, report: unfenced(t)}
	}
	if change != nil {
		change(&o)
	}
	if db := memoryOf(o.Store); db != nil {
		fleet.Shadow(&o, db, func(difference string) {
			if difference != "" {
				t.Errorf("the plan differs: %s", difference)
			}
		})
	}
	f, err := fleet.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// memoryOf returns the store in memory that a store wraps, which has no faults; nil if it
// wraps none.
func memoryOf(s store.Fleet) *store.MemoryStore {
	if db, ok := s.(*store.MemoryStore); ok {
		return db
	}
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, name := range []string{"MemoryStore", "Fleet"} {
		if f := v.FieldByName(name); f.IsValid() && !f.IsZero() {
			if wrapped, ok := f.Interface().(store.Fleet); ok {
				return memoryOf(wrapped)
			}
		}
	}
	return nil
}

// closeFleet closes a fleet, and checks that it has kept nothing.
func closeFleet(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for _, wrong := range f.Unbalanced() {
		t.Errorf("after Close: %s", wrong)
	}
}

// ask runs a prompt and returns the text of its result.
func ask(t *testing.T, f fleet.Conversations, key, prompt string) string {
	t.Helper()
	text, err := result(f.Run(t.Context(), key, prompt))
	if err != nil {
		t.Fatalf("%s: %q: %v", key, prompt, err)
	}
	return text
}

func result(stream func(func(message.Message, error) bool)) (text string, err error) {
	for m, e := range stream {
		if e != nil {
			return text, e
		}
		if r, ok := m.(*message.Result); ok {
			text = r.Text
		}
	}
	return text, nil
}

// Three conversations share one CLI, and each knows what was said in it.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, func(o *fleet.Options) { o.MaxLive = 1 })
		for round := range 2 {
			for _, key := range []string{"ada", "bob", "acme/eve"} {
				got := ask(t, f, key, fmt.Sprintf("%s %d", key, round))
				want := fmt.Sprintf("heard %s 0", key)
				if round == 1 {
					want += fmt.Sprintf(", %s 1", key)
				}
				if got != want {
					t.Errorf("answer %q, want %q", got, want)
				}
			}
		}
		if _, most := cli.counts(); most != 1 {
			t.Errorf("%d CLIs ran at once", most)
		}
		info, err := f.Get(t.Context(), "ada")
		if err != nil || info.Cost.Turns != 2 || info.Cost.USD == 0 || info.Queued != 0 {
			t.Errorf("%+v, %v", info, err)
		}
		<-time.After(5 * time.Minute)
		if live, _ := cli.counts(); live != 0 {
			t.Errorf("%d CLIs after a while", live)
		}
		closeFleet(t, f)
	})
}

// gated opens a fleet behind a gate that asks about Bash.
func gated(t *testing.T, s store.Fleet, cli claude.Transport) *fleet.Fleet {
	return open(t, s, cli, func(o *fleet.Options) {
		o.Gate = &approval.Options{Patience: time.Minute}
	})
}

// question returns the only open question.
func question(t *testing.T, f *fleet.Fleet) approval.Question {
	t.Helper()
	var all []approval.Question
	for q, err := range f.Approvals().List(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	if len(all) != 1 {
		t.Fatalf("%d open questions", len(all))
	}
	return all[0]
}

func decide(t *testing.T, f *fleet.Fleet, q approval.Question, d permission.Decision) {
	t.Helper()
	decideIn(t, f.Approvals(), q, d)
}

func decideIn(t *testing.T, in approval.Inbox, q approval.Question, d permission.Decision) {
	t.Helper()
	if _, err := in.Decide(t.Context(), q.ID, approval.Answer{Decision: d, By: "ada", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
}

// A call that is not decided in time sleeps with its conversation. The prompt behind it
// waits. Decided later, in another fleet, it runs once with the decided input, and then
// the other prompt is answered.
func TestDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := gated(t, db, cli)
		waits := deferredBy(t, f, "ada", "tool 1")
		q := question(t, f)
		if waits.Question != q.ID || !q.Deferred || q.Conversation != "ada" {
			t.Errorf("%+v, waits for %q", q, waits.Question)
		}
		id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "and then"})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Minute)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateWaiting || info.Queued != 2 || info.Question != q.ID {
			t.Errorf("%+v, %v", info, err)
		}
		if live, _ := cli.counts(); live != 0 {
			t.Errorf("%d CLIs wait for a person", live)
		}
		closeFleet(t, f)

		f = gated(t, db, cli)
		defer closeFleet(t, f)
		<-time.After(30 * time.Minute)
		decide(t, f, q, permission.AllowWith(json.RawMessage(`{"command":"make it"}`)))
		<-time.After(time.Minute)
		if len(cli.tools) != 1 || cli.tools[0] != `{"command":"make it"}` {
			t.Errorf("the tool ran with %q", cli.tools)
		}
		first, err := f.Prompt(t.Context(), "ada", waits.Prompt)
		if err != nil || first.Status != fleet.PromptAnswered || first.Text != "It says: built" {
			t.Errorf("the first prompt: %+v, %v", first, err)
		}
		second, err := f.Prompt(t.Context(), "ada", id)
		if err != nil || second.Status != fleet.PromptAnswered || !strings.Contains(second.Text, "and then") {
			t.Errorf("the second prompt: %+v, %v", second, err)
		}
	})
}
