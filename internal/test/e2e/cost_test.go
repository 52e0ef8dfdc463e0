package e2e

import (
	"context"
	"iter"
	"math"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// A session carries its cost on when it is resumed or forked, and every call of
// the model is counted once, whatever became of its turn.
func TestRealCost(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a cost that is resumed")
	hold := make(chan struct{})
	defer close(hold)
	r := realCLI(t, claudetest.Say("one"))
	r.opts.AllowedTools = []string{"Bash"}
	r.opts.PartialMessages = true
	greet := claudetest.UseTool("Bash", map[string]string{"command": "echo hi", "description": "greet"})
	var (
		spent message.Spending
		price float64 // of one call
		calls float64 // that were answered to their end
	)
	bill := func(what string, res *message.Result, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		spent.Add(res)
		if price == 0 {
			price = res.TotalCostUSD
		}
		if calls++; price == 0 || math.Abs(spent.TotalUSD-calls*price) > 1e-9 {
			t.Errorf("%s: spent %v in total, want %v calls at %v", what, spent.TotalUSD, calls, price)
		}
	}
	s := r.connect(t)
	res, err := s.Ask(t.Context(), "a")
	bill("first", res, err)

	// Of a turn that is cancelled the CLI counts the calls that were answered.
	r.model.Add(greet, claudetest.Say("held").Hold(hold))
	cancelSecondCall(t, func(ctx context.Context) iter.Seq2[message.Message, error] { return s.Run(ctx, "cancelled") })
	calls++
	usage, err := s.Usage(t.Context())
	if err != nil || math.Abs(usage.Session.TotalCostUSD-calls*price) > 1e-9 {
		t.Errorf("after a cancelled turn Usage says %+v, %v, want %v", usage, err, calls*price)
	}
	r.model.Add(claudetest.Say("two"))
	res, err = s.Ask(t.Context(), "b")
	bill("after a cancelled turn", res, err)
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	r.opts.Resume = s.ID()
	r.model.Add(claudetest.Say("three"), claudetest.Say("four"))
	res, err = claude.Ask(t.Context(), "c", r.opts)
	bill("resumed", res, err)
	if math.Abs(res.TotalCostUSD-calls*price) > 1e-9 {
		t.Errorf("a resumed session has cost %v, want %v", res.TotalCostUSD, calls*price)
	}
	r.opts.ForkSession = true
	r.opts.MaxBudgetUSD = 2 * price // what was spent before does not count
	res, err = claude.Ask(t.Context(), "d", r.opts)
	bill("forked", res, err)
	if res.SessionID == s.ID() || math.Abs(res.TotalCostUSD-calls*price) > 1e-9 {
		t.Errorf("the fork %s of %s has cost %v, want %v", res.SessionID, s.ID(), res.TotalCostUSD, calls*price)
	}
	r.opts.ForkSession, r.opts.MaxBudgetUSD = false, 0
	r.model.Add(claudetest.Say("six"))
	res, err = claude.Ask(t.Context(), "e", r.opts)
	bill("resumed again", res, err)

	r.model.Add(greet, claudetest.Say("held").Hold(hold))
	cancelSecondCall(t, func(ctx context.Context) iter.Seq2[message.Message, error] {
		return claude.Query(ctx, "cancelled", r.opts)
	})
	calls++
	r.model.Add(claudetest.Say("seven"))
	res, err = claude.Ask(t.Context(), "f", r.opts)
	bill("resumed after a cancelled Query", res, err)
}

// cancelSecondCall cancels a turn in the answer that follows on a tool.
func cancelSecondCall(t *testing.T, run func(context.Context) iter.Seq2[message.Message, error]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ran := false
	for msg := range run(ctx) {
		switch msg.(type) {
		case *message.User: // what the tool has said
			ran = true
		case *message.StreamEvent:
			if ran {
				cancel()
			}
		case *message.Result:
			t.Error("the turn was not cancelled")
		}
	}
}
