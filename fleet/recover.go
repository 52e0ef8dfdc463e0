package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// next decides the next step from the contents of the store: from the records first,
// and only where they are silent from the transcript.
func (w *waking) next(ctx context.Context) (step, *queued, error) {
	before := w.roster.waitingNames(w.c)
	signalled := w.c.takeMore()
	now, err := w.records.readStored(ctx, w.c.key, before)
	if err != nil {
		w.c.signalMore() // what it announced has not been read
		return sleep, nil, err
	}
	rec := now.rec
	switch {
	case !rec.Deleted.IsZero():
		return sleep, nil, nil
	case now.unknown && len(now.prompts) > 0: // it was deleted while a prompt for it was accepted
		if rec, err = w.records.create(ctx, w.c.key); err != nil {
			return sleep, nil, err
		}
	case now.unknown:
		rec = record{Key: w.c.key}
	}
	now.rec = rec
	if err := w.findLost(ctx, &now); err != nil {
		return sleep, nil, err
	}
	var all, cancelled []*queued
	w.queue, w.outcomes = make(map[string]bool), now.ended
	for _, p := range now.prompts {
		if !p.Cancelled.IsZero() {
			cancelled = append(cancelled, p)
			continue
		}
		all = append(all, p)
		w.queue[p.ID] = true
	}
	if len(all) > 1 && (signalled || slices.ContainsFunc(all, (*queued).steers)) {
		w.c.signalMore() // one of the others may steer the turn
	}
	if err := w.endCancelled(ctx, &rec, cancelled); err != nil {
		return sleep, nil, err
	}
	w.roster.reset(w.c, before, all)
	stuckAt := func(p *queued) bool { return p.ID == rec.Stuck.Prompt && p.Interrupted.IsZero() }
	if rec.Stuck != nil && slices.ContainsFunc(all, stuckAt) {
		w.isStuck()
		return sleep, nil, w.tellStuck(ctx, rec.Stuck)
	}
	if rec.Stuck != nil { // at a prompt that is gone, or about to end
		if rec, err = w.records.free(ctx, w.c.key, rec.Stuck.Prompt, w.lease.Fence); err != nil {
			return sleep, nil, err
		}
	}
	w.rec = rec
	if err := w.settleLeft(ctx, all); err != nil {
		return sleep, nil, err
	}
	slices.SortStableFunc(all, func(a, b *queued) int { return cmp.Compare(a.rank(), b.rank()) })
	s, p, err := w.choose(ctx, all)
	if err == nil && s != sleep && s != await && p.Begun >= w.opts.Attempts {
		return sleep, nil, w.stuck(ctx, p, p.neverEnded())
	}
	return s, p, err
}

// choose finds the prompt that comes next. One that a CLI has begun is ended before
// another is sent: after a crash that may be one that was to steer a turn, while an
// older one has never reached its CLI.
func (w *waking) choose(ctx context.Context, all []*queued) (step, *queued, error) {
	var unseen *queued
	for _, p := range all {
		if unseen != nil && !p.Sent {
			break
		}
		s, err := w.stand(ctx, p)
		switch {
		case errors.Is(err, errEnded):
		case err == nil && s == send && p.Sent:
			unseen = cmp.Or(unseen, p)
		default:
			return s, p, err
		}
	}
	if unseen != nil {
		return send, unseen, nil
	}
	return sleep, nil, nil
}

// stand decides the next step for a prompt.
func (w *waking) stand(ctx context.Context, p *queued) (step, error) {
	var o Ticket
	ended, known := w.outcomes[p.ID]
	delete(w.outcomes, p.ID) // what follows may end it, and it may be in the queue twice
	if ended || !known {
		var err error
		if o, ended, err = w.records.outcome(ctx, w.c.key, p.ID); err != nil {
			return sleep, err
		}
	}
	if ended {
		if err := w.records.dropEnded(ctx, w.c.key, p, &o, w.lease.Fence); err != nil {
			return sleep, err
		}
		w.out(p)
		return sleep, errEnded
	}
	if p.Rewind != nil {
		return w.rewindStep(ctx, p)
	}
	if !p.Sent {
		if err := w.endIfInterrupted(ctx, p); err != nil {
			return sleep, err
		}
		if err := w.budgets.budget(ctx, &w.rec); errors.Is(err, errUncounted) {
			return sleep, err
		} else if err != nil {
			w.days.hold(w.c.key, err)
			w.news.publish(w.c, p.ID, nil, err)
			return sleep, nil
		}
		return send, nil
	}
	if w.given(p.ID) {
		return await, nil
	}
	t, err := w.asked.transcript(ctx, w.rec.Session)
	if err != nil {
		return sleep, err
	}
	read := func() (*history.Transcript, error) { return t, nil }
	state, open := history.Unseen, []string(nil)
	if t != nil {
		state, open = t.PromptState(p.ID)
		if err := w.countLost(ctx, p.ID); err != nil { // before the prompt ends
			return sleep, err
		}
	}
	told := false
	if state == history.Cut {
		if told, err = w.tellCut(ctx, t); err != nil { // even of an interrupted turn, for those after it
			return sleep, err
		}
	}
	if state != history.Answered {
		if err := w.endIfInterrupted(ctx, p); err != nil {
			return sleep, err
		}
	}
	if state == history.Cut || state == history.Deferred {
		if err := w.endWithTurn(ctx, t, p); err != nil {
			return sleep, err
		}
		if err := w.progressed(ctx, t, p); err != nil {
			return sleep, err
		}
	}
	if err := w.asked.settleCalls(ctx, w.c.key, read, state == history.Deferred, w.lease.Fence); err != nil {
		return sleep, err
	}
	switch state {
	case history.Answered:
		return sleep, w.found(ctx, t, p)
	case history.Deferred:
		return w.decided(ctx, p, open)
	case history.Cut:
		return w.cut(ctx, t, p, open, told)
	}
	return send, nil
}

