package fleet

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/approval"
)

// A question about a deferred call that is not decided in time ends the prompt that
// waits for it, like a cancel and not like a denial: the model would have to read a
// denial, and that takes a CLI. The first process that looks at the question after its
// deadline records that it has expired; from then on it cannot be decided. Every
// process that runs conversations is notified, and ends the prompt if it gets the
// lease; one that comes later finds no waiting prompt. That needs no CLI and no slot.
// If no process runs, the next one to open finds the question like any other. The next
// prompt finds an expired deferred call, which the gate refuses before the CLI reads
// the prompt.

// overdue are questions that have expired while their conversations slept.
type overdue struct {
	mu   sync.Mutex
	all  []approval.Question
	more chan struct{} // one slot
}

func newOverdue() *overdue { return &overdue{more: make(chan struct{}, 1)} }

func (o *overdue) add(q approval.Question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, approval.Question{ID: q.ID, Conversation: q.Conversation})
	signal(o.more)
}

func (o *overdue) take() []approval.Question {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.all
	o.all = nil
	return all
}

// endOverdue ends the prompts that wait for expired questions, one after another, until
// the fleet ends.
func (e *endings) endOverdue() {
	for {
		select {
		case <-e.overdue.more:
		case <-e.ctx.Done():
			return
		}
		for _, q := range e.overdue.take() {
			if e.ctx.Err() != nil {
				return
			}
			if e.roster.hasWaiting(q.Conversation) {
				e.expire(e.ctx, &q)
			}
		}
	}
}

// expire ends the prompt that waits for an expired question. It then wakes the
// conversation for the prompts that are left: those behind, and this one if another
// process has the lease or the store fails.
func (e *endings) expire(ctx context.Context, q *approval.Question) {
	key := q.Conversation
	defer e.roster.wantWaiting(key)
	if e.roster.turnOf(key) != nil {
		return // it is awake here, and looks by itself
	}
	err := e.asleep(ctx, key)
	if err != nil && ctx.Err() == nil {
		e.opts.Logger.Debug("a prompt whose question has expired is not ended yet", "conversation", key, "question", q.ID, "error", err)
	}
}

// expired is the outcome of a prompt whose question was not decided in time.
func (p *queued) expired(rec *record) Ticket {
	return Ticket{Prompt: p.ID, Status: PromptExpired, Question: p.Question, Error: "nobody decided about its call in time", Session: rec.Session, Cost: rec.Spent[p.ID].Ledger}
}
