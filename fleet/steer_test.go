package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// steerable is a scripted CLI whose tool and whose answers wait until they are
// let go.
type steerable struct {
	*scripted
	mu      sync.Mutex
	heard   []string // what the model was told in its last call
	calls   int
	tool    chan struct{} // nil: the tool waits for nothing
	answers chan struct{} // nil: answers after a tool wait for nothing
}

func newSteerable() *steerable {
	s := &steerable{scripted: new(scripted)}
	s.CLI = claudetest.NewCLI(&claudetest.Script{Model: s.model, Tools: map[string]host.RunFunc{"Bash": s.run}})
	return s
}

func (s *steerable) run(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
	s.mu.Lock()
	tool := s.tool
	s.mu.Unlock()
	return host.TextOutput("built"), wait(ctx, tool)
}

func (s *steerable) model(c *claudetest.ModelCall) claudetest.Reply {
	s.mu.Lock()
	s.calls++
	s.heard = nil
	for _, m := range c.Messages {
		if m.Role == "user" && m.Text != "" {
			s.heard = append(s.heard, m.Text)
		}
	}
	answers, heard := s.answers, strings.Join(s.heard, ", ")
	s.mu.Unlock()
	if len(c.ToolResults) == 0 && strings.HasPrefix(c.Prompt, "tool") {
		return claudetest.UseTools(claudetest.ScriptedCall{Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)})
	}
	_ = wait(c.Context(), answers)
	return claudetest.Say("heard " + heard)
}

func wait(ctx context.Context, until <-chan struct{}) error {
	if until == nil {
		return nil
	}
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// allow lets the CLI run its tool without asking a person.
func (s *steerable) allow(o *fleet.Options) {
	usual := o.Session
	o.Gate = nil
	o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
		own, err := usual(ctx, key)
		own.AllowedTools = []string{"Bash"}
		return own, err
	}
}

// set changes what waits.
func (s *steerable) set(tool, answers chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tool, s.answers = tool, answers
}

// steer sends a prompt that steers, and lets the fleet do what it can at once.
func steer(t *testing.T, f *fleet.Fleet, text string) string {
	t.Helper()
	id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: text, Steer: true})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return id
}

// prompts are the prompts in the history of a conversation, by their texts.
func promptsOf(t *testing.T, f *fleet.Fleet) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for e, err := range f.Events(ctx, "ada", "") {
		if err != nil {
			break
		}
		if u, ok := e.Message.(*message.User); ok && len(u.ToolResults()) == 0 {
			all = append(all, u.Text())
		}
	}
	return all
}

func answered(t *testing.T, f *fleet.Fleet, id, want string) fleet.Ticket {
	t.Helper()
	o := outcome(t, f, "ada", id)
	if o.Status != fleet.PromptAnswered || o.Text != want {
		t.Errorf("prompt %s is %s %q %s, want the answer %q", id, o.Status, o.Text, o.Error, want)
	}
	return o
}

func sameStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A prompt that steers reaches the model with the results of the tool that runs,
// before those that wait, and one result answers it and the prompt of the turn.
func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newSteerable()
		tool := make(chan struct{})
		cli.set(tool, nil)
		f := open(t, store.Memory(), cli, cli.allow)
		defer closeFleet(t, f)
		first := send(t, f, "ada", "tool")
		waits := send(t, f, "ada", "later")
		second := steer(t, f, "and vet")
		if o := outcome(t, f, "ada", second); o.Status != fleet.PromptRunning {
			t.Errorf("before the tool has ended: %+v", o)
		}
		close(tool)
		<-time.After(time.Second)
		o := answered(t, f, first, "heard tool, and vet")
		if o.Result == nil || !slices.Equal(o.Result.Prompts, []string{first, second}) {
			t.Errorf("the result answers %+v", o.Result)
		}
		answered(t, f, second, "heard tool, and vet")
		answered(t, f, waits, "heard tool, and vet, later")
		sameStrings(t, "the history", promptsOf(t, f), "tool", "and vet", "later")
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 0 || info.Cost.Turns != 2 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A caller that runs a prompt that steers sees the messages of the turn from then on,
// and its result.
func TestSteerWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newSteerable()
		tool := make(chan struct{})
		cli.set(tool, nil)
		f := open(t, store.Memory(), cli, cli.allow)
		defer closeFleet(t, f)
		send(t, f, "ada", "tool")
		time.AfterFunc(time.Second, func() { close(tool) })
		results, says := 0, ""
		for m, err := range f.RunPrompt(t.Context(), "ada", fleet.Prompt{Text: "and vet", Steer: true}) {
			if err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *message.Assistant:
				says += m.Text()
			case *message.Result:
				results++
			}
		}
		if results != 1 || says != "heard tool, and vet" {
			t.Errorf("%d results, it says %q", results, says)
		}
	})
}

