package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// queueState summarizes the prompts of a conversation for a list.
type queueState struct {
	queued   int
	begun    bool   // one of them has begun
	question string // that one of them waits for
}

// add counts a prompt that is to run.
func (q *queueState) add(p *queued) {
	q.queued++
	q.begun = q.begun || p.Sent
	q.question = cmp.Or(q.question, p.Question)
}

// reports describes the state of conversations and prompts. It changes nothing.
type reports struct {
	opts    *Options
	ctx     context.Context // ends with Close
	ear     *ear
	store   *announcer
	newer   *newerRecords
	bounds  bounds
	records *records
	asked   *asked
	roster  *roster
	budgets *budgets
}

// listTenant yields the conversations of a tenant, and reads nothing of others.
func (rp *reports) listTenant(ctx context.Context, tenant string) iter.Seq2[ConversationInfo, error] {
	return rp.list(ctx, func(ctx context.Context, kind string) iter.Seq2[store.Record, error] {
		return rp.store.Scan(ctx, store.Folder{Project: rp.opts.Project, Kind: kind, Name: tenantPlace(tenant)}, "")
	})
}

// list yields the conversations that a scan finds.
func (rp *reports) list(ctx context.Context, scan func(ctx context.Context, kind string) iter.Seq2[store.Record, error]) iter.Seq2[ConversationInfo, error] {
	return boundSeq(rp.bounds, ctx, func(ctx context.Context) iter.Seq2[ConversationInfo, error] { return rp.infos(ctx, scan) })
}

func (rp *reports) infos(ctx context.Context, scan func(ctx context.Context, kind string) iter.Seq2[store.Record, error]) iter.Seq2[ConversationInfo, error] {
	return func(yield func(ConversationInfo, error) bool) {
		queues, err := rp.queueStates(scan(ctx, kindPrompt))
		if err != nil {
			yield(ConversationInfo{}, err)
			return
		}
		for r, err := range scan(ctx, kindConversation) {
			var rec record
			if err == nil {
				err = decode(r, &rec)
			}
			if rp.newer.skips(keyAt(r.Key.Name), err) {
				continue
			}
			if err != nil {
				yield(ConversationInfo{}, err)
				return
			}
			if rec.Deleted.IsZero() && !yield(rp.info(ctx, &rec, queues[rec.Key]), nil) {
				return
			}
		}
	}
}

// queueStates returns the state of the queue of each conversation, for a list.
func (rp *reports) queueStates(prompts iter.Seq2[store.Record, error]) (map[string]queueState, error) {
	queues := make(map[string]queueState)
	for r, err := range prompts {
		var p queued
		if err == nil {
			err = decode(r, &p)
		}
		if rp.newer.skips(keyAt(r.Key.Name), err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if key := keyAt(r.Key.Name); p.Cancelled.IsZero() {
			q := queues[key]
			q.add(&p)
			queues[key] = q
		}
	}
	return queues, nil
}

// info describes a conversation in a list.
func (rp *reports) info(ctx context.Context, rec *record, q queueState) ConversationInfo {
	info := ConversationInfo{
		Key: rec.Key, State: StateAsleep, Session: rec.Session, Created: rec.Created, Title: rec.Title, Labels: maps.Clone(rec.Labels),
		Model: rec.Model, Mode: rec.Mode, Cost: rec.Cost.Ledger, Unprompted: rec.Unprompted.Ledger, Unsettled: rec.Unsettled,
		Queued: q.queued, Question: q.question,
	}
	live, _ := rp.roster.liveSession(rec.Key)
	if live != nil {
		info.Usage, _ = rp.opts.Measure(live) // it may just have ended
	}
	switch {
	case rec.Stuck != nil:
		info.State, info.Stuck, info.Cause = StateStuck, rec.Stuck.Reason, rec.Stuck.Cause
	case live != nil:
		info.State = StateAwake
	case rp.roster.starts(rec.Key):
		info.State = StateStarting
	case info.Question != "":
		info.State = StateWaiting
	case info.Queued > 0:
		info.State = StatePending
	}
	if info.Queued > 0 && !q.begun && (info.State == StateAwake || info.State == StatePending) {
		rp.holdBudget(ctx, rec, &info)
	}
	return info
}

// ticket is Prompt, with the record of the conversation.
func (rp *reports) ticket(ctx context.Context, key, id string) (Ticket, record, error) {
	rec, err := rp.records.load(ctx, key)
	if err != nil {
		return Ticket{}, rec, err
	}
	if !uuid.Valid(id) {
		return Ticket{}, rec, &ConversationError{key, ErrUnknown}
	}
	// The queue first: a prompt that ends meanwhile is then found by its outcome.
	var waiting *queued
	for p, err := range rp.records.pending(ctx, key) {
		if err != nil {
			return Ticket{}, rec, &ConversationError{key, err}
		}
		if p.ID == id {
			waiting = p
		}
	}
	o, ended, err := rp.records.outcome(ctx, key, id)
	switch {
	case err != nil:
		return Ticket{}, rec, &ConversationError{key, err}
	case ended:
		return o, rec, nil
	case waiting == nil:
		return Ticket{}, rec, &ConversationError{key, ErrUnknown}
	}
	return rp.standing(ctx, waiting, &rec), rec, nil
}

// standing is the state of a prompt that has no outcome.
func (rp *reports) standing(ctx context.Context, p *queued, rec *record) Ticket {
	o := Ticket{Prompt: p.ID, Status: PromptQueued, Cost: rec.Spent[p.ID].Ledger}
	switch at := rec.Stuck; {
	case !p.Cancelled.IsZero():
		return p.cancelled(rec)
	case at != nil && at.Prompt == p.ID:
		o.Status, o.Error, o.Cause = PromptStuck, at.Reason, at.Cause
	case at != nil:
		o.Cause = at.Cause
		o.Error = fmt.Sprintf("its conversation is stuck at prompt %s: %s", at.Prompt, at.Reason)
	case rp.asked.waits(ctx, p.Question):
		o.Status, o.Question = PromptWaiting, p.Question
	case p.Sent:
		o.Status = PromptRunning
	}
	return o
}

// holdBudget notes that a conversation is held, if its budget is spent. Its CLI may
// still run, and does nothing.
func (rp *reports) holdBudget(ctx context.Context, rec *record, info *ConversationInfo) {
	err := rp.budgets.budget(ctx, rec)
	if err == nil || errors.Is(err, errUncounted) {
		return
	}
	info.State = StateHeld
	if spent, ok := errors.AsType[*BudgetError](err); ok {
		info.BudgetUSD, info.HeldUntil = spent.OfUSD, spent.Resets
	}
}
