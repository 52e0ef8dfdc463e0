package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// conversations finds the conversations that a user may see, and gathers what the
// notes, the logs and the fleet know about them.
type conversations struct {
	fleet fleet.Conversations
	notes noteStore
	book  eventlog.Store
}

// find returns the note of a conversation that the user may see.
func (cs *conversations) find(ctx context.Context, u api.User, id string) (note, error) {
	n, err := cs.findAny(ctx, u, id)
	if err == nil && !n.Deleted.IsZero() {
		err = notFound.because("check the id; lists show what you may see")
	}
	return n, err
}

// findAny is find, but includes conversations that are being deleted.
func (cs *conversations) findAny(ctx context.Context, u api.User, id string) (note, error) {
	key := keyOf(id)
	n, _, err := cs.notes.loadAny(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		n = note{Key: key} // perhaps one that was not begun here
		if _, err = cs.fleet.Get(ctx, key); err != nil {
			err = notFound.because("check the id; lists show what you may see")
		}
	}
	if err == nil && !n.visible(u) {
		err = notFound.because("check the id; lists show what you may see")
	}
	return n, err
}

// act returns the note of a conversation that the user may act upon.
func (cs *conversations) act(ctx context.Context, u api.User, id string, least api.Role) (note, error) {
	if err := need(u, least); err != nil {
		return note{}, err
	}
	return cs.find(ctx, u, id)
}

// look gathers everything that is known about a conversation.
func (cs *conversations) look(ctx context.Context, n *note) (api.Conversation, error) {
	// The log first: a stream that continues after it then misses nothing.
	head, _, err := cs.book.Head(ctx, n.Key)
	if err != nil {
		return api.Conversation{}, err
	}
	c := n.conversation()
	c.LastSeq, c.Context = head.Last(), head.Context.Use()
	info, err := cs.fleet.Get(ctx, n.Key)
	if errors.Is(err, fleet.ErrUnknown) { // no prompt was sent yet
		return c, nil
	}
	if err != nil {
		return api.Conversation{}, err
	}
	pending := 0
	for _, err := range cs.fleet.Approvals().List(ctx, approval.Filter{Conversation: n.Key, States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			return api.Conversation{}, err
		}
		pending++
	}
	joinInfo(&c, &info, pending)
	return c, nil
}

// listed is a conversation of a list whose log has not been read.
type listed struct {
	note note
	api.Conversation
}

// selected returns the conversations that the user may see and the query selects, the
// newest first, also those that are being deleted. It reads no logs.
func (cs *conversations) selected(ctx context.Context, u api.User, q api.ConversationQuery) ([]listed, error) {
	pending, err := cs.pendingByConversation(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]fleet.ConversationInfo)
	for info, err := range cs.fleet.List(ctx) {
		if err != nil {
			return nil, err
		}
		known[info.Key] = info
	}
	var all []listed
	add := func(n *note) {
		if !n.visible(u) || !selectsNote(&q, n) {
			return
		}
		c := n.conversation()
		if info, ok := known[n.Key]; ok {
			joinInfo(&c, &info, pending[n.Key])
		}
		if q.State == "" || q.State == c.State {
			all = append(all, listed{*n, c})
		}
	}
	for n, err := range cs.notes.each(ctx) {
		if err != nil {
			return nil, err
		}
		add(&n)
		delete(known, n.Key)
	}
	for key, info := range known { // not begun here
		add(&note{Key: key, Created: info.Created})
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	return all, nil
}

// standing leaves out the conversations that are being deleted.
func standing(all []listed) []listed {
	return slices.DeleteFunc(all, func(c listed) bool { return !c.note.Deleted.IsZero() })
}

