package fleet

import (
	"cmp"
	"context"
	"iter"
	"maps"

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

// List yields the conversations in the order of their keys. It reads the store in two
// passes, however many conversations there are: first the prompts that wait, then the
// conversations. Those that only a newer version of this program can read are left out.
// It waits for each of them no longer than Options.StoreTimeout.
func (f *Fleet) List(ctx context.Context) iter.Seq2[ConversationInfo, error] {
	return f.list(ctx, func(ctx context.Context, kind string) iter.Seq2[store.Record, error] {
		return f.store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kind}, "")
	})
}

// listTenant yields the conversations of a tenant, and reads nothing of others.
func (f *Fleet) listTenant(ctx context.Context, tenant string) iter.Seq2[ConversationInfo, error] {
	return f.list(ctx, func(ctx context.Context, kind string) iter.Seq2[store.Record, error] {
		return f.opts.Store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kind, Name: tenantPlace(tenant)}, "")
	})
}

// list yields the conversations that a scan finds.
func (f *Fleet) list(ctx context.Context, scan func(ctx context.Context, kind string) iter.Seq2[store.Record, error]) iter.Seq2[ConversationInfo, error] {
	return boundSeq(f.bounds, ctx, func(ctx context.Context) iter.Seq2[ConversationInfo, error] { return f.infos(ctx, scan) })
}

func (f *Fleet) infos(ctx context.Context, scan func(ctx context.Context, kind string) iter.Seq2[store.Record, error]) iter.Seq2[ConversationInfo, error] {
	return func(yield func(ConversationInfo, error) bool) {
		queues, err := f.queueStates(ctx, scan(ctx, kindPrompt))
		if err != nil {
			yield(ConversationInfo{}, err)
			return
		}
		for r, err := range scan(ctx, kindConversation) {
			changed(ctx, err)
			var rec record
			if err == nil {
				err = decode(r, &rec)
			}
			if f.newer.skips(keyAt(r.Key.Name), err) {
				continue
			}
			if err != nil {
				yield(ConversationInfo{}, err)
				return
			}
			if rec.Deleted.IsZero() && !yield(f.info(ctx, &rec, queues[rec.Key]), nil) {
				return
			}
		}
	}
}

// queueStates returns what a list shows of prompts, by conversation.
func (f *Fleet) queueStates(ctx context.Context, prompts iter.Seq2[store.Record, error]) (map[string]queueState, error) {
	queues := make(map[string]queueState)
	for r, err := range prompts {
		changed(ctx, err)
		var p queued
		if err == nil {
			err = decode(r, &p)
		}
		if f.newer.skips(keyAt(r.Key.Name), err) {
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
func (f *Fleet) info(ctx context.Context, rec *record, q queueState) ConversationInfo {
	info := ConversationInfo{
		Key: rec.Key, State: Asleep, Session: rec.Session, Created: rec.Created, Title: rec.Title, Labels: maps.Clone(rec.Labels),
		Model: rec.Model, Mode: rec.Mode, Cost: rec.Cost.Ledger, Unprompted: rec.Unprompted.Ledger, Unsettled: rec.Unsettled,
		Queued: q.queued, Question: q.question,
	}
	live, _ := f.liveSession(rec.Key)
	if live != nil {
		info.Usage, _ = f.opts.Measure(live) // it may just have ended
	}
	switch {
	case rec.Stuck != nil:
		info.State, info.Stuck, info.Cause = Stuck, rec.Stuck.Reason, rec.Stuck.Cause
	case live != nil:
		info.State = Awake
	case f.starts(rec.Key):
		info.State = Starting
	case info.Question != "":
		info.State = AwaitingPerson
	case info.Queued > 0:
		info.State = Pending
	}
	if info.Queued > 0 && !q.begun && (info.State == Awake || info.State == Pending) {
		f.holdBudget(ctx, rec, &info)
	}
	return info
}
