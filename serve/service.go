package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Service is what users may do, for the API and for the page. Each method takes
// the user, and does only what that user may: the errors are an [api.Problem], and
// what a user may not see is not found. All methods may be called from any
// goroutine.
type Service struct {
	fleet fleet.Conversations
	opts  Options
	notes noteStore
	book  logStore
	logs  *logs
	feed  *feed
	gate  *authenticator
	page  Page
}

// need returns a problem unless the user has a role.
func need(u api.User, least api.Role) error {
	if u.Name == "" {
		return unauthorized.because("send a bearer token, or open a login link: \"claudectl serve login\" prints one")
	}
	if !u.Role.Covers(least) {
		return forbidden.because("you are %s, and this needs %s: ask an admin for a token with that role", u.Role, least)
	}
	return nil
}

// find returns the note of a conversation that the user may see.
func (s *Service) find(ctx context.Context, u api.User, id string) (note, error) {
	n, err := s.findAny(ctx, u, id)
	if err == nil && !n.Deleted.IsZero() {
		err = notFound.because("check the id; lists show what you may see")
	}
	return n, err
}

// findAny is find that also finds conversations that are being deleted.
func (s *Service) findAny(ctx context.Context, u api.User, id string) (note, error) {
	key := keyOf(id)
	n, _, err := s.notes.loadAny(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		n = note{Key: key} // perhaps one that was not begun here
		if _, err = s.fleet.Get(ctx, key); err != nil {
			err = notFound.because("check the id; lists show what you may see")
		}
	}
	if err == nil && !n.visible(u) {
		err = notFound.because("check the id; lists show what you may see")
	}
	return n, err
}

// visible reports whether a user may see the conversation. Sharing ends when its deletion
// begins.
func (n *note) visible(u api.User) bool {
	return u.Role == api.Admin || n.Owner != "" && n.Owner == u.Name || n.Shared && n.Deleted.IsZero()
}

// act returns the note of a conversation that the user may act upon.
func (s *Service) act(ctx context.Context, u api.User, id string, least api.Role) (note, error) {
	if err := need(u, least); err != nil {
		return note{}, err
	}
	return s.find(ctx, u, id)
}

// Home returns Options.Home, for the page.
func (s *Service) Home() string { return s.opts.Home }

// Info returns what a client should know before it begins.
func (s *Service) Info(_ context.Context, u api.User) (api.ServerInfo, error) {
	if err := need(u, api.Viewer); err != nil {
		return api.ServerInfo{}, err
	}
	info := api.ServerInfo{
		Version: claude.Version, User: u, Presets: []api.PresetInfo{}, Features: s.features(),
		Limits: api.Limits{Body: maxBody, Prompt: maxPrompt, List: maxList, Stream: s.opts.StreamsPerUser},
	}
	if s.opts.CLIVersion != nil {
		info.CLI = s.opts.CLIVersion()
	}
	for i := range s.opts.Presets {
		info.Presets = append(info.Presets, s.opts.Presets[i].info())
	}
	return info, nil
}

// features are what this server can do beyond the rest.
func (s *Service) features() []string {
	var all []string
	if s.page != nil {
		all = append(all, "page")
	}
	if s.opts.History != nil {
		all = append(all, "sessions")
	}
	return orEmpty(all)
}

// Conversations lists the conversations that the user may see, the newest first.
func (s *Service) Conversations(ctx context.Context, u api.User, q api.ConversationQuery) (api.List[api.Conversation], error) {
	none := api.List[api.Conversation]{Items: []api.Conversation{}}
	if err := need(u, api.Viewer); err != nil {
		return none, err
	}
	all, err := s.visible(ctx, u, q, func(*note, *logHead) {})
	if err != nil {
		return none, problemOf(err)
	}
	return cut(all, q.Limit, q.Cursor, func(c *api.Conversation) string { return c.Created.UTC().Format(cursorTime) + " " + c.ID })
}

// cursorTime sorts as the time does.
const cursorTime = "2006-01-02T15:04:05.000000000"

// Overview is what the conversations of a user are and have cost.
type Overview struct {
	Conversations []api.Conversation // all, the newest first, archived ones too
	SpentUSD      float64
}

// Overview returns all conversations that the user may see, with what they have
// cost since a day. It reads each of them once.
func (s *Service) Overview(ctx context.Context, u api.User, since time.Time) (Overview, error) {
	var out Overview
	if err := need(u, api.Viewer); err != nil {
		return out, err
	}
	q := api.UsageQuery{From: since}
	sums := newTally(func(_ *note, day string, d *daySum) {
		if selectsDay(&q, day) {
			out.SpentUSD += d.CostUSD
		}
	})
	all, err := s.visible(ctx, u, api.ConversationQuery{Archived: true}, sums.add)
	if err == nil {
		err = sums.addDeleted(ctx, s, firstDay(&q), func(n *note) bool { return n.visible(u) })
	}
	if err != nil {
		return Overview{}, problemOf(err)
	}
	out.Conversations = all
	return out, nil
}

