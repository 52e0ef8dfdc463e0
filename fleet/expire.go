package fleet

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/store"
)

// A question about a deferred call that nobody decides in time ends the prompt that waits
// for it, like a cancel and not like a denial: a denial is read by the model, and that
// takes a CLI. The first who looks at the question after its deadline writes down that it
// has expired, and from then on nobody can decide it. Every process that runs
// conversations learns so, and ends the prompt if it gets the lease; one that comes later
// finds no prompt that waits. That needs no CLI and no slot. If no process runs, the next
// that opens finds the question like any other. The next prompt finds a deferred call that
// is over, which the gate refuses before the CLI reads the prompt.

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

// endOverdue ends the prompts that wait for questions which have expired, one after
// another, until the fleet ends.
func (f *Fleet) endOverdue() {
	for {
		select {
		case <-f.overdue.more:
		case <-f.ctx.Done():
			return
		}
		for _, q := range f.overdue.take() {
			if f.ctx.Err() != nil {
				return
			}
			if f.hasWaiting(q.Conversation) {
				f.expire(f.ctx, &q)
			}
		}
	}
}

// hasWaiting reports whether a conversation has prompts, as far as is known here.
func (f *Fleet) hasWaiting(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	return c != nil && len(c.waiting) > 0
}

// expire ends the prompt that waits for a question which has expired. If it cannot,
// because somebody else has the lease or the store fails, the conversation is woken.
// Otherwise that is for the prompts behind it.
func (f *Fleet) expire(ctx context.Context, q *approval.Question) {
	key := q.Conversation
	defer f.wantWaiting(key)
	if f.turnOf(key) != nil {
		return // it is awake here, and looks
	}
	err := f.leases.owning(ctx, key, func(lease *owned) error {
		rec, err := f.records.load(ctx, key)
		if err != nil || rec.Stuck != nil {
			return err
		}
		for p, err := range f.records.waiting(ctx, key) {
			if err != nil {
				return err
			}
			if p.Question == q.ID && p.Interrupted.IsZero() {
				return f.endExpired(ctx, &rec, p, lease.Fence)
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		f.opts.Logger.Debug("a prompt whose question has expired is not ended yet", "conversation", key, "question", q.ID, "error", err)
	}
}

// endExpired ends a prompt that waits for a question which has expired. The questions of
// its turn go first: if this breaks off, the prompt says that there is something to do.
func (f *Fleet) endExpired(ctx context.Context, rec *record, p *queued, fence store.Fence) error {
	o := Ticket{Prompt: p.ID, Status: Expired, Question: p.Question, Error: "nobody decided about its call in time", Session: rec.Session, Cost: rec.Spent[p.ID].Ledger}
	if err := f.asked.endQuestions(ctx, rec, fence); err != nil {
		return err
	}
	var err error
	if o.Ended, err = f.clock.about(ctx, f.store); err != nil {
		return err
	}
	if err := f.records.end(ctx, rec.Key, p, o, fence); err != nil {
		return err
	}
	c := f.hold(rec.Key)
	defer f.unhold(c)
	f.ended(c, p)
	f.finished(c, o)
	return nil
}

// endIfExpired ends a prompt whose deferred call nobody has decided in time. It returns
// errEnded then.
func (w *waking) endIfExpired(ctx context.Context, p *queued, q *approval.Question) error {
	if q == nil || q.State != approval.Gone || q.Outcome != approval.Expired {
		return nil
	}
	p.Question = q.ID
	if err := w.f.endExpired(ctx, &w.rec, p, w.lease.Fence); err != nil {
		return err
	}
	w.worked(p, TraceOutcome{Status: Expired})
	w.out(p)
	return errEnded
}
