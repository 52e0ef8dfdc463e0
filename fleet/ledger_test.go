package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// bills checks that prompts and turns without a prompt together bear the cost of their
// conversation, in money and in the tokens of each model.
func bills(t *testing.T, f *fleet.Fleet, ids ...string) {
	t.Helper()
	info, err := f.Get(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	usd, turns, output := info.Unprompted.USD, info.Unprompted.Turns, outputOf(info.Unprompted)
	for _, id := range ids {
		o := outcome(t, f, "ada", id)
		usd, turns, output = usd+o.Cost.USD, turns+o.Cost.Turns, output+outputOf(o.Cost)
	}
	if math.Abs(usd-info.Cost.USD) > 1e-9 || turns != info.Cost.Turns || output != outputOf(info.Cost) || usd == 0 || output == 0 {
		t.Errorf("the prompts bear $%v, %d turns and %d tokens of %+v", usd, turns, output, info.Cost)
	}
}

func outputOf(l fleet.Ledger) (tokens int) {
	for _, u := range l.Models {
		tokens += u.OutputTokens
	}
	return tokens
}

// costs returns the cost of a prompt, which is not zero.
func costs(t *testing.T, f *fleet.Fleet, id string, turns int) fleet.Ledger {
	t.Helper()
	o := outcome(t, f, "ada", id)
	if o.Cost.USD <= 0 || o.Cost.Turns != turns || len(o.Cost.Models) != 1 || o.PartOf != "" {
		t.Errorf("prompt %s, %s, has cost %+v, part of %q, want %d turns", id, o.Status, o.Cost, o.PartOf, turns)
	}
	return o.Cost
}

// Each prompt has its own cost, however quickly one follows the other.
func TestCostOfPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		first := send(t, f, "ada", "one")
		second := send(t, f, "ada", "two")
		<-time.After(time.Minute)
		costs(t, f, first, 1)
		costs(t, f, second, 1)
		bills(t, f, first, second)
	})
}

// The cost of a prompt that waits for a person is its cost until then. In the end it is
// the cost of all its parts, in whichever processes they ran.
func TestCostOfDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := gated(t, db, cli)
		id := send(t, f, "ada", "tool 1")
		q := question(t, f)
		<-time.After(5 * time.Minute)
		asked := costs(t, f, id, 1)
		bills(t, f, id)
		closeFleet(t, f)
		f = gated(t, db, cli)
		defer closeFleet(t, f)
		decide(t, f, q, permission.Allow())
		<-time.After(time.Minute)
		next := send(t, f, "ada", "next")
		<-time.After(time.Minute)
		if whole := costs(t, f, id, 2); whole.USD <= asked.USD {
			t.Errorf("$%v in all, $%v until it was asked", whole.USD, asked.USD)
		}
		costs(t, f, next, 1)
		bills(t, f, id, next)
	})
}

// A prompt that is cancelled because its conversation is stuck bears its cost.
func TestCostOfCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			o.Gate = &approval.Options{Patience: time.Minute}
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				if broken {
					return nil, errors.New("no such repository")
				}
				return usual(ctx, key)
			}
		})
		defer closeFleet(t, f)
		id := send(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute) // until the call is deferred
		broken = true
		decide(t, f, question(t, f), permission.Allow())
		<-time.After(5 * time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptStuck {
			t.Fatalf("not stuck: %+v", o)
		}
		if err := f.Cancel(t.Context(), "ada", id); err != nil {
			t.Fatal(err)
		}
		costs(t, f, id, 1)
		bills(t, f, id)
	})
}

// dying is a store at which a program dies before it writes the outcome of a
// prompt.
type dying struct {
	store.Fleet
	die func()
}

func (d dying) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if puts(c, "outcome") {
		d.die()
		return nil, errors.New("the program is dead")
	}
	return d.Fleet.Change(ctx, f, c...)
}

// If a program dies after a turn, before the prompt has its outcome, neither the cost
// of the prompt nor its answer is lost.
func TestCostAfterCrash(t *testing.T) {
	for _, prompt := range []string{"hello", "tool 1"} {
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), newScripted()
			var m *machine
			dead := make(chan struct{})
			m = start(t, db, cli, func(o *fleet.Options) {
				o.Store = dying{o.Store, func() { m.kill(); close(dead) }}
			})
			id, err := m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: prompt})
			if err != nil {
				t.Fatal(err)
			}
			turns := 1
			if prompt != "hello" {
				<-time.After(5 * time.Minute) // until the call is deferred
				decide(t, m.fleet, question(t, m.fleet), permission.Allow())
				turns = 2
			}
			<-dead
			crash(t, m)
			m = start(t, db, cli, nil)
			defer closeFleet(t, m.fleet)
			<-time.After(time.Minute)
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Result != nil {
				t.Fatalf("after the crash: %+v", o)
			} else if prompt == "hello" { // its cost was to be stored with its outcome: it is counted from the transcript
				if used := o.Cost.Unpriced["scripted"]; o.Cost.Turns != 1 || used.InputTokens != 10 || used.OutputTokens != 5 {
					t.Errorf("%+v", o.Cost)
				}
				return
			}
			costs(t, m.fleet, id, turns)
			bills(t, m.fleet, id)
		})
	}
}