// read adds what the logs of conversations know, and calls seen with the note and the
// head of each log.
func (cs *conversations) read(ctx context.Context, u api.User, all []listed, seen func(*note, *eventlog.Head)) ([]api.Conversation, error) {
	out := make([]api.Conversation, 0, len(all))
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = all[i].note.Key
	}
	err := cs.book.Heads(ctx, keys, func(i int, head *eventlog.Head) {
		n, c := &all[i].note, all[i].Conversation
		seen(n, head)
		c.LastSeq, c.Context = head.Last(), head.Context.Use()
		c.Unread = n.unread(u, c.LastSeq)
		if n.Deleted.IsZero() {
			out = append(out, c)
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// beside chooses conversations for the side of a screen: those in which an approval is
// pending, then the newest, at most so many, and the one that is shown in any case.
func beside(all []listed, shown string, limit int) []listed {
	rank := func(c listed) int {
		if c.Pending > 0 {
			return 0
		}
		return 1
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b listed) int { return rank(a) - rank(b) })
	if i := slices.IndexFunc(all, func(c listed) bool { return c.ID == shown }); i >= limit && limit > 0 {
		all[limit-1] = all[i]
	}
	return all[:min(limit, len(all))]
}

// pendingByConversation counts the pending approvals, by the keys of their
// conversations.
func (cs *conversations) pendingByConversation(ctx context.Context) (map[string]int, error) {
	counts := make(map[string]int)
	for q, err := range cs.fleet.Approvals().List(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			return nil, err
		}
		counts[q.Conversation]++
	}
	return counts, nil
}

// visible reports whether a user may see the conversation. It is no longer shared once
// its deletion begins.
func (n *note) visible(u api.User) bool {
	return u.Role == api.RoleAdmin || n.Owner != "" && n.Owner == u.Name || n.Shared && n.Deleted.IsZero()
}

// conversation returns the part that is known without the fleet.
func (n *note) conversation() api.Conversation {
	return api.Conversation{
		ID: idOf(n.Key), Title: cmp.Or(n.Title, idOf(n.Key)), Preset: n.Preset, Owner: n.Owner, Shared: n.Shared, State: n.idleState(),
		Model: n.Model, Mode: n.Mode, Dir: n.Dir, Labels: orEmpty(n.Labels), Archived: n.Archived,
		Created: n.Created, ForkOf: n.ForkOf, Resumed: n.Resumed,
	}
}

// idleState returns the state of a conversation that has no work to do.
func (n *note) idleState() api.State {
	if n.Archived {
		return api.StateEnded
	}
	return api.StateIdle
}

// unread reports whether the user has unread events. It is false for conversations that
// were not begun here, because the server has no marks for them.
func (n *note) unread(u api.User, last int64) bool { return n.Owner != "" && last > n.Read[u.Name] }

// selectsNote reports whether a query selects a conversation by its note.
func selectsNote(q *api.ConversationQuery, n *note) bool {
	text := strings.ToLower(q.Text)
	return (q.Preset == "" || q.Preset == n.Preset) &&
		(q.Owner == "" || q.Owner == n.Owner) &&
		(q.Label == "" || slices.Contains(n.Labels, q.Label)) &&
		(q.Archived || q.State == api.StateEnded || !n.Archived) &&
		(text == "" || strings.Contains(strings.ToLower(n.Title), text) || strings.Contains(idOf(n.Key), text))
}

// joinInfo adds what the fleet knows about a conversation.
func joinInfo(c *api.Conversation, info *fleet.ConversationInfo, pending int) {
	c.Pending, c.Queued, c.Session = pending, info.Queued, info.Session
	c.Problem, c.Reason = eventlog.FailureOf(info.Cause, info.Stuck)
	c.CostUSD, c.Turns = info.Cost.USD, info.Cost.Turns
	c.Model, c.Mode = cmp.Or(info.Model, c.Model), cmp.Or(string(info.Mode), c.Mode)
	if c.Created.IsZero() {
		c.Created = info.Created
	}
	switch {
	case info.State == fleet.StateStuck:
		c.State = api.StateFailed
	case info.State == fleet.StateWaiting:
		c.State = api.StateDeferred
	case info.State == fleet.StateStarting:
		c.State = api.StateStarting
	case info.State == fleet.StateAwake && pending > 0:
		c.State = api.StateWaiting
	case info.State == fleet.StateAwake && info.Queued > 0:
		c.State = api.StateRunning
	case info.State == fleet.StateHeld:
		c.State, c.Reason = api.StateQueued, heldAdvice(info)
	case info.State == fleet.StatePending:
		c.State = api.StateQueued
	}
}
