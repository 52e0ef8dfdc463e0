package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/serve/api"
)

// filter selects a part of the inbox. It is in the address, so it survives live
// updates and decisions, and can be bookmarked.
type filter struct {
	Text   string
	Preset string
	Kind   api.ApprovalKind
}

func filterOf(query url.Values) filter {
	return filter{Text: strings.TrimSpace(query.Get("q")), Preset: query.Get("preset"), Kind: api.ApprovalKind(query.Get("kind"))}
}

// On reports whether the filter leaves anything out.
func (f filter) On() bool { return f != filter{} }

// address returns the address of the inbox with the filter.
func (f filter) address() string {
	query := make(url.Values)
	for name, value := range map[string]string{"q": f.Text, "preset": f.Preset, "kind": string(f.Kind)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return (&url.URL{Path: "/", RawQuery: query.Encode()}).String()
}

// Kinds returns the kinds to choose from.
func (f filter) Kinds() []kindChoice {
	return []kindChoice{
		{api.KindTool, "approvals"}, {api.KindQuestion, "questions"}, {api.KindPlan, "plans"}, {api.KindElicitation, "forms"},
	}
}

type kindChoice struct {
	Kind api.ApprovalKind
	Name string
}

type inboxView struct {
	Groups  []group
	Waiting int    // pending approvals, including those that the filter hides
	Found   int    // those that the filter selects
	Page    pager  // through them
	Filter  filter // of the cards
	Presets []api.PresetInfo
	Failed  []api.Conversation // that are stuck
	Live    []api.Conversation // that are working now
	Fresh   []api.Conversation // with news, and without a pending approval
	Older   int                // how many more have news
	Today   string             // what was spent
	Begin   bool               // there is no conversation yet
}

// inbox shows the pending approvals. With a filter it shows nothing else: the
// conversations that work or have news have a search of their own.
func (p *page) inbox(q *request) error {
	all, err := p.service.Overview(q.Context(), q.user, time.Now())
	if err != nil {
		return err
	}
	info, err := p.service.Info(q.Context(), q.user)
	if err != nil {
		return err
	}
	view := inboxView{Filter: filterOf(q.URL.Query()), Presets: info.Presets, Begin: len(all.Conversations) == 0, Today: show.Money(all.SpentUSD)}
	pending, err := p.service.Inbox(q.Context(), q.user, api.ApprovalQuery{Text: view.Filter.Text, Preset: view.Filter.Preset, Kind: view.Filter.Kind})
	if err != nil {
		return err
	}
	if !view.Filter.On() {
		view.rows(all.Conversations)
	}
	titles := make(map[string]string)
	for i := range all.Conversations {
		titles[all.Conversations[i].ID] = all.Conversations[i].Title
	}
	view.Waiting, view.Found = pending.Total, len(pending.Items)
	view.Page = newPager(q.URL.Query().Get("page"), view.Found, view.Filter.address())
	view.Groups = view.Page.groups(pending.Items, func(a *api.Approval) card {
		c := newCard(a, q.user, titles[a.Conversation], view.Page.Here)
		c.Pick = pickOf(a)
		return c
	})
	return p.render(q, frame{Title: "Inbox", Screen: "inbox", Waiting: view.Waiting, Stream: "/v1/feed", Body: view})
}

// rows selects the conversations below the cards.
func (v *inboxView) rows(all []api.Conversation) {
	for _, c := range all {
		switch {
		case c.State == api.StateFailed:
			v.Failed = append(v.Failed, c)
		case c.State == api.StateRunning || c.State == api.StateStarting || c.State == api.StateQueued:
			v.Live = append(v.Live, c)
		case c.Unread && c.Pending == 0 && !c.Archived:
			v.Fresh = append(v.Fresh, c)
		}
	}
	if n := len(v.Fresh) - maxFresh; n > 0 {
		v.Fresh, v.Older = v.Fresh[:maxFresh], n
	}
}
