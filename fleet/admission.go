package fleet

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// admission accepts prompts, or refuses them.
type admission struct {
	opts    *Options
	ctx     context.Context // ends with Close
	store   *announcer
	temps   *temporary
	days    *days        // nil without a budget for a day
	tenants *tenantRates // nil without a rate of tenants
	records *records
	roster  *roster
	budgets *budgets

	checked atomic.Bool // the CLI is new enough
}

func (a *admission) send(ctx context.Context, key string, p Prompt, carrier map[string]string) (id string, err error) {
	content, err := p.content()
	if err != nil {
		return "", err
	}
	if err := checkKey(a.opts.Project, key); err != nil {
		return "", err
	}
	if err := a.checkCLI(key); err != nil {
		return "", err
	}
	q := &queued{ID: cmp.Or(p.ID, uuid.New()), Content: content, Steer: p.Steer, Rewind: p.rewind, Carrier: carrier, fresh: p.ID == "" || p.fresh}
	c, err := a.sendNow(ctx, key, q)
	if err == nil {
		return q.ID, nil
	}
	inDoubt := !errors.Is(err, errDeclined)
	if c == nil && inDoubt {
		return "", err
	}
	known, now, err := a.admit(ctx, key, q)
	if err == nil && !known && c == nil {
		var limits ConversationLimits
		if limits, err = a.budgets.limits(key); err == nil {
			c, err = a.reserve(ctx, key, limits.Rate)
		}
	} else if c != nil && (err != nil || known) {
		a.roster.giveRoom(c)
	}
	if err != nil && inDoubt {
		err = q.inDoubt(key, err)
	}
	if err != nil {
		return "", err
	}
	if known {
		return q.ID, nil
	}
	err = a.acceptNext(ctx, c, q, now)
	a.roster.settle(c, q, err)
	if err != nil {
		return "", err
	}
	return q.ID, nil
}

// acceptNext writes a prompt behind everything that this process has accepted, one at a
// time, so that prompts are accepted in the order of their names.
func (a *admission) acceptNext(ctx context.Context, c *conversation, q *queued, now time.Time) error {
	if err := c.accepting.take(ctx); err != nil {
		return q.inDoubt(c.key, err) // another Send with its id may be writing it
	}
	defer c.accepting.give()
	q.Accepted = a.roster.tick(now)
	q.name = place(c.key) + "/" + stamp(q.Accepted, q.ID)
	return a.records.accept(ctx, c.key, q)
}

// admit decides whether a prompt may be queued, and at what time: behind all prompts
// accepted before it. known means that the conversation already has the prompt. If the
// store cannot answer that, the prompt is in doubt, since an earlier Send with this id
// may have been accepted.
func (a *admission) admit(ctx context.Context, key string, q *queued) (known bool, now time.Time, err error) {
	may := func() error { return nil }
	if q.Rewind == nil { // which costs nothing
		may = func() error { return a.days.allow(ctx, key) }
	}
	rec, now, err := a.records.recordAndTime(ctx, key, may)
	if err == nil && !q.fresh {
		if known, err = a.records.known(ctx, key, q.ID); known {
			return true, now, nil
		}
	}
	if err != nil && !q.fresh && !errors.Is(err, ErrDeleted) && !errors.Is(err, ErrBudget) {
		err = q.inDoubt(key, err)
	}
	if err != nil {
		return false, now, err
	}
	if rec.Stuck != nil {
		return false, now, rec.stuckError()
	}
	if q.Rewind == nil { // which costs nothing
		err = a.budgets.budget(ctx, &rec)
	}
	if err == nil {
		now, err = a.records.behind(ctx, key, now)
	}
	return false, now, err
}

// reserve makes room for a prompt in the queues, and counts it.
func (a *admission) reserve(ctx context.Context, key string, rate Rate) (*conversation, error) {
	c, err := a.roster.makeRoom(key, rate)
	if err != nil {
		return nil, err
	}
	if err := a.tenants.take(ctx, key); err != nil {
		a.roster.mu.Lock()
		a.roster.rates.giveBack(rate, key)
		a.roster.mu.Unlock()
		a.roster.giveRoom(c)
		return nil, err
	}
	return c, nil
}

// sendNow offers a prompt to a conversation that is between two turns. If the
// conversation declines, the error is errDeclined. If reserved is not nil, room in the
// queue is reserved, even if the error means that the prompt may have been accepted.
func (a *admission) sendNow(ctx context.Context, key string, q *queued) (reserved *conversation, err error) {
	a.roster.mu.Lock()
	c := a.roster.active[key]
	free := c != nil && c.takesOffers()
	a.roster.mu.Unlock()
	if !free || !q.fresh || q.Steer || q.Rewind != nil {
		return nil, errDeclined
	}
	limits, err := a.budgets.limits(key)
	if err != nil {
		return nil, err
	}
	if c, err = a.reserve(ctx, key, limits.Rate); err != nil {
		return nil, err
	}
	o := &offer{p: q, answer: make(chan error, 1)}
	if !a.roster.make(c, o) {
		return c, errDeclined
	}
	select {
	case err = <-o.answer:
	case <-ctx.Done():
		err = error(&ConversationError{key, context.Cause(ctx)})
		if !a.roster.takeBack(c, o) {
			err = q.inDoubt(key, context.Cause(ctx))
		}
		a.roster.giveRoom(c)
		return nil, err
	}
	if err != nil {
		return c, err
	}
	a.roster.giveRoom(c)
	return nil, nil
}

// sending announces a prompt that is about to be accepted.
func (a *admission) sending(ctx context.Context, key, id string) (carrier map[string]string, sent func(string, error)) {
	if t := a.opts.Trace; t != nil && t.Sending != nil {
		carrier, sent = t.Sending(ctx, TracePrompt{Key: key, ID: id})
	}
	if sent == nil {
		sent = func(string, error) {}
	}
	return carrier, sent
}
