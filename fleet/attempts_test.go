package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/store"
)

// longTurn is a CLI whose turn takes so many calls of a tool, one in each answer. No call
// ends before its process does.
type longTurn struct {
	*scripted
	steps int
}

func newLongTurn(steps int) *longTurn {
	l := &longTurn{scripted: new(scripted), steps: steps}
	var mu sync.Mutex
	made := 0
	l.scripted.CLI = claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			mu.Lock()
			defer mu.Unlock()
			if made == l.steps {
				return claudetest.Say("done")
			}
			made++
			return claudetest.UseTools(claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%d", made), Name: "Read", Input: json.RawMessage(`{"file_path":"a"}`)})
		},
		Tools: map[string]host.RunFunc{"Read": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
			<-ctx.Done()
			return host.ToolOutput{}, ctx.Err()
		}},
	})
	return l
}

// A long turn survives ten orderly deploys, and ten kills with progress between them, and
// is answered once.
func TestManyEndsOfOneTurn(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *machine){
		"kills":   crash,
		"deploys": func(t *testing.T, m *machine) { closeFleet(t, m.fleet) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ends = 10
				db, cli := store.Memory(), newLongTurn(ends)
				quick := func(o *fleet.Options) { o.Gate, o.Grace = nil, time.Second }
				m := start(t, db, cli.scripted, quick)
				id := send(t, m.fleet, "ada", "work")
				for range ends {
					<-time.After(time.Minute) // the lease of the dead, and a call
					if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptRunning {
						t.Fatalf("it is %+v", o)
					}
					end(t, m)
					m = start(t, db, cli.scripted, quick)
				}
				defer func() { closeFleet(t, m.fleet) }()
				<-time.After(2 * time.Minute)
				o := outcome(t, m.fleet, "ada", id)
				if o.Status != fleet.PromptAnswered || o.Text != "done" {
					t.Errorf("at the end: %+v", o)
				}
				said := 0
				for line, err := range store.Entries(t.Context(), db, store.Key{Project: "p", Session: o.Session}) {
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(line), `"text":"done"`) {
						said++
					}
				}
				if said != 1 {
					t.Errorf("answered %d times", said)
				}
			})
		})
	}
}

// Progress does not restart the count without end: a turn that produces something and
// dies each time is given up.
func TestResetsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newLongTurn(100)
		few := func(o *fleet.Options) { o.Gate, o.Attempts, o.Resets = nil, 2, 3 }
		m := start(t, db, cli.scripted, few)
		id := send(t, m.fleet, "ada", "work")
		starts := 0
		for ; starts < 50; starts++ {
			<-time.After(time.Minute)
			if outcome(t, m.fleet, "ada", id).Status == fleet.PromptStuck {
				break
			}
			crash(t, m)
			m = start(t, db, cli.scripted, few)
		}
		defer closeFleet(t, m.fleet)
		if starts < 4 || starts > 6 {
			t.Errorf("given up after %d kills", starts)
		}
	})
}

// A prompt that kills its process before any progress is given up after so many attempts.
func TestKillsItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		m := start(t, db, cli, nil)
		id := send(t, m.fleet, "ada", "hello")
		for range 3 {
			<-time.After(time.Minute)
			crash(t, m)
			m = start(t, db, cli, nil)
		}
		defer closeFleet(t, m.fleet)
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptStuck || len(cli.calls) != 3 {
			t.Errorf("%+v after %d attempts", o, len(cli.calls))
		}
		close(cli.hold)
	})
}

// An attempt that Close cuts off when its grace is over does not count, though the turn
// has not produced anything yet.
func TestDeploysAreNotAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		release := cli.pause()
		quick := func(o *fleet.Options) { o.Attempts, o.Grace = 2, time.Second }
		m := start(t, db, cli, quick)
		id := send(t, m.fleet, "ada", "hello")
		for range 4 {
			<-time.After(time.Minute)
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptRunning {
				t.Errorf("it is %+v", o)
			}
			closeFleet(t, m.fleet)
			m = start(t, db, cli, quick)
		}
		defer func() { closeFleet(t, m.fleet) }()
		release()
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("after the deploys: %+v", o)
		}
	})
}

// slowHandshake is a CLI whose answers come late, for as long as it starts.
type slowHandshake struct {
	claude.Conn
	until time.Time
}

func (s *slowHandshake) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	<-time.After(time.Until(s.until))
	return n, err
}

// slowStarts lets the CLI of each start take its time for the handshake, and gives prompts
// one attempt.
func slowStarts(takes time.Duration) func(*fleet.Options) {
	return func(o *fleet.Options) {
		o.Attempts = 1
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			opts, err := usual(ctx, key)
			inner := opts.Transport
			opts.Transport = startFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
				conn, err := inner.Start(ctx, l)
				return &slowHandshake{conn, time.Now().Add(takes)}, err
			})
			return opts, err
		}
	}
}