// A prompt that comes too late for the turn is the next one, before those that
// wait, in the same CLI. Where nothing runs it is a prompt like any other.
func TestSteerTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newSteerable()
		answers := make(chan struct{})
		cli.set(nil, answers)
		f := open(t, store.Memory(), cli, cli.allow)
		defer closeFleet(t, f)
		alone := steer(t, f, "alone")
		waits := send(t, f, "ada", "later")
		late, later := steer(t, f, "late"), steer(t, f, "too late")
		close(answers)
		<-time.After(time.Second)
		answered(t, f, alone, "heard alone")
		answered(t, f, late, "heard alone, late")
		answered(t, f, later, "heard alone, late, too late")
		answered(t, f, waits, "heard alone, late, too late, later")
		if n := cli.started(); n != 1 {
			t.Errorf("%d CLIs were started", n)
		}
		sameStrings(t, "the history", promptsOf(t, f), "alone", "late", "too late", "later")
	})
}

// A prompt that steers is neither lost nor answered twice if the program dies:
// before its CLI has taken the prompt in, and after.
func TestSteerCrash(t *testing.T) {
	for name, c := range map[string]struct {
		tool, answers bool // which of both waits when it dies
		want          string
	}{
		"before it is taken in": {tool: true, want: "heard tool, and vet"},
		"after it is taken in":  {answers: true, want: "heard tool, and vet"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newSteerable()
				tool, answers := make(chan struct{}), make(chan struct{})
				cli.set(tool, answers)
				m := start(t, db, cli.scripted, cli.allow)
				first := send(t, m.fleet, "ada", "tool")
				second := steer(t, m.fleet, "and vet")
				if c.answers {
					close(tool)
					synctest.Wait()
				}
				crash(t, m)
				cli.set(nil, nil)
				m = start(t, db, cli.scripted, cli.allow)
				defer closeFleet(t, m.fleet)
				<-time.After(5 * time.Minute)
				if o := outcome(t, m.fleet, "ada", first); o.Status != fleet.PromptAnswered {
					t.Errorf("the prompt of the turn: %+v", o)
				}
				answered(t, m.fleet, second, c.want)
				sameStrings(t, "the history", promptsOf(t, m.fleet), "tool", "and vet")
			})
		})
	}
}

// The answer of a steered turn is that of both prompts, even when the program dies when the
// store has the answer and before it has recorded the outcome.
func TestSteerAnswerFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newSteerable()
		tool := make(chan struct{})
		cli.set(tool, nil)
		m := start(t, db, cli.scripted, cli.allow)
		first := send(t, m.fleet, "ada", "tool")
		second := steer(t, m.fleet, "and vet")
		m.mu.Lock()
		m.failing = func(method string) bool { return method == "Change" && storedAnswers(t, db) > 1 }
		m.mu.Unlock()
		close(tool)
		<-time.After(time.Minute)
		if n := storedAnswers(t, db); n != 2 {
			t.Fatalf("the store has %d lines of the model, want the call and the answer", n)
		}
		crash(t, m)
		m = start(t, db, cli.scripted, cli.allow)
		defer closeFleet(t, m.fleet)
		<-time.After(5 * time.Minute)
		for _, id := range []string{first, second} {
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "heard tool, and vet" || o.Result != nil {
				t.Errorf("%s: %+v", id, o)
			}
		}
	})
}