// visible returns all conversations that the user may see and the query selects,
// and passes on the head of the log of each. Those that are being deleted are only
// passed on.
func (s *Service) visible(ctx context.Context, u api.User, q api.ConversationQuery, read func(*note, *logHead)) ([]api.Conversation, error) {
	pending, err := s.pendingByConversation(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]fleet.ConversationInfo)
	for info, err := range s.fleet.List(ctx) {
		if err != nil {
			return nil, err
		}
		known[info.Key] = info
	}
	var all []api.Conversation
	add := func(n *note) error {
		if !n.visible(u) || !selectsNote(&q, n) {
			return nil
		}
		c := n.conversation()
		if info, ok := known[n.Key]; ok {
			joinInfo(&c, &info, pending[n.Key])
		}
		if q.State != "" && q.State != c.State {
			return nil
		}
		head, _, err := s.book.head(ctx, n.Key)
		if err != nil {
			return err
		}
		read(n, &head)
		c.LastSeq, c.Context = head.last(), head.Context.use()
		c.Unread = n.unread(u, c.LastSeq)
		if n.Deleted.IsZero() {
			all = append(all, c)
		}
		return nil
	}
	for n, err := range s.notes.each(ctx) {
		if err == nil {
			err = add(&n)
		}
		if err != nil {
			return nil, err
		}
		delete(known, n.Key)
	}
	for key, info := range known { // not begun here
		if err := add(&note{Key: key, Created: info.Created}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b api.Conversation) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	return all, nil
}

// selectsNote reports whether a query selects a conversation by what is noted of it.
func selectsNote(q *api.ConversationQuery, n *note) bool {
	text := strings.ToLower(q.Text)
	return (q.Preset == "" || q.Preset == n.Preset) &&
		(q.Owner == "" || q.Owner == n.Owner) &&
		(q.Label == "" || slices.Contains(n.Labels, q.Label)) &&
		(q.Archived || q.State == api.Ended || !n.Archived) &&
		(text == "" || strings.Contains(strings.ToLower(n.Title), text) || strings.Contains(idOf(n.Key), text))
}

// conversation is what is known without the fleet.
func (n *note) conversation() api.Conversation {
	return api.Conversation{
		ID: idOf(n.Key), Title: cmp.Or(n.Title, idOf(n.Key)), Preset: n.Preset, Owner: n.Owner, Shared: n.Shared, State: n.idleState(),
		Model: n.Model, Mode: n.Mode, Dir: n.Dir, Labels: orEmpty(n.Labels), Archived: n.Archived,
		Created: n.Created, ForkOf: n.ForkOf, Resumed: n.Resumed,
	}
}

// joinInfo adds what the fleet knows.
func joinInfo(c *api.Conversation, info *fleet.ConversationInfo, pending int) {
	c.Pending, c.Queued, c.Session = pending, info.Queued, info.Session
	c.Problem, c.Reason = failureOf(info.Cause, info.Stuck)
	c.CostUSD, c.Turns = info.Cost.USD, info.Cost.Turns
	c.Model, c.Mode = cmp.Or(info.Model, c.Model), cmp.Or(string(info.Mode), c.Mode)
	if c.Created.IsZero() {
		c.Created = info.Created
	}
	switch {
	case info.State == fleet.Stuck:
		c.State = api.Failed
	case info.State == fleet.AwaitingPerson:
		c.State = api.Deferred
	case info.State == fleet.Starting:
		c.State = api.Starting
	case info.State == fleet.Awake && pending > 0:
		c.State = api.Waiting
	case info.State == fleet.Awake && info.Queued > 0:
		c.State = api.Running
	case info.State == fleet.Held:
		c.State, c.Reason = api.Queued, heldAdvice(info)
	case info.State == fleet.Pending:
		c.State = api.Queued
	}
}

// idleState is the state of a conversation that has nothing to do.
func (n *note) idleState() api.State {
	if n.Archived {
		return api.Ended
	}
	return api.Idle
}

// pendingByConversation counts the approvals that wait, by the keys of their
// conversations.
func (s *Service) pendingByConversation(ctx context.Context) (map[string]int, error) {
	counts := make(map[string]int)
	for q, err := range s.fleet.Approvals().List(ctx, approval.Filter{States: []approval.State{approval.Open}}) {
		if err != nil {
			return nil, err
		}
		counts[q.Conversation]++
	}
	return counts, nil
}

// Conversation returns a conversation.
func (s *Service) Conversation(ctx context.Context, u api.User, id string) (api.Conversation, error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	c, err := s.look(ctx, &n)
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	c.Unread = n.unread(u, c.LastSeq)
	return c, nil
}