// A CLI whose handshake takes 90 s on every start is late, and nothing is stuck.
func TestSlowStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, slowStarts(90*time.Second))
		defer closeFleet(t, f)
		began := time.Now()
		if got := ask(t, f, "ada", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
		t.Logf("after %v and %d starts", time.Since(began), cli.started())
	})
}

// A CLI that takes an hour for its handshake is not started for ever: after some free starts
// they count as attempts, and the conversation is stuck.
func TestSlowStartsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, slowStarts(time.Hour))
		defer func() {
			closeFleet(t, f)
			<-time.After(time.Hour) // until the last handshake is over
		}()
		id := send(t, f, "ada", "hello")
		<-time.After(6 * time.Hour)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptStuck || cli.started() != 6+1 { // free, and the one attempt
			t.Errorf("after %d starts: %+v", cli.started(), o)
		}
	})
}

// A failure that only a person can mend is not tried again: the conversation is stuck
// at once, with the reason.
func TestStuckAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		options *claude.Options
		err     error
		says    string
	}{
		"no options":     {err: errors.New("no such repository"), says: "no such repository"},
		"refused option": {options: &claude.Options{MaxTurns: -1}, says: "MaxTurns"},
		"no CLI":         {options: &claude.Options{CLIPath: "/nowhere/claude"}, says: "/nowhere/claude"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
					o.Session = func(context.Context, string) (*claude.Options, error) { asked++; return c.options, c.err }
				})
				defer closeFleet(t, f)
				began := time.Now()
				_, err := result(f.Run(t.Context(), "ada", "hello"))
				stuck, ok := errors.AsType[*fleet.StuckError](err)
				if !ok || !strings.Contains(stuck.Reason, c.says) || time.Since(began) > time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				<-time.After(time.Minute)
				if asked > 3 { // to check the CLI, and to start it once
					t.Errorf("the options were asked for %d times", asked)
				}
			})
		})
	}
}

// away cuts a machine off from the store for longer than its lease lasts.
func away(m *machine) {
	m.mu.Lock()
	m.downUntil = time.Now().Add(35 * time.Second)
	m.mu.Unlock()
	<-time.After(2 * time.Minute)
}

// A process that loses its lease, because the machine slept or the store was away, and gets
// it again continues the turn in the same attempt.
func TestLostLeasesAreNotAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		release := cli.pause()
		m := start(t, store.Memory(), cli, func(o *fleet.Options) { o.Attempts = 1 })
		defer closeFleet(t, m.fleet)
		id := send(t, m.fleet, "ada", "hello")
		for range 3 {
			<-time.After(time.Minute)
			away(m)
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptRunning {
				t.Errorf("it is %+v", o)
			}
		}
		release()
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || len(cli.calls) != 1+3 {
			t.Errorf("after %d calls of the model: %+v", len(cli.calls), o)
		}
	})
}

// A prompt that makes its process lose the lease each time is given up, and the reason
// says so.
func TestLostLeasesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.pause()
		m := start(t, store.Memory(), cli, func(o *fleet.Options) { o.Attempts = 2 })
		defer closeFleet(t, m.fleet)
		id := send(t, m.fleet, "ada", "hello")
		for range 20 {
			<-time.After(time.Minute)
			away(m)
		}
		o := outcome(t, m.fleet, "ada", id)
		if o.Status != fleet.PromptStuck || !strings.Contains(o.Error, "its lease was lost") || len(cli.calls) != 6+2 { // free, and the attempts
			t.Errorf("after %d calls of the model: %+v", len(cli.calls), o)
		}
		if err := m.fleet.Retry(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			<-time.After(time.Minute)
			away(m)
		}
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptRunning {
			t.Errorf("after a retry, which begins anew: %+v", o)
		}
	})
}

// A process that takes over counts the attempt: it cannot know that the other one only
// lost its lease. Once the prompt has begun elsewhere, the other one counts its own as well.
func TestSuccessorsAreAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.pause()
		two := func(o *fleet.Options) { o.Attempts = 2 }
		first := start(t, db, cli, two)
		defer closeFleet(t, first.fleet)
		id := send(t, first.fleet, "ada", "hello")
		second := start(t, db, cli, two)
		away(first)
		synctest.Wait()
		if o := outcome(t, first.fleet, "ada", id); o.Status != fleet.PromptRunning || len(cli.calls) != 2 {
			t.Errorf("taken over after %d calls of the model: %+v", len(cli.calls), o)
		}
		crash(t, second)
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if o := outcome(t, first.fleet, "ada", id); o.Status != fleet.PromptStuck || len(cli.calls) != 2 {
			t.Errorf("at the end, after %d calls of the model: %+v", len(cli.calls), o)
		}
	})
}