// decided decides whether the call that a prompt waits for can be made.
func (w *waking) decided(ctx context.Context, p *queued, open []string) (step, error) {
	q, err := w.questionFor(ctx, open)
	if err != nil {
		return sleep, err
	}
	if q != nil && q.State == approval.Open && !q.Deferred { // a recovery broke off before it was recorded
		now, err := w.inbox.Defer(ctx, q.ID, w.lease.Fence)
		if err != nil {
			return sleep, err
		}
		q = &now
	}
	if err := w.endIfExpired(ctx, p, q); err != nil {
		return sleep, err
	}
	if q == nil || q.State != approval.Open {
		w.deferredCall = q
		return finish, nil
	}
	found := p.Question != q.ID || p.Begun != 0
	if found {
		err := w.amend(ctx, p, func(p *queued) {
			p.Question = q.ID
			p.startAgain()
		})
		if err != nil {
			return sleep, err
		}
	}
	if !w.rests(p) { // it was interrupted meanwhile
		return sleep, w.endIfInterrupted(ctx, p)
	}
	if found {
		w.news.publish(w.c, p.ID, nil, &DeferredError{w.c.key, p.ID, q.ID})
	}
	return sleep, nil
}

// cut takes up a turn that broke off. If a person was being asked about a call that
// never began, and no other call lacks a result, the call becomes a deferred one, by
// the line that the CLI would have written. Otherwise the CLI continues the turn, and
// the model is shown that the outcome of each such call is not known: a deferral would
// make the CLI forget the others, some of which may have run.
//
// A note that follows the call, or was just added, would be forgotten as well: see
// [isBehindNote].
func (w *waking) cut(ctx context.Context, t *history.Transcript, p *queued, open []string, told bool) (step, error) {
	q, err := w.questionFor(ctx, open)
	if err != nil {
		return sleep, err
	}
	behind, err := isBehindNote(t.Entries(ctx), open)
	if err != nil {
		return sleep, err
	}
	if q != nil && len(open) == 1 && !behind && !told && (q.State == approval.Open || q.State == approval.Decided) {
		_, err := w.inbox.Recover(ctx, w.store, store.Key{Project: w.opts.Project, Session: w.rec.Session}, q.ID, w.lease.Fence)
		if err == nil {
			err = w.asked.withdraw(ctx, w.c.key, q.ID, w.lease.Fence) // the others will not be asked again
		}
		if err == nil {
			return w.decided(ctx, p, open)
		}
		if _, late := errors.AsType[*approval.StateError](err); !late && !errors.Is(err, approval.ErrNotWaiting) {
			return sleep, err
		}
	}
	return resume, w.asked.withdraw(ctx, w.c.key, "", w.lease.Fence)
}

// neverEnded is why a prompt is given up.
func (p *queued) neverEnded() string {
	reason := fmt.Sprintf("it was begun %d times and never ended", p.Begun)
	if p.Failure != "" {
		reason += "; the last time: " + p.Failure
	}
	return reason
}

// rewindStep decides the step for a rewind: one that was begun too often, because the
// processes that began it died, is not begun again. It does not make the conversation
// stuck.
func (w *waking) rewindStep(ctx context.Context, p *queued) (step, error) {
	if p.Begun < w.opts.Attempts {
		return rewind, nil
	}
	o := Ticket{Status: PromptFailed, Error: p.neverEnded()}
	if err := w.ended(ctx, p, o); err != nil {
		return sleep, err
	}
	return sleep, errEnded
}
