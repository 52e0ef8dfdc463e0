package serve

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// Messages returns messages of a conversation, the oldest first. Next is
// MessageQuery.Before, or After, for the next page in the same direction.
func (s *Service) Messages(ctx context.Context, u api.User, id string, q api.MessageQuery) (api.List[api.Message], error) {
	out := api.List[api.Message]{Items: []api.Message{}}
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return out, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return out, problemOf(err)
	}
	defer release()
	q.Limit = pageSize(q.Limit)
	events, more, err := s.reader.Messages(ctx, l, q)
	if err != nil {
		return out, problemOf(err)
	}
	for i := range events {
		e := &events[i]
		if e.Message == nil { // the transcript has lost it
			continue
		}
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
		out.Next = strconv.FormatInt(edge, 10)
	}
	return out, nil
}

// Log returns all kept events of a conversation, the oldest first, and the number of
// the last. Follow continues there.
func (s *Service) Log(ctx context.Context, u api.User, id string) ([]api.Event, int64, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return nil, 0, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, 0, problemOf(err)
	}
	defer release()
	if err := l.RecallAll(ctx); err != nil {
		return nil, 0, problemOf(err)
	}
	events, last := l.All()
	return events, last, nil
}

// Follow yields the events of a conversation after a number, then one of type
// [api.EventSynced], and then new events, until ctx ends or the loop is left. An
// [api.EventReset] is always the last: the position is unknown. The error is for a
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

// follow is Follow for callers that send events on, encoded once for all readers.
func (s *Service) follow(ctx context.Context, u api.User, id string, after int64) (iter.Seq[eventlog.Event], error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return nil, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return nil, problemOf(err)
	}
	if err := l.RecallAfter(ctx, after); err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn("serve: a reader must load a conversation again", "conversation", n.Key, "error", err)
	}
	stop := context.AfterFunc(ctx, release) // the caller may never begin the loop
	return func(yield func(eventlog.Event) bool) {
		defer release()
		defer stop()
		for e := range l.Follow(ctx, after) {
			if !yield(e) {
				return
			}
		}
	}, nil
}

// feedPause is the shortest pause between two rounds of hints to one reader.
const feedPause = 100 * time.Millisecond