// unread reports whether there is something that a user has not read. Nothing is
// known about conversations that were not begun here.
func (n *note) unread(u api.User, last int64) bool { return n.Owner != "" && last > n.Read[u.Name] }

// MarkRead notes how far the user has read a conversation. A mark does not move
// back. Nothing is noted about a conversation that was not begun here.
func (s *Service) MarkRead(ctx context.Context, u api.User, id string, m api.ReadMark) error {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return problemOf(err)
	}
	head, _, err := s.book.head(ctx, n.Key)
	if err != nil {
		return problemOf(err)
	}
	seq := min(m.Seq, head.last())
	if m.Seq <= 0 {
		seq = head.last()
	}
	if n.Owner == "" || seq <= n.Read[u.Name] {
		return nil
	}
	_, err = s.notes.change(ctx, n.Key, func(n *note) error {
		if n.Read == nil {
			n.Read = make(map[string]int64)
		}
		n.Read[u.Name] = max(seq, n.Read[u.Name])
		return nil
	})
	if err != nil {
		return problemOf(err)
	}
	return nil
}

// look puts together what is known of a conversation.
func (s *Service) look(ctx context.Context, n *note) (api.Conversation, error) {
	// The log first: what happens meanwhile comes in the stream after it.
	head, _, err := s.book.head(ctx, n.Key)
	if err != nil {
		return api.Conversation{}, err
	}
	c := n.conversation()
	c.LastSeq, c.Context = head.last(), head.Context.use()
	info, err := s.fleet.Get(ctx, n.Key)
	if errors.Is(err, fleet.ErrUnknown) { // nothing was said yet
		return c, nil
	}
	if err != nil {
		return api.Conversation{}, err
	}
	pending := 0
	for _, err := range s.fleet.Approvals().List(ctx, approval.Filter{Conversation: n.Key, States: []approval.State{approval.Open}}) {
		if err != nil {
			return api.Conversation{}, err
		}
		pending++
	}
	joinInfo(&c, &info, pending)
	return c, nil
}

// Interrupt stops the turn of a conversation, or withdraws the question that it
// waits for.
func (s *Service) Interrupt(ctx context.Context, u api.User, id string) error {
	return s.command(ctx, u, id, "interrupted the turn", func(ctx context.Context, n *note) error {
		info, err := s.fleet.Get(ctx, n.Key)
		if errors.Is(err, fleet.ErrUnknown) || err == nil && (info.Queued == 0 || info.State == fleet.Stuck) {
			return idle.because("there is nothing to interrupt")
		}
		if err != nil {
			return err
		}
		return s.fleet.Interrupt(ctx, n.Key)
	})
}

// Retry lets a conversation that has failed try again.
func (s *Service) Retry(ctx context.Context, u api.User, id string) error {
	return s.command(ctx, u, id, "lets the conversation try again", func(ctx context.Context, n *note) error {
		return s.fleet.Retry(ctx, n.Key)
	})
}

// command does something with a conversation and writes down who did it. Once begun, it
// does not end with the request: done by half, it would forget its Idempotency-Key, and
// the repetition would hit the next turn.
func (s *Service) command(ctx context.Context, u api.User, id, what string, do func(context.Context, *note) error) error {
	n, err := s.act(ctx, u, id, api.Operator)
	if err != nil {
		return problemOf(err)
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := do(ctx, &n); err != nil {
		return problemOf(err)
	}
	if err := s.notice(ctx, u, n.Key, what); err != nil { // it is done anyway
		s.opts.Logger.Warn("serve: a command is not in the log of its conversation", "command", what, "conversation", n.Key, "error", err)
	}
	return nil
}

// notice writes down who did what to a conversation.
func (s *Service) notice(ctx context.Context, u api.User, key, what string) error {
	return s.writeNotice(ctx, u, key, api.Notice{Text: what})
}

func (s *Service) writeNotice(ctx context.Context, u api.User, key string, n api.Notice) error {
	l, release, err := s.logs.use(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	s.opts.Logger.Info("serve: "+n.Text, "conversation", key, "user", u.Name, "address", u.Address)
	n.User, n.Address = u.Name, u.Address
	return l.append(ctx, func(*logHead) []logEvent { return []logEvent{{Event: api.Event{Type: api.EventNotice, Notice: &n}}} })
}

// cut returns one page of a list that is sorted so that keys descend.
func cut[T any](all []T, limit int, cursor string, key func(*T) string) (api.List[T], error) {
	out := api.List[T]{Items: []T{}}
	after := ""
	if cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return out, badRequest.because("the cursor is not one that this server gave out")
		}
		after = string(raw)
	}
	for i := range all {
		if after != "" && key(&all[i]) >= after {
			continue
		}
		if len(out.Items) == pageSize(limit) {
			out.Next = base64.RawURLEncoding.EncodeToString([]byte(key(&out.Items[len(out.Items)-1])))
			break
		}
		out.Items = append(out.Items, all[i])
	}
	return out, nil
}
