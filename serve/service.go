package serve

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/login"
)

// Service offers everything that users may do, for the API and for the page. Each
// method takes the user, and does only what that user may: errors are an [api.Problem],
// and anything that the user may not see is not found. All methods may be called from
// any goroutine.
type Service struct {
	fleet fleet.Conversations
	opts  Options
	notes noteStore
	book  eventlog.Store
	logs  *logs
	feed  *feed
	gate  *login.Authenticator
	page  Page

	prewarmed     rarely
	access        *access
	provider      *providerLogin
	conversations *conversations
	journal       *journal
	eraser        *eraser
	recovery      *recovery
	spendings     *spendings
	changer       *changer
	creator       *creator
	prompter      *prompter
	answers       *answers
	reader        *eventlog.Reader
	pusher        *pusher // nil: there are no pushes
}

// newService makes the service of a fleet. Its parts know only what they are given
// here; none knows the service.
func newService(ctx context.Context, f fleet.Conversations, o Options) *Service {
	hub, book := newFeed(), eventlog.NewStore(o.Records, o.Project)
	s := &Service{
		fleet: f, opts: o, notes: noteStore{o.Records, o.Project}, book: book, feed: hub,
		logs: newLogs(ctx, f, book, hub, o.Logger),
		gate: login.New(o.Records, o.Project),
	}
	s.access = &access{&s.opts, s.gate}
	s.provider = &providerLogin{&s.opts, s.access, s.gate}
	s.conversations = &conversations{f, s.notes, book}
	s.answers = &answers{f, o.Logger, s.conversations, o.Presets}
	s.pusher = newPusher(o.Push, o.Records, o.Project, s.gate, s.answers, o.Logger)
	s.journal = &journal{f, s.logs, o.Logger, s.notifies(o.Notify)}
	s.eraser = &eraser{f, s.logs, s.notes, book, o.Records, o.Project, s.journal}
	s.recovery = &recovery{f, s.logs, s.notes, book, o.Records, o.Project, s.journal, s.eraser}
	s.spendings = &spendings{f, s.notes, book, o.Records, o.Project, o.Presets}
	s.changer = &changer{f, s.notes, s.logs, o.Presets, s.conversations, s.journal, s.eraser}
	s.creator = &creator{f, s.logs, s.notes, o.Records, o.Logger, o.Presets, o.History, s.conversations, s.eraser, s.recovery}
	s.prompter = &prompter{f, s.logs, s.notes, book, o.Logger, o.Presets, s.conversations, s.journal, s.spendings}
	s.reader = eventlog.NewReader(f, book)
	return s
}

// notifies returns what notifies people of approvals: the program's own, pushes, or both.
func (s *Service) notifies(own func(api.Approval)) func(api.Approval) {
	if s.pusher == nil {
		return own
	}
	return func(a api.Approval) {
		if own != nil {
			own(a)
		}
		s.pusher.tell(a)
	}
}

// Home returns Options.Home, for the page.
func (s *Service) Home() string { return s.opts.Home }

// Info describes the server to a client that begins.
func (s *Service) Info(_ context.Context, u api.User) (api.ServerInfo, error) {
	if err := need(u, api.RoleViewer); err != nil {
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

// features lists the optional features of this server.
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
	if err := need(u, api.RoleViewer); err != nil {
		return none, err
	}
	all, err := s.conversations.selected(ctx, u, q)
	if err != nil {
		return none, problemOf(err)
	}
	page, err := cut(standing(all), q.Limit, q.Cursor, func(c *listed) string { return c.Created.UTC().Format(cursorTime) + " " + c.ID })
	if err != nil {
		return none, err
	}
	items, err := s.conversations.read(ctx, u, page.Items, func(*note, *eventlog.Head) {})
	if err != nil {
		return none, problemOf(err)
	}
	return api.List[api.Conversation]{Items: items, Next: page.Next}, nil
}

// Beside lists at most limit conversations for the side of a screen that shows one of
// them: those in which an approval is pending, then the newest, and the one that is shown
// in any case. It also reports whether there are more. It may be called by several
// goroutines.
func (s *Service) Beside(ctx context.Context, u api.User, shown string, limit int) (items []api.Conversation, more bool, err error) {
	if err := need(u, api.RoleViewer); err != nil {
		return nil, false, err
	}
	all, err := s.conversations.selected(ctx, u, api.ConversationQuery{})
	if err == nil {
		all = standing(all)
		items, err = s.conversations.read(ctx, u, beside(all, shown, limit), func(*note, *eventlog.Head) {})
	}
	if err != nil {
		return nil, false, problemOf(err)
	}
	return items, len(all) > len(items), nil
}

// Overview holds the conversations of a user, and their cost.
type Overview struct {
	Conversations []api.Conversation // all, the newest first, including archived ones
	SpentUSD      float64
}

// Overview returns all conversations that the user may see, with their cost since a
// day. It reads each of them once.
func (s *Service) Overview(ctx context.Context, u api.User, since time.Time) (Overview, error) {
	var out Overview
	if err := need(u, api.RoleViewer); err != nil {
		return out, err
	}
	q := api.UsageQuery{From: since}
	sums := newTally(func(_ *note, day string, d *eventlog.DaySum) {
		if selectsDay(&q, day) {
			out.SpentUSD += d.CostUSD
		}
	})
	all, err := s.conversations.selected(ctx, u, api.ConversationQuery{Archived: true})
	if err == nil {
		out.Conversations, err = s.conversations.read(ctx, u, all, sums.add)
	}
	if err == nil {
		err = sums.addDeleted(ctx, s.opts.Records, s.opts.Project, firstDay(&q), func(n *note) bool { return n.visible(u) })
	}
	if err != nil {
		return Overview{}, problemOf(err)
	}
	return out, nil
}

// Conversation returns a conversation.
func (s *Service) Conversation(ctx context.Context, u api.User, id string) (api.Conversation, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	c, err := s.conversations.look(ctx, &n)
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	c.Unread = n.unread(u, c.LastSeq)
	return c, nil
}

// MarkRead notes how far the user has read a conversation. A mark never moves back.
// Conversations that were not begun here have no marks.
func (s *Service) MarkRead(ctx context.Context, u api.User, id string, m api.ReadMark) error {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return problemOf(err)
	}
	head, _, err := s.book.Head(ctx, n.Key)
	if err != nil {
		return problemOf(err)
	}
	seq := min(m.Seq, head.Last())
	if m.Seq <= 0 {
		seq = head.Last()
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