// A turn is booked with its whole cost, and once, although the store fails at first: sums
// of the CLI that were seen and not stored still count. It does not matter whether other
// turns came before.
func TestCostWhileStoreFails(t *testing.T) {
	for _, before := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(before, " before"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				m := start(t, db, cli, nil)
				defer func() { closeFleet(t, m.fleet) }()
				var ids []string
				for range before {
					ids = append(ids, send(t, m.fleet, "ada", "before"))
					<-time.After(time.Minute)
				}
				release := cli.pause()
				id := send(t, m.fleet, "ada", "hello")
				m.mu.Lock()
				m.failing = func(method string) bool { return method == "Change" }
				m.mu.Unlock()
				release()
				<-time.After(5 * time.Second)
				m.mu.Lock()
				m.failing = nil
				m.mu.Unlock()
				<-time.After(time.Minute)
				costs(t, m.fleet, id, 1)
				bills(t, m.fleet, append(ids, id)...)
			})
		})
	}
}

// A prompt that a turn has taken in costs nothing of its own: the prompt of the
// turn bears it all. One that came too late is a turn with its own cost.
func TestCostOfSteered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newSteerable()
		tool := make(chan struct{})
		cli.set(tool, nil)
		f := open(t, store.Memory(), cli, cli.allow)
		defer closeFleet(t, f)
		first := send(t, f, "ada", "tool")
		second := steer(t, f, "and vet")
		close(tool)
		<-time.After(time.Second)
		answers := make(chan struct{})
		cli.set(nil, answers)
		third := send(t, f, "ada", "more")
		late := steer(t, f, "too late")
		close(answers)
		<-time.After(time.Second)
		for _, id := range []string{first, third, late} {
			costs(t, f, id, 1)
		}
		if o := outcome(t, f, "ada", second); o.PartOf != first || o.Cost.USD != 0 || o.Cost.Turns != 0 || o.Status != fleet.PromptAnswered {
			t.Errorf("what the turn took in: %+v", o)
		}
		bills(t, f, first, second, third, late)
	})
}

// After a crash it is also known that a turn took a prompt in.
func TestCostOfSteeredAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newSteerable()
		tool, answers := make(chan struct{}), make(chan struct{})
		cli.set(tool, answers)
		m := start(t, db, cli.scripted, cli.allow)
		first := send(t, m.fleet, "ada", "tool")
		second := steer(t, m.fleet, "and vet")
		close(tool)
		synctest.Wait()
		crash(t, m)
		cli.set(nil, nil)
		m = start(t, db, cli.scripted, cli.allow)
		defer closeFleet(t, m.fleet)
		<-time.After(5 * time.Minute)
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptAnswered || o.PartOf != first || o.Cost.USD != 0 {
			t.Errorf("what the turn took in: %+v", o)
		}
		costs(t, m.fleet, first, 2)
		bills(t, m.fleet, first, second)
	})
}

// An answer that an agent in the background causes when it has ended belongs to none of
// the prompts. It is counted anyway.
func TestCostOfBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.CLI = claudetest.New(
			claudetest.Delegate("general-purpose", "Count the files.", claudetest.Say("Three.").After(time.Minute)),
			claudetest.Say("An agent counts them."),
			claudetest.Say("There are three."),
			claudetest.Say("Yes."),
		)
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		first := send(t, f, "ada", "count")
		<-time.After(90 * time.Second) // the agent is done, and the CLI does not sleep yet
		second := send(t, f, "ada", "sure?")
		<-time.After(time.Minute)
		costs(t, f, first, 1)
		costs(t, f, second, 1)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Unprompted.Turns != 1 || info.Unprompted.USD <= 0 {
			t.Errorf("%+v, %v", info, err)
		}
		bills(t, f, first, second)
	})
}

// Output of an agent in the background after the result of its turn is counted, even if
// its process dies and the main conversation has no more answers.
func TestCostOfBackgroundCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newBiller(0)
		cli.CLI = claudetest.New(
			claudetest.Delegate("general-purpose", "Count the files.",
				claudetest.UseTool("Bash", map[string]any{"command": "ls"}).After(10*time.Second), claudetest.Say("Three.").After(time.Hour)),
			claudetest.Say("An agent counts them."),
		)
		m := start(t, db, cli.scripted, cli.allow)
		first := send(t, m.fleet, "ada", "count")
		<-time.After(30 * time.Second)
		costs(t, m.fleet, first, 1)
		crash(t, m)
		cli.CLI = claudetest.New(claudetest.Say("Yes."))
		m = start(t, db, cli.scripted, cli.allow)
		defer func() { closeFleet(t, m.fleet) }()
		second := send(t, m.fleet, "ada", "sure?")
		<-time.After(5 * time.Minute)
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptAnswered {
			t.Fatalf("%+v", o)
		}
		info, err := m.fleet.Get(t.Context(), "ada")
		if err != nil || outputOf(info.Cost) != 4*answerTokens {
			t.Errorf("four answers are counted as %+v, %v", info.Cost, err)
		}
	})
}
