package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

// biller is a scripted CLI whose model sends a bill: so many answers that call a tool, and
// then one that ends the turn. Before some of them it keeps the turn waiting, until its
// process ends.
type biller struct {
	*scripted
	mu     sync.Mutex
	answer int          // that comes next
	end    int          // the answer that ends the turn
	holds  map[int]bool // the answers that the process does not live to see
	agent  bool         // the first answer delegates to a subagent
	held   chan struct{}
}

func newBiller(end int, holds ...int) *biller {
	b := &biller{scripted: new(scripted), end: end, holds: make(map[int]bool), held: make(chan struct{}, 1)}
	for _, at := range holds {
		b.holds[at] = true
	}
	b.CLI = claudetest.NewCLI(&claudetest.Script{Model: b.model, Tools: map[string]host.RunFunc{
		"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("built"), nil },
	}})
	return b
}

// answerUSD is the cost of an answer of the script, and answerTokens its tokens.
const (
	answerUSD    = 10*4e-6 + 5*20e-6
	answerTokens = 5
)

func (b *biller) model(c *claudetest.ModelCall) claudetest.Reply {
	b.mu.Lock()
	hold := b.holds[b.answer]
	delete(b.holds, b.answer)
	b.mu.Unlock()
	if hold {
		b.held <- struct{}{}
		<-c.Context().Done()
		return claudetest.Say("too late")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer++
	switch {
	case b.answer > b.end:
		return claudetest.Say("done")
	case b.agent && b.answer == 1:
		return claudetest.UseTools(claudetest.ScriptedCall{Name: "Agent", Input: json.RawMessage(`{"prompt":"Count.","description":"count","subagent_type":"general-purpose","run_in_background":false}`)})
	}
	return claudetest.UseTools(claudetest.ScriptedCall{Name: "Bash", Input: json.RawMessage(fmt.Sprintf(`{"command":"make %d"}`, b.answer))})
}

// allow lets the CLI run its tools without asking a person.
func (b *biller) allow(o *fleet.Options) {
	usual := o.Session
	o.Gate = nil
	o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
		own, err := usual(ctx, key)
		own.AllowedTools = []string{"Bash", "Agent"}
		return own, err
	}
}

// billed checks that the conversation has cost what the model has billed, and returns it.
func (b *biller) billed(t *testing.T, f *fleet.Fleet, name string, ids ...string) fleet.Ledger {
	t.Helper()
	b.mu.Lock()
	answers := b.answer
	b.mu.Unlock()
	info, err := f.Get(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(answers) * answerUSD; math.Abs(info.Cost.USD-want) > 1e-9 || outputOf(info.Cost) != answers*answerTokens || len(info.Cost.Unpriced) > 0 {
		t.Errorf("%s: %d answers cost $%.5f, and are counted as $%.5f: %+v", name, answers, want, info.Cost.USD, info.Cost)
	}
	bills(t, f, ids...)
	return info.Cost
}

// ends are how a process ends in the middle of a turn.
var ends = map[string]func(*testing.T, *machine){
	"killed": crash,
	"closed": func(t *testing.T, m *machine) { closeFleet(t, m.fleet) },
}

// Whatever ends a process, as often as it may, the answers of the model that are in the
// transcript are counted once: the sum equals the model's bill.
func TestCostOfTurnsThatBreakOff(t *testing.T) {
	const end = 3
	for kind, cut := range ends {
		for holds := range 1 << (end + 1) { // every set of answers at which the process ends
			if holds%long.Pick(5, 1) != 0 {
				continue
			}
			for _, agent := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					name := fmt.Sprintf("%s before %04b, agent %v", kind, holds, agent)
					b := newBiller(end)
					b.agent = agent
					for at := range end + 1 {
						b.holds[at] = holds>>at&1 == 1
					}
					lives := 1
					db := store.Memory()
					m := start(t, db, b.scripted, b.allow)
					id := send(t, m.fleet, "ada", "work")
					for at := range end + 1 {
						if holds>>at&1 == 0 {
							continue
						}
						<-b.held
						<-time.After(time.Second) // until the last line is stored
						cut(t, m)
						lives++
						m = start(t, db, b.scripted, b.allow)
					}
					defer func() { closeFleet(t, m.fleet) }()
					<-time.After(time.Minute)
					if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Cost.Turns > lives {
						t.Fatalf("%s: %+v", name, o)
					}
					b.billed(t, m.fleet, name, id)
					again := send(t, m.fleet, "ada", "again")
					<-time.After(time.Minute)
					b.billed(t, m.fleet, name+", and the next prompt", id, again)
				})
			}
		}
	}
}

