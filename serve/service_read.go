package serve

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve/api"
)

// Messages returns messages of a conversation, the oldest first. Next is the
// number for the next page in the same direction: of MessageQuery.Before, or of
// After.
func (s *Service) Messages(ctx context.Context, u api.User, id string, q api.MessageQuery) (api.List[api.Message], error) {
	out := api.List[api.Message]{Items: []api.Message{}}
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return out, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return out, problemOf(err)
	}
	defer release()
	events, more, err := s.messages(ctx, l, q)
	if err != nil {
		return out, problemOf(err)
	}
	for i := range events {
		e := &events[i]
		m := api.Message{Seq: e.Seq, At: e.At, Message: e.Message}
		if q.HTML && s.page != nil {
			m.HTML = s.page.HTML(&e.Event)
		}
		out.Items = append(out.Items, m)
	}
	if more && len(events) > 0 {
		edge := events[0].Seq
		if q.After > 0 {
			edge = events[len(events)-1].Seq
		}
		out.Next = formatSeq(edge)
	}
	return out, nil
}

// messages returns a page of messages: of those in memory, and of older ones
// that are stored.
func (s *Service) messages(ctx context.Context, l *eventLog, q api.MessageQuery) (events []logEvent, more bool, err error) {
	limit := pageSize(q.Limit)
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	if q.After > 0 && q.After < first-1 {
		events, more, err = s.older(ctx, l.key, first, q, limit)
		if err != nil || more || len(events) == limit {
			return events, true, err
		}
		q.Limit = limit - len(events)
		newer, more := l.messages(q)
		return append(events, newer...), more, nil
	}
	events, more = l.messages(q)
	switch {
	case more || q.After > 0 || first <= 1:
		return events, more, nil
	case len(events) == limit:
		return events, true, nil
	}
	old, more, err := s.older(ctx, l.key, first, q, limit-len(events))
	return append(old, events...), more, err
}

// messages returns a page of the messages in memory, and whether there are more.
func (l *eventLog) messages(q api.MessageQuery) (events []logEvent, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := pageSize(q.Limit)
	if q.After > 0 {
		for _, e := range l.events {
			if e.Type != api.EventMessage || e.Message == nil || e.Seq <= q.After {
				continue
			}
			if len(events) == limit {
				return events, true
			}
			events = append(events, e)
		}
		return events, false
	}
	for _, e := range slices.Backward(l.events) {
		if e.Type != api.EventMessage || e.Message == nil || q.Before > 0 && e.Seq >= q.Before {
			continue
		}
		if more = len(events) == limit; more {
			break
		}
		events = append(events, e)
	}
	slices.Reverse(events)
	return events, more
}

// Log returns all events of a conversation that are kept, the oldest first, and
// the number of the last. Follow continues there.
func (s *Service) Log(ctx context.Context, u api.User, id string) ([]api.Event, int64, error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return nil, 0, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, 0, problemOf(err)
	}
	defer release()
	l.mu.Lock()
	defer l.mu.Unlock()
	events := make([]api.Event, len(l.events))
	for i := range events {
		events[i] = l.events[i].Event
	}
	return events, l.first + int64(len(l.events)) - 1, nil
}

// Follow yields the events of a conversation after a number, then one of type
// [api.EventSynced], and then what happens, until ctx ends or the loop is left. An
// [api.EventReset] is the last one: the place is not known. The error is for a
// conversation that the user may not see.
func (s *Service) Follow(ctx context.Context, u api.User, id string, after int64) (iter.Seq[api.Event], error) {
	events, err := s.follow(ctx, u, id, after)
	if err != nil {
		return nil, err
	}
	return func(yield func(api.Event) bool) {
		for e := range events {
			if !yield(e.Event) {
				return
			}
		}
	}, nil
}

// follow is Follow for those who send the events on, as they are for all readers.
func (s *Service) follow(ctx context.Context, u api.User, id string, after int64) (iter.Seq[logEvent], error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return nil, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, problemOf(err)
	}
	stop := context.AfterFunc(ctx, release) // perhaps nobody ever begins the loop
	return func(yield func(logEvent) bool) {
		defer release()
		defer stop()
		for e := range l.follow(ctx, after) {
			if !yield(e) {
				return
			}
		}
	}, nil
}

// feedPause is the least time between two rounds of hints to one reader.
const feedPause = 100 * time.Millisecond

