package e2e

import (
	"context"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/price"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// billed is the usage of each answer of a billing machine.
var billed = claudetest.ReplyUsage{InputTokens: 1000, CacheReadInputTokens: 5000, CacheCreationInputTokens: 400, OutputTokens: 700}

// billing is a machine whose model makes so many calls and then stays silent, until
// its CLI ends: never, if there are none.
func billing(t *testing.T, calls int64, held chan<- struct{}) (r *real, answers *atomic.Int64) {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	answers = new(atomic.Int64)
	r = startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch {
		case c.Side:
			return claudetest.Say("a title")
		case calls == 0:
			answers.Add(1)
			return claudetest.Say("done").Usage(billed)
		case answers.Load() == calls:
			held <- struct{}{}
			<-c.Context().Done()
			return claudetest.Say("too late")
		}
		answers.Add(1)
		return bash("true").Usage(billed)
	}))
	r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	return r, answers
}

// The cost of a CLI that is killed, or closed in the middle of a turn, is counted
// from the transcript: the total equals the model's bill.
func TestRealFleetCostOfTurnsThatBreakOff(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]struct {
		calls int64
		run   func(t *testing.T, r *real, dir string, held <-chan struct{})
	}{
		"killed": {3, func(t *testing.T, r *real, dir string, held <-chan struct{}) {
			need.Signals.Test(t)
			r.killed(t, dir, "work", 0, func(*os.Process) {
				<-held
				storedAnswers(t, store.Files(dir), 3)
			})
		}},
		"closed": {2, func(t *testing.T, r *real, dir string, held <-chan struct{}) {
			f := r.fleet(t, store.Files(dir), fleet.Options{Grace: time.Millisecond})
			if _, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "work"}); err != nil {
				t.Fatal(err)
			}
			<-held
			closeFleet(t, f)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, held := t.TempDir(), make(chan struct{}, 1)
			first, before := billing(t, cut.calls, held)
			cut.run(t, first, dir, held)
			second, after := billing(t, 0, nil)
			f := second.fleet(t, store.Files(dir), fleet.Options{})
			defer closeFleet(t, f)
			if _, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "work"})); err != nil {
				t.Fatal(err)
			}
			if before.Load() != cut.calls || after.Load() != 1 {
				t.Errorf("the model gave %d answers, and then %d", before.Load(), after.Load())
			}
			of := ledger(t, f, "ada")
			if _, err := lastText(f.Run(t.Context(), "bob", "work")); err != nil {
				t.Fatal(err)
			}
			each := ledger(t, f, "bob").USD
			if want := float64(cut.calls+1) * each; each <= 0 || math.Abs(of.USD-want) > 1e-9 || len(of.Unpriced) > 0 {
				t.Errorf("%d answers at $%v are counted as $%v: %+v", cut.calls+1, each, of.USD, of)
			}
			ticket, err := f.Prompt(t.Context(), "ada", notedPrompt)
			if err != nil || math.Abs(ticket.Cost.USD-of.USD) > 1e-9 {
				t.Errorf("the prompt bears $%v of $%v, %v", ticket.Cost.USD, of.USD, err)
			}
			t.Logf("%d answers, $%v each, $%v in all", cut.calls+1, each, of.USD)
		})
	}
}

func ledger(t *testing.T, f *fleet.Fleet, key string) fleet.Ledger {
	t.Helper()
	info, err := f.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return info.Cost
}

// storedAnswers waits until the store has so many results of tools.
func storedAnswers(t *testing.T, db store.Transcripts, want int) {
	t.Helper()
	eventually(t, "the answers are not stored", func() bool {
		n := 0
		for s, err := range db.List(context.Background(), "p") {
			if err != nil {
				t.Fatal(err)
			}
			for line, err := range store.Entries(context.Background(), db, store.Key{Project: "p", Session: s.Session}) {
				if err != nil {
					t.Fatal(err)
				}
				if m, err := message.Decode(line); err == nil {
					if u, ok := m.(*message.User); ok && len(u.ToolResults()) > 0 {
						n++
					}
				}
			}
		}
		return n >= want
	})
}

// The list of prices agrees with the catalogue of the CLI.
func TestRealPrices(t *testing.T) {
	t.Parallel()
	r, _ := billing(t, 0, nil)
	s := r.connect(t)
	for _, model := range price.Models() {
		if err := s.SetModel(t.Context(), model); err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		res, err := s.Ask(t.Context(), "what does it cost?")
		if err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		for name, u := range res.TurnModelUsage {
			want, known := price.Of(name, price.Usage(u), message.ModelUsage{})
			if !known || math.Abs(u.CostUSD-want) > 1e-9 { // under another name, if the model is retired
				t.Errorf("%s, called %s: the CLI says $%v, the list $%v, %v", model, name, u.CostUSD, want, known)
			}
		}
		if len(res.TurnModelUsage) != 1 {
			t.Errorf("%s: %+v", model, res.TurnModelUsage)
		}
	}
}