// An answer that was the last, and whose process died before it could count it, is counted
// when it is found.
func TestCostOfFoundAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBiller(2)
		db := store.Memory()
		m := start(t, db, b.scripted, b.allow)
		first := send(t, m.fleet, "ada", "work")
		<-time.After(time.Minute)
		b.mu.Lock()
		b.end = b.answer + 1
		b.mu.Unlock()
		m.mu.Lock()
		m.failing = func(method string) bool {
			return method == "Change" && storedAnswers(t, db) > 4
		}
		m.mu.Unlock()
		second := send(t, m.fleet, "ada", "more")
		<-time.After(time.Minute)
		crash(t, m)
		m = start(t, db, b.scripted, b.allow)
		defer closeFleet(t, m.fleet)
		<-time.After(5 * time.Minute)
		if o := outcome(t, m.fleet, "ada", second); o.Status != fleet.PromptAnswered || o.Result != nil {
			t.Fatalf("not found: %+v", o)
		}
		b.billed(t, m.fleet, "found", first, second)
	})
}

// storedAnswers counts the lines of the model in all transcripts.
func storedAnswers(t *testing.T, db *store.MemoryStore) (n int) {
	for s, err := range db.List(context.Background(), "p") {
		if err != nil {
			t.Error(err)
		}
		for line, err := range store.Entries(context.Background(), db, store.Key{Project: "p", Session: s.Session}) {
			if err == nil && string(jsonMember(line, "type")) == `"assistant"` {
				n++
			}
		}
	}
	return n
}

func jsonMember(line []byte, name string) json.RawMessage {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(line, &all)
	return all[name]
}

// A budget holds a conversation whose turns never come to their end. An answer without
// a price is reported, and gets one as soon as the CLI names it.
func TestBudgetOfTurnsThatBreakOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, b := store.Memory(), newBiller(0)
		limit := func(o *fleet.Options) { b.allow(o); o.BudgetUSD = 3.5 * answerUSD }
		m := start(t, db, b.scripted, limit)
		send(t, m.fleet, "ada", "hello") // which names the price
		<-time.After(time.Minute)
		b.mu.Lock()
		b.end, b.holds[4] = 10, true
		b.mu.Unlock()
		second := send(t, m.fleet, "ada", "work")
		<-b.held
		crash(t, m)
		m = start(t, db, b.scripted, limit)
		defer func() { closeFleet(t, m.fleet) }()
		if err := m.fleet.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", second); !o.Interrupted || math.Abs(o.Cost.USD-3*answerUSD) > 1e-9 {
			t.Errorf("interrupted: %+v", o)
		}
		if _, err := m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: "more"}); !errors.Is(err, fleet.ErrBudget) {
			t.Errorf("a prompt beyond the budget: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		db, b := store.Memory(), newBiller(3, 2)
		m := start(t, db, b.scripted, b.allow)
		id := send(t, m.fleet, "ada", "work")
		<-b.held
		crash(t, m)
		b.mu.Lock()
		b.holds[2] = true
		b.mu.Unlock()
		m = start(t, db, b.scripted, b.allow)
		defer func() { closeFleet(t, m.fleet) }()
		<-b.held
		o := outcome(t, m.fleet, "ada", id)
		if u := o.Cost.Unpriced["scripted"]; o.Cost.USD != 0 || u.OutputTokens != 2*answerTokens {
			t.Errorf("without a price: %+v", o.Cost)
		}
		crash(t, m)
		m = start(t, db, b.scripted, b.allow)
		<-time.After(5 * time.Minute)
		b.billed(t, m.fleet, "with a price", id)
	})
}
