package fleet

import (
	"context"
	"maps"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

// turnOf returns the cost that a result adds to the results before it. It must be
// called once for each result.
func (w *worker) turnOf(r *message.Result) Ledger {
	w.spent.Models = nil
	w.spent.Add(r)
	turn := Ledger{USD: max(0, w.spent.TurnUSD), Turns: 1, Models: w.spent.Models}
	maps.DeleteFunc(turn.Models, func(_ string, u message.ModelUsage) bool { // used in earlier turns only
		return u.InputTokens|u.OutputTokens|u.CacheReadInputTokens|u.CacheCreationInputTokens == 0 && u.CostUSD < tiny
	})
	return turn
}

// count adds the cost of a result to the ledgers of the conversation and of the prompt
// whose turn it ends, if there is one: once, and both in one write.
func (w *worker) count(ctx context.Context, r *message.Result, prompt string) error {
	add := w.counting(r, prompt)
	return w.persist(ctx, func() error { return w.change(ctx, add) })
}

// counting returns the change that a result makes to the record of the conversation;
// the change may be applied again until it is written. It also notes a session and a
// mode that the CLI has changed. It must be called once for each result.
func (w *worker) counting(r *message.Result, prompt string) func(*record) error {
	turn, id, heard, at := w.turnOf(r), w.session.ID(), w.heard, w.newest.get()
	agents := w.session.Activity().Agents > 0
	return func(rec *record) error {
		moved := w.moved && w.own.modeOf(rec.Mode) != w.mode
		if rec.Counted == r.UUID && (id == "" || id == rec.Session) && !moved {
			return errUnchanged
		}
		if moved {
			rec.Mode = w.mode
		}
		if id != "" && id != rec.Session {
			rec.moveTo(id)
		}
		if rec.Counted != r.UUID {
			rec.Counted, rec.Through = r.UUID, rec.Through.advance(heard, at, agents)
			book(rec, turn, prompt, w.queue)
		}
		return nil
	}
}

// countLost counts the answers that no result has counted, while no CLI runs. They
// belong to the prompt whose turn broke off, or to none.
func (w *worker) countLost(ctx context.Context, prompt string) error {
	if w.session != nil {
		return nil
	}
	lost, err := w.meter.lostAnswers(ctx, &w.rec, prompt)
	if err != nil || lost == nil {
		return err
	}
	return w.change(ctx, func(rec *record) error { return lost.count(rec, prompt, w.queue) })
}

// countLeft counts the answers that turns without a prompt have left uncounted, before
// a CLI resumes the session. Mostly the last answer was counted, and nothing more is
// read.
func (w *worker) countLeft(ctx context.Context, t *history.Transcript) error {
	mark := w.rec.Through
	if mark.Answer == "" {
		return nil
	}
	last := ""
	for m, err := range t.Messages(ctx, history.Page{Offset: max(0, t.Len()-lastLook)}) {
		if err != nil {
			return err
		}
		if a, ok := m.Message.(*message.Assistant); ok && a.Model != syntheticModel {
			last = a.ID
		}
	}
	if last == mark.Answer && !mark.Agents {
		return nil
	}
	return w.countLost(ctx, "")
}

// keepLimits ends a CLI that uses more than it may. The conversation then
// sleeps, or continues with a fresh one.
func (w *worker) keepLimits() {
	if w.session == nil || !w.exceeds(w.session) {
		return
	}
	if err := w.close(); err != nil {
		w.opts.Logger.Error("a conversation did not end well", "conversation", w.c.key, "error", err)
	}
}

// exceeds reports whether a CLI uses more than it may.
func (w *worker) exceeds(s *claude.Session) bool {
	l, err := w.budgets.limits(w.c.key)
	if err != nil || l.MaxMemory == 0 && l.MaxProcesses == 0 {
		return false // the error is reported where prompts begin
	}
	u, err := w.opts.Measure(s)
	if err != nil {
		w.opts.Logger.Warn("what a CLI uses could not be measured, so it is not limited", "conversation", w.c.key, "error", err)
		return false
	}
	if (l.MaxMemory == 0 || u.Memory <= l.MaxMemory) && (l.MaxProcesses == 0 || u.Processes <= l.MaxProcesses) {
		return false
	}
	w.opts.Logger.Warn("a CLI uses more than it may, so it is ended", "conversation", w.c.key,
		"memory", u.Memory, "max_memory", l.MaxMemory, "processes", u.Processes, "max_processes", l.MaxProcesses)
	return true
}