// A call that waits for a person can be deferred although a prompt steers its
// turn: the prompt is taken back and steers the turn when it continues.
func TestSteerBesideQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newSteerable()
		m := start(t, db, cli.scripted, nil)
		defer func() { closeFleet(t, m.fleet) }()
		first := send(t, m.fleet, "ada", "tool")
		q := question(t, m.fleet)
		second := steer(t, m.fleet, "and vet")
		<-time.After(5 * time.Minute)
		if o := outcome(t, m.fleet, "ada", first); o.Status != fleet.PromptWaiting {
			t.Fatalf("the prompt of the turn: %+v", o)
		}
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptQueued {
			t.Errorf("it was not taken back: %+v", o)
		}
		decide(t, m.fleet, q, permission.Allow())
		<-time.After(time.Minute)
		answered(t, m.fleet, first, "heard tool")
		answered(t, m.fleet, second, "heard tool, and vet")
		sameStrings(t, "the history", promptsOf(t, m.fleet), "tool", "and vet")
	})
}

// A prompt that is taken back does not count as begun: it can be taken back more often
// than a prompt has attempts, and is answered in the end.
func TestSteerTakenBackThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 4
		cli, made := newSteerable(), 0
		cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Tools: map[string]host.RunFunc{"Bash": cli.run},
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if made == calls {
					return cli.model(c)
				}
				made++
				return claudetest.UseTools(claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%d", made), Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)})
			},
		})
		m := start(t, store.Memory(), cli.scripted, func(o *fleet.Options) {
			o.Attempts, o.Gate = 3, &approval.Options{Patience: 10 * time.Minute}
			o.Store = &slowly{o.Store, time.Second} // the prompt comes when the next call is made, and is not taken in before it
		})
		defer func() { closeFleet(t, m.fleet) }()
		first := send(t, m.fleet, "ada", "tool")
		second := ""
		for n := range calls {
			if n == 0 {
				second = steer(t, m.fleet, "and vet")
			}
			<-time.After(2 * time.Minute) // until the next call waits
			q := question(t, m.fleet)
			if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptRunning {
				t.Fatalf("the CLI was not given it the %d. time: %+v", n+1, o)
			}
			<-time.After(20 * time.Minute) // until the call is deferred
			if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptQueued {
				t.Fatalf("it was not taken back the %d. time: %+v", n+1, o)
			}
			if n < calls-1 {
				decide(t, m.fleet, q, permission.Allow())
			} else if err := m.fleet.Interrupt(t.Context(), "ada"); err != nil { // then it is a prompt like any other
				t.Fatal(err)
			}
		}
		<-time.After(10 * time.Minute)
		if o := outcome(t, m.fleet, "ada", first); !o.Interrupted {
			t.Errorf("the prompt of the turn: %+v", o)
		}
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptAnswered || !strings.HasSuffix(o.Text, "and vet") {
			t.Errorf("the prompt that steers: %+v", o)
		}
	})
}

// A prompt that the CLI was given to steer its turn can be cancelled as long as the CLI has
// not begun it. The turn continues without it, and the next one that steers is given.
func TestSteerCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli, tool, answers := newSteerable(), make(chan struct{}), make(chan struct{})
		cli.set(tool, answers)
		f := open(t, store.Memory(), cli, cli.allow)
		defer closeFleet(t, f)
		first := send(t, f, "ada", "tool")
		synctest.Wait()
		gone := steer(t, f, "and vet")
		if o := outcome(t, f, "ada", gone); o.Status != fleet.PromptRunning {
			t.Fatalf("the CLI was not given it: %+v", o)
		}
		if err := f.Cancel(t.Context(), "ada", gone); err != nil {
			t.Fatal(err)
		}
		if o := outcome(t, f, "ada", gone); o.Status != fleet.PromptCancelled {
			t.Errorf("it was cancelled: %+v", o)
		}
		more := steer(t, f, "and lint")
		close(tool)
		synctest.Wait()
		if err := f.Cancel(t.Context(), "ada", more); !errors.Is(err, fleet.ErrBegun) {
			t.Errorf("one that the turn has taken in: %v", err)
		}
		close(answers)
		<-time.After(time.Second)
		answered(t, f, first, "heard tool, and lint")
		if o := answered(t, f, more, "heard tool, and lint"); o.PartOf != first {
			t.Errorf("part of %q", o.PartOf)
		}
		sameStrings(t, "the history", promptsOf(t, f), "tool", "and lint")
	})
}

