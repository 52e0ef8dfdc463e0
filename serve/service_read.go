package serve

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
)

// Messages returns messages of a conversation, the oldest first. Next is the
// number for the next page in the same direction: of MessageQuery.Before, or of
// After.
func (s *Service) Messages(ctx context.Context, u User, id string, q MessageQuery) (List[Message], error) {
	out := List[Message]{Items: []Message{}}
	n, err := s.act(ctx, u, id, Viewer)
	if err != nil {
		return out, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return out, problemOf(err)
	}
	defer release()
	events, more := l.messages(q)
	for i := range events {
		e := &events[i]
		m := Message{Seq: e.Seq, At: e.At, Message: e.Message}
		if q.HTML && s.page != nil {
			m.HTML = s.page.HTML(e)
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

// messages returns a page of messages, and whether there are more.
func (l *eventLog) messages(q MessageQuery) (events []Event, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := pageSize(q.Limit)
	if q.After > 0 {
		for _, e := range l.events {
			if e.Type != EventMessage || e.Message == nil || e.Seq <= q.After {
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
		if e.Type != EventMessage || e.Message == nil || q.Before > 0 && e.Seq >= q.Before {
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
func (s *Service) Log(ctx context.Context, u User, id string) ([]Event, int64, error) {
	n, err := s.act(ctx, u, id, Viewer)
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
	return slices.Clone(l.events), l.first + int64(len(l.events)) - 1, nil
}

// Follow yields the events of a conversation after a number, then one of type
// [EventSynced], and then what happens, until ctx ends or the loop is left. One
// of type [EventReset] is the last: the place is not known. The error is for a
// conversation that the user may not see.
func (s *Service) Follow(ctx context.Context, u User, id string, after int64) (iter.Seq[Event], error) {
	n, err := s.act(ctx, u, id, Viewer)
	if err != nil {
		return nil, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, problemOf(err)
	}
	return func(yield func(Event) bool) {
		defer release()
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
// [EventPending], and then hints about conversations that have changed, until
// ctx ends or the loop is left. Only the newest hint of each conversation is
// yielded, so nothing is lost by reading slowly.
func (s *Service) Feed(ctx context.Context, u User) (iter.Seq[Event], error) {
	if err := u.need(Viewer); err != nil {
		return nil, err
	}
	_, stamp, changed := s.feed.since(0)
	pending, err := s.approvals(ctx, u, ApprovalQuery{State: ApprovalPending})
	if err != nil {
		return nil, problemOf(err)
	}
	return func(yield func(Event) bool) {
		if !yield(Event{Type: EventPending, Pending: pending}) {
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
			keys, stamp, changed = s.feed.since(stamp)
			for _, key := range keys {
				if h := s.hint(ctx, u, key, shown); h != nil && !yield(Event{Type: EventHint, Hint: h}) {
					return
				}
			}
		}
	}, nil
}

// hint says how a conversation stands, nil if it never was the user's to see.
func (s *Service) hint(ctx context.Context, u User, key string, shown map[string]bool) *Hint {
	c, err := s.Conversation(ctx, u, idOf(key))
	if err == nil {
		shown[key] = true
		return &Hint{Conversation: c.ID, State: c.State, Pending: c.Pending, Seq: c.LastSeq}
	}
	if notFound.is(err) && shown[key] {
		delete(shown, key)
		return &Hint{Conversation: idOf(key), Gone: true}
	}
	return nil
}

// Usage sums up what the turns of the user's conversations have cost; of all
// conversations for an admin.
func (s *Service) Usage(ctx context.Context, u User, q UsageQuery) (Usage, error) {
	out := Usage{Items: []UsageRow{}}
	if err := u.need(Viewer); err != nil {
		return out, err
	}
	notes := make(map[string]note)
	for n, err := range s.notes.all(ctx) {
		if err != nil {
			return out, problemOf(err)
		}
		notes[n.Key] = n
	}
	sums := make(map[UsageRow]*UsageRow)
	for key, e := range s.book.all(ctx) {
		n := notes[key]
		if e.Type != EventTurn || !n.visible(u) || !q.selects(e.Turn.Ended) {
			continue
		}
		for _, row := range rowsOf(e.Turn, &n, slices.Contains(q.By, "model")) {
			name := q.name(&row)
			if sums[name] == nil {
				sum := name
				sums[name] = &sum
			}
			sums[name].add(&row)
			out.Total.add(&row)
		}
	}
	for _, sum := range sums {
		out.Items = append(out.Items, *sum)
	}
	slices.SortFunc(out.Items, func(a, b UsageRow) int {
		return cmp.Or(strings.Compare(b.Day, a.Day), strings.Compare(a.User, b.User), strings.Compare(a.Preset, b.Preset), strings.Compare(a.Model, b.Model))
	})
	return out, nil
}

func (q *UsageQuery) selects(at time.Time) bool {
	return (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || at.Before(q.To))
}

// rowsOf is what a turn has cost: in one row, or in one for each model.
func rowsOf(t *Turn, n *note, byModel bool) []UsageRow {
	base := UsageRow{Day: t.Ended.UTC().Format(time.DateOnly), User: n.Owner, Preset: n.Preset}
	total := base
	total.Turns, total.CostUSD = 1, t.CostUSD
	var rows []UsageRow
	for name, used := range t.Models {
		row := base
		row.Model, row.CostUSD = name, used.CostUSD
		row.Input, row.Output = int64(used.InputTokens), int64(used.OutputTokens)
		row.Cached = int64(used.CacheReadInputTokens + used.CacheCreationInputTokens)
		total.Input, total.Output, total.Cached = total.Input+row.Input, total.Output+row.Output, total.Cached+row.Cached
		row.Turns = 1
		rows = append(rows, row)
	}
	if !byModel || len(rows) == 0 {
		return []UsageRow{total}
	}
	for i := range rows[1:] {
		rows[i+1].Turns = 0 // a turn with several models is one turn in total
	}
	return rows
}

// name keeps what a row is grouped by.
func (q *UsageQuery) name(r *UsageRow) UsageRow {
	var name UsageRow
	for _, by := range q.By {
		switch by {
		case "day":
			name.Day = r.Day
		case "user":
			name.User = r.User
		case "preset":
			name.Preset = r.Preset
		case "model":
			name.Model = r.Model
		}
	}
	return name
}

func (r *UsageRow) add(o *UsageRow) {
	r.Turns += o.Turns
	r.CostUSD += o.CostUSD
	r.Input += o.Input
	r.Output += o.Output
	r.Cached += o.Cached
}

// Sessions lists the newest sessions of the CLI on the server's disk, below the
// roots of a preset. They are for admins: they belong to the person whose disk it
// is.
func (s *Service) Sessions(ctx context.Context, u User, preset string) (List[SessionInfo], error) {
	out := List[SessionInfo]{Items: []SessionInfo{}}
	if err := u.need(Admin); err != nil {
		return out, err
	}
	p := find(s.opts.Presets, preset)
	switch {
	case s.opts.History == nil:
		return out, unsupported.because("this server does not look at the sessions on its disk")
	case p == nil:
		return out, unknownPreset.because("name one with ?preset=")
	}
	for info, err := range s.opts.History.List(ctx, history.Query{Limit: maxList * 5}) {
		if err != nil {
			return out, problemOf(err)
		}
		if _, err := p.dir(info.Dir); err != nil || info.Dir == "" {
			continue
		}
		out.Items = append(out.Items, SessionInfo{ID: info.ID, Title: info.Title, Dir: info.Dir, Modified: info.Modified})
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
			s.logApproval(ctx, &q)
			if s.opts.Notify != nil && q.State == approval.Open && !notified[q.ID] {
				notified[q.ID] = true
				s.opts.Notify(approvalOf(&q, User{}))
			} else if q.State != approval.Open {
				delete(notified, q.ID)
			}
		}
		waitTurn(ctx, nil, backoff(attempt))
	}
}

// logApproval writes down how an approval stands. If that fails, the approval is
// still in the inbox.
func (s *Service) logApproval(ctx context.Context, q *approval.Question) {
	if err := s.noteApproval(ctx, q); err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn("an approval is not in the log of its conversation", "approval", q.ID, "error", err)
	}
}

// noteApproval writes down in its conversation how an approval stands.
func (s *Service) noteApproval(ctx context.Context, q *approval.Question) error {
	l, release, err := s.logs.use(ctx, q.Conversation)
	if err != nil {
		return err
	}
	defer release()
	return l.noteApproval(ctx, q)
}