// Feed yields the approvals that wait for a person, in one event of type
// [api.EventPending], and then hints about conversations that have changed, until
// ctx ends or the loop is left. Only the newest hint of each conversation is
// yielded, so nothing is lost by reading slowly. Only for somebody who is thousands of
// conversations behind does it end by itself: they begin again.
func (s *Service) Feed(ctx context.Context, u api.User) (iter.Seq[api.Event], error) {
	if err := need(u, api.Viewer); err != nil {
		return nil, err
	}
	stamp, changed := s.feed.now()
	pending, err := s.approvals(ctx, u, api.ApprovalQuery{State: api.ApprovalPending})
	if err != nil {
		return nil, problemOf(err)
	}
	return func(yield func(api.Event) bool) {
		if !yield(api.Event{Type: api.EventPending, Pending: pending}) {
			return
		}
		shown := make(map[string]bool)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			waitTurn(ctx, nil, feedPause)
			var keys []string
			var whole bool
			if keys, stamp, changed, whole = s.feed.since(stamp); !whole {
				return
			}
			for _, key := range keys {
				if h := s.hint(ctx, u, key, shown); h != nil && !yield(api.Event{Type: api.EventHint, Hint: h}) {
					return
				}
			}
		}
	}, nil
}

// hint says how a conversation stands, nil if it never was the user's to see.
func (s *Service) hint(ctx context.Context, u api.User, key string, shown map[string]bool) *api.Hint {
	c, err := s.Conversation(ctx, u, idOf(key))
	if err == nil {
		shown[key] = true
		return &api.Hint{Conversation: c.ID, State: c.State, Pending: c.Pending, Seq: c.LastSeq}
	}
	if notFound.is(err) && shown[key] {
		delete(shown, key)
		return &api.Hint{Conversation: idOf(key), Gone: true}
	}
	return nil
}

// Sessions lists the newest sessions of the CLI on the server's disk, below the
// roots of a preset, or of all presets if it is empty. They are for admins: they
// belong to the person whose disk it is.
func (s *Service) Sessions(ctx context.Context, u api.User, preset string) (api.List[api.SessionInfo], error) {
	out := api.List[api.SessionInfo]{Items: []api.SessionInfo{}}
	if err := need(u, api.Admin); err != nil {
		return out, err
	}
	switch {
	case s.opts.History == nil:
		return out, noSessions()
	case preset != "" && find(s.opts.Presets, preset) == nil:
		return out, unknownPreset.because("leave ?preset= out to see the sessions of all presets")
	}
	have, err := s.sessionsInUse(ctx)
	if err != nil {
		return out, problemOf(err)
	}
	for info, err := range s.opts.History.List(ctx, history.Query{Limit: maxList * 5}) {
		if err != nil {
			return out, problemOf(err)
		}
		presets := s.presetsIn(info.Dir)
		if len(presets) == 0 || preset != "" && !slices.Contains(presets, preset) {
			continue
		}
		out.Items = append(out.Items, api.SessionInfo{
			ID: info.ID, Title: info.Title, Dir: info.Dir, Modified: info.Modified, Presets: presets, Conversation: have[info.ID],
		})
		if len(out.Items) == maxList {
			break
		}
	}
	return out, nil
}

// watchApprovals writes down in the logs of conversations how their approvals
// stand, and notifies of new ones, until ctx ends.
func (s *Service) watchApprovals(ctx context.Context) {
	notified := make(map[string]bool)
	for attempt := 0; ctx.Err() == nil; attempt++ {
		for q, err := range s.fleet.Approvals().Watch(ctx, approval.Filter{States: approval.Waiting()}) {
			if err != nil {
				if ctx.Err() == nil {
					s.opts.Logger.Warn("approvals cannot be watched", "error", err)
				}
				break
			}
			attempt = 0
			by := time.Now().Add(callBound) // for all of a conversation that wait together
			s.logs.later(ctx, q.Conversation, func() { s.logApproval(ctx, &q, by) })
			if s.opts.Notify != nil && q.State == approval.Open && !notified[q.ID] {
				notified[q.ID] = true
				s.opts.Notify(approvalOf(&q, api.User{}))
			} else if q.State != approval.Open {
				delete(notified, q.ID)
			}
		}
		waitTurn(ctx, nil, backoff(attempt))
	}
}

// logApproval writes down how an approval stands, when its call is in the log or
// at the latest by a time. If that fails, the approval is still in the inbox.
func (s *Service) logApproval(ctx context.Context, q *approval.Question, by time.Time) {
	if err := s.noteApproval(ctx, q, by); err != nil && ctx.Err() == nil && !overWith(err) {
		s.opts.Logger.Warn("an approval is not in the log of its conversation", "approval", q.ID, "error", err)
	}
}

// noteApproval writes down in its conversation how an approval stands.
func (s *Service) noteApproval(ctx context.Context, q *approval.Question, by time.Time) error {
	l, release, err := s.logs.use(ctx, q.Conversation)
	if err != nil {
		return err
	}
	defer release()
	l.awaitCall(ctx, q, by)
	return l.noteApproval(ctx, q)
}