// A prompt may be in the queue twice, if it was sent again while it ended. The second is
// not given to the CLI that runs, whether the first was cancelled or has run.
func TestSteerTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli, tool, answers := newSteerable(), make(chan struct{}), make(chan struct{})
		close(answers)
		cli.set(nil, answers)
		db := store.Memory()
		f := open(t, db, cli, cli.allow)
		defer closeFleet(t, f)
		ran := send(t, f, "ada", "hello")
		<-time.After(time.Second)
		before := outcome(t, f, "ada", ran)
		answers = make(chan struct{})
		cli.set(tool, answers)
		first := send(t, f, "ada", "tool")
		synctest.Wait()
		gone := send(t, f, "ada", "and vet")
		var queued []store.Record
		for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt"}, "") {
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(r.Value, []byte(gone)) {
				queued = append(queued, r)
			}
		}
		if err := f.Cancel(t.Context(), "ada", gone); err != nil || len(queued) != 1 {
			t.Fatalf("%d of it are queued, %v", len(queued), err)
		}
		for i, id := range []string{gone, ran} {
			k := queued[0].Key
			k.Name += fmt.Sprint(i)
			value := bytes.ReplaceAll(queued[0].Value, []byte(gone), []byte(id))
			value = bytes.Replace(value, []byte(`"id":`), []byte(`"steer":true,"id":`), 1)
			if _, err := db.Change(t.Context(), store.Fence{}, store.RecordChange{Key: k, Value: value}); err != nil {
				t.Fatal(err)
			}
		}
		more := steer(t, f, "and lint")
		close(tool)
		synctest.Wait()
		close(answers)
		<-time.After(time.Second)
		answered(t, f, first, "heard hello, tool, and lint")
		if o := answered(t, f, more, "heard hello, tool, and lint"); o.PartOf != first {
			t.Errorf("part of %q", o.PartOf)
		}
		if o := outcome(t, f, "ada", gone); o.Status != fleet.PromptCancelled {
			t.Errorf("the cancelled one: %+v", o)
		}
		if o := outcome(t, f, "ada", ran); o.Status != before.Status || o.PartOf != "" {
			t.Errorf("the one that has run: %+v", o)
		}
		sameStrings(t, "the history", promptsOf(t, f), "hello", "tool", "and lint")
	})
}

// A prompt that comes while a call is being deferred is not given to the CLI, which would
// begin with it and give the call up. It steers the turn when that continues.
func TestSteerWhileDeferring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newSteerable()
		m, in := intercepted(t, store.Memory(), cli.scripted)
		defer func() { closeFleet(t, m.fleet) }()
		first, second := send(t, m.fleet, "ada", "tool"), ""
		in.set(func(k store.RecordKey, value []byte) error {
			if second != "" || k.Kind != approval.Kind || !strings.Contains(string(value), `"deferred":true`) {
				return nil
			}
			var err error
			second, err = m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: "and vet", Steer: true})
			<-time.After(time.Second) // long enough for the CLI to be given it
			return err
		}, nil)
		<-time.After(5 * time.Minute)
		if o := outcome(t, m.fleet, "ada", first); o.Status != fleet.PromptWaiting {
			t.Errorf("the prompt of the turn: %+v", o)
		}
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptQueued {
			t.Fatalf("the prompt that steers: %+v", o)
		}
		decide(t, m.fleet, question(t, m.fleet), permission.Allow())
		<-time.After(time.Minute)
		answered(t, m.fleet, first, "heard tool")
		answered(t, m.fleet, second, "heard tool, and vet")
	})
}