// Feed yields the pending approvals, in one event of type [api.EventPending], and then
// hints about conversations that have changed, until ctx ends or the loop is left. It
// yields only the newest hint of each conversation, so a slow reader loses nothing. It
// ends by itself only for a reader that is thousands of conversations behind, which
// must begin again.
func (s *Service) Feed(ctx context.Context, u api.User) (iter.Seq[api.Event], error) {
	if err := need(u, api.RoleViewer); err != nil {
		return nil, err
	}
	begin, first := s.feed.now()
	pending, err := s.answers.approvals(ctx, u, api.ApprovalQuery{State: api.ApprovalPending})
	if err != nil {
		return nil, problemOf(err)
	}
	return func(yield func(api.Event) bool) {
		if !yield(api.Event{Type: api.EventPending, Pending: pending}) {
			return
		}
		shown := make(map[string]bool)
		stamp, changed := begin, first // each loop has its own
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

// hint returns the state of a conversation, nil if the user could never see it.
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

// Sessions lists the newest sessions of the CLI on the server's disk, below the roots
// of a preset, or of all presets if it is empty. Only admins may list them, because
// they belong to the owner of the disk.
func (s *Service) Sessions(ctx context.Context, u api.User, preset string) (api.List[api.SessionInfo], error) {
	out := api.List[api.SessionInfo]{Items: []api.SessionInfo{}}
	if err := need(u, api.RoleAdmin); err != nil {
		return out, err
	}
	switch {
	case s.opts.History == nil:
		return out, noSessions()
	case preset != "" && find(s.opts.Presets, preset) == nil:
		return out, unknownPreset.because("leave ?preset= out to see the sessions of all presets")
	}
	have, err := s.creator.sessionsInUse(ctx)
	if err != nil {
		return out, problemOf(err)
	}
	for info, err := range s.opts.History.List(ctx, history.Query{Limit: maxList * 5}) {
		if err != nil {
			return out, problemOf(err)
		}
		presets := s.creator.presetsIn(info.Dir)
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

// Tail is the end of a conversation's events, or of those before a given event. It
// costs the same however long the conversation is.
type Tail struct {
	Events []api.Event // the oldest first
	Last   int64       // the number of the conversation's last event; Follow continues there
	More   bool        // there are older events
	// Prompts holds the prompts of the conversation that have not ended.
	Prompts []api.Prompt
}

// Tail returns the last events of a conversation before a number, or the last of all if
// before is 0: at most limit of them. Older ones than those in memory come from the
// store. It may be called by several goroutines.
func (s *Service) Tail(ctx context.Context, u api.User, id string, before int64, limit int) (Tail, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return Tail{}, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return Tail{}, problemOf(err)
	}
	defer release()
	tail, err := l.Tail(ctx, before, limit)
	if err != nil {
		return Tail{}, problemOf(err)
	}
	return Tail(tail), nil
}

// Usage sums up the cost of the turns in the user's conversations, or in all
// conversations for an admin, by whole days in UTC. It includes deleted conversations,
// for their former owners and for admins.
func (s *Service) Usage(ctx context.Context, u api.User, q api.UsageQuery) (api.Usage, error) {
	out := api.Usage{Items: []api.UsageRow{}, OverBudget: []api.OverBudget{}, Held: []api.Held{}}
	if err := need(u, api.RoleViewer); err != nil {
		return out, err
	}
	sums := make(map[api.UsageRow]*api.UsageRow)
	err := s.spendings.spent(ctx, firstDay(&q), func(n *note) bool { return n.visible(u) }, func(n *note, day string, d *eventlog.DaySum) {
		if !selectsDay(&q, day) {
			return
		}
		for _, row := range rowsOf(d, day, n, slices.Contains(q.By, api.ByModel)) {
			name := groupOf(&q, &row)
			if sums[name] == nil {
				sum := name
				sums[name] = &sum
			}
			addRow(sums[name], &row)
			addRow(&out.Total, &row)
		}
		if n.Key != "" && n.Deleted.IsZero() { // of deleted ones only the cost is left
			out.OverBudget = append(out.OverBudget, overBudgetOf(d, n)...)
		}
	})
	if err == nil {
		out.Held, err = s.spendings.held(ctx, u)
	}
	if err != nil {
		return out, problemOf(err)
	}
	slices.SortFunc(out.OverBudget, func(a, b api.OverBudget) int {
		return cmp.Or(b.Ended.Compare(a.Ended), strings.Compare(a.Prompt, b.Prompt))
	})
	out.OverBudget = out.OverBudget[:min(len(out.OverBudget), eventlog.MaxOver)]
	for _, sum := range sums {
		out.Items = append(out.Items, *sum)
	}
	slices.SortFunc(out.Items, func(a, b api.UsageRow) int {
		return cmp.Or(strings.Compare(b.Day, a.Day), strings.Compare(a.User, b.User), strings.Compare(a.Preset, b.Preset), strings.Compare(a.Model, b.Model))
	})
	return out, nil
}

// Commands lists the slash commands that the last agent of a conversation has announced,
// see [fleet.Fleet.Commands]. A conversation whose agent never ran has none.
func (s *Service) Commands(ctx context.Context, u api.User, id string) (api.List[api.Command], error) {
	out := api.List[api.Command]{Items: []api.Command{}}
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return out, problemOf(err)
	}
	commands, err := s.fleet.Commands(ctx, n.Key)
	if err != nil && !errors.Is(err, fleet.ErrUnknown) { // no prompt was sent to it yet
		return out, problemOf(err)
	}
	for _, c := range commands {
		out.Items = append(out.Items, api.Command{Name: c.Name, Description: c.Description, Hint: c.ArgumentHint, Aliases: c.Aliases, Builtin: c.Builtin})
	}
	return out, nil
}
