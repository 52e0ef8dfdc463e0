package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// The most that one screen shows.
const (
	maxCards = 200
	maxItems = 100 // of a conversation; a link leads to earlier ones
	maxFresh = 10  // conversations with news in the inbox

	maxSessions = 20 // on the server's disk
)

// functions are the functions of the templates.
func (p *page) functions() template.FuncMap {
	return template.FuncMap{
		"asset":  p.assets.address,
		"money":  show.Money,
		"tokens": func(n int64) string { return show.Tokens(int(n)) },
		"plural": show.Plural,
		"ago":    func(t time.Time) string { return ago(time.Since(t)) },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"line":   line,
		"first":  initial,
		"place":  p.place,
		"web":    webAddress,
		"chosen": chosen,
		"entry":  entryType,
		"preset": presetText,

		"mostFiles": func() int { return serve.MaxAttached },
		"mostBytes": func() int { return serve.MaxAttachedBytes },

		"stateName": stateName,

		"version": version,
		"browser": browserName,
		"choices": func(p api.PresetInfo) []control { return choicesOf(new(api.Conversation), &p) },
	}
}

// stateName returns a state in the words of a search. Lists show no difference between
// an agent that waits and one that sleeps meanwhile.
func stateName(s api.State) string {
	switch s {
	case api.StateWaiting:
		return "waits for you, awake"
	case api.StateDeferred:
		return "waits for you, asleep"
	}
	return string(s)
}

// ago formats the time since something happened, as the script does.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return show.Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return show.Plural(int(d/time.Hour), "hour") + " ago"
	}
	return show.Plural(int(d/(24*time.Hour)), "day") + " ago"
}

// place returns a path as people know it: with ~ for the home of the server.
func (p *page) place(path string) string {
	if p.service == nil || p.service.Home() == "" {
		return path
	}
	switch rel, err := filepath.Rel(p.service.Home(), path); {
	case err != nil || !filepath.IsLocal(rel):
		return path
	case rel == ".":
		return "~"
	default:
		return "~/" + filepath.ToSlash(rel)
	}
}

// initial returns the first character of a name.
func initial(name string) string {
	for _, c := range name {
		return terminal.Line(string(c))
	}
	return ""
}

// approval shows one card, for links from elsewhere.
func (p *page) approval(q *request) error {
	a, err := p.service.Approval(q.Context(), q.user, q.PathValue("id"))
	if err != nil {
		return err
	}
	c, err := p.service.Conversation(q.Context(), q.user, a.Conversation)
	if err != nil {
		return err
	}
	view := newCard(&a, q.user, c.Title, "/a/"+a.ID)
	view.Alone = true
	return p.render(q, frame{Title: view.Tool + " in " + line(c.Title), Screen: "approval", Stream: "/v1/feed", Body: &view})
}

// full shows everything that an approval is about, if the card has no room for it: a
// user must not decide about something that they cannot see.
func (p *page) full(q *request) error {
	a, err := p.service.Approval(q.Context(), q.user, q.PathValue("id"))
	if err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = io.WriteString(q.w, full(&a)) // the reader has gone
	return nil
}

type conversationView struct {
	api.Conversation
	Items   []*item
	Earlier int64 // there are items before this event
	Part    bool  // newer items are not shown
	Cards   []card
	Queue   []api.Prompt
	Choices []control
	Busy    bool
	// Interrupt is true if there is something to interrupt, and Steer if a
	// running turn may take a prompt in.
	Interrupt, Steer bool

	May  bool // the user may prompt
	Fork bool
	End  bool // it can be ended
	// Rename and Delete are set if the user may do that here.
	Rename, Delete bool
	Seq            int64
	NewID          string // of the next prompt
}

func (p *page) conversation(q *request) error {
	id := q.PathValue("id")
	c, err := p.service.Conversation(q.Context(), q.user, id)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(q.URL.Query().Get("before"), 10, 64) // anything else: the end
	t, tail, err := p.lately(q, &c, before)
	if err != nil {
		return err
	}
	pending, err := p.service.Approvals(q.Context(), q.user, api.ApprovalQuery{State: api.ApprovalPending, Conversation: id, Limit: maxCards})
	if err != nil {
		return err
	}
	info, err := p.service.Info(q.Context(), q.user)
	if err != nil {
		return err
	}
	t.link("/c/" + url.PathEscape(id))
	c.Title = line(c.Title)
	c.Reason, _ = show.Text(c.Reason, maxReason)
	view := conversationView{Conversation: c, Queue: queue(tail.Prompts), Seq: tail.Last, NewID: uuid.New(), May: q.user.Role.Covers(api.RoleOperator)}
	view.Steer = c.State == api.StateRunning || c.State == api.StateWaiting
	view.Interrupt = view.Steer || c.State == api.StateDeferred
	view.Busy = view.Interrupt || c.State == api.StateStarting
	view.Fork = view.May && !view.Busy && (c.Turns > 0 || c.Resumed != "")
	view.Rename = view.May && c.Owner != ""
	view.Delete = view.May && (c.Owner == q.user.Name || q.user.Role == api.RoleAdmin)
	view.End = view.May && c.State == api.StateIdle && c.Owner != ""
	for _, preset := range info.Presets {
		if preset.Name == c.Preset {
			view.Choices = choicesOf(&c, &preset)
			if preset.Rewind && view.May && c.State == api.StateIdle {
				t.offerRewind("/c/" + url.PathEscape(id) + "/rewind")
			}
		}
	}
	view.Items, view.Earlier, view.Part = t.items, t.earlier, before > 0
	for i := range slices.Backward(pending.Items) {
		view.Cards = append(view.Cards, newCard(&pending.Items[i], q.user, "", "/c/"+id))
	}
	return p.render(q, frame{Title: c.Title, Screen: "conversation", Stream: "/v1/conversations/" + id + "/events", Body: view})
}

// lately returns the last items of a conversation, or of the part before an event. It
// reads no more of a long conversation than of a short one.
func (p *page) lately(q *request, c *api.Conversation, before int64) (*timeline, *serve.Tail, error) {
	for events := maxItems + maxItems/2; ; events *= 4 {
		tail, err := p.service.Tail(q.Context(), q.user, c.ID, max(0, before), events)
		if err != nil {
			return nil, nil, err
		}
		t := newTimeline(c.Dir, tail.Events)
		if len(t.items) < maxItems && tail.More {
			continue
		}
		if n := len(t.items) - maxItems; n > 0 {
			t.items, tail.More = t.items[n:], true
		}
		if tail.More && len(t.items) > 0 {
			t.earlier = t.items[0].Seq
		}
		t.render()
		return t, &tail, nil
	}
}

type changesView struct {
	api.Conversation
	Files          []*changedFile
	Added, Removed int
	Folder         bool // all that has changed in the conversation's own folder
	Unseen         bool // it could not be compared, so these are edits
	Cut            bool // not all files are here
}

// changes shows the files that a conversation has changed: in its own folder if it has one,
// else by edits.
func (p *page) changes(q *request) error {
	id := q.PathValue("id")
	c, err := p.service.Conversation(q.Context(), q.user, id)
	if err != nil {
		return err
	}
	view := changesView{Conversation: c}
	patch, err := p.service.FolderPatch(q.Context(), q.user, id)
	problem, ok := asProblem(err)
	view.Unseen = err != nil && !(ok && problem.Status == http.StatusNotFound)
	if view.Folder = err == nil; view.Folder {
		view.Files, view.Cut = folderChanges(patch)
	} else {
		events, _, err := p.service.Log(q.Context(), q.user, id)
		if err != nil {
			return err
		}
		view.Files = newTimeline(c.Dir, events).changes(serve.RevertedCalls(events))
	}
	view.Title = line(c.Title)
	for _, f := range view.Files {
		view.Added, view.Removed = view.Added+f.Added, view.Removed+f.Removed
	}
	return p.render(q, frame{Title: "Changes of " + view.Title, Screen: "changes", Body: view})
}

// The most of a patch that is shown. All of it can be downloaded.
const (
	maxChangedFiles = 300
	maxChangedLines = 20_000
)

// folderChanges returns the files of a patch, and whether some are left out.
func folderChanges(patch []byte) (files []*changedFile, cut bool) {
	lines := 0
	for f := range show.GitPatch(string(patch)) {
		if len(files) == maxChangedFiles || lines > maxChangedLines {
			return files, true
		}
		one := &changedFile{Path: line(f.Path), What: line(f.What)}
		if f.Diff != nil {
			f.Diff.Colour(f.Path)
			one.Diffs, one.Added, one.Removed = []*show.Diff{f.Diff}, f.Diff.Added, f.Diff.Removed
			lines += len(f.Diff.Lines)
		}
		files = append(files, one)
	}
	return files, false
}

type historyView struct {
	Items    []api.Conversation
	Next     string // the address of the next page, with the same filters
	Query    api.ConversationQuery
	States   []api.State
	Sessions []api.SessionInfo
}

// sidebar shows the conversations beside a screen.
func (p *page) sidebar(q *request) error {
	f, err := besides(p.service, q)
	if err != nil {
		return err
	}
	return p.write(q.w, http.StatusOK, f)
}

func (p *page) history(q *request) error {
	form := q.URL.Query()
	view := historyView{
		Query:  api.ConversationQuery{Text: form.Get("q"), State: api.State(form.Get("state")), Archived: form.Get("archived") != "", Cursor: form.Get("cursor")},
		States: []api.State{api.StateIdle, api.StateQueued, api.StateStarting, api.StateRunning, api.StateWaiting, api.StateDeferred, api.StateFailed, api.StateEnded},
	}
	list, err := p.service.Conversations(q.Context(), q.user, view.Query)
	if err != nil {
		return err
	}
	view.Items = list.Items
	if list.Next != "" {
		form.Set("cursor", list.Next)
		view.Next = "/h?" + form.Encode()
	}
	for i := range view.Items {
		view.Items[i].Title = line(view.Items[i].Title)
	}
	if q.user.Role == api.RoleAdmin && view.Query == (api.ConversationQuery{}) {
		view.Sessions = p.sessions(q)
	}
	return p.render(q, frame{Title: "Conversations", Screen: "history", Stream: "/v1/feed", Body: view})
}

// sessions returns the sessions on the server's disk. Not every server shows them.
func (p *page) sessions(q *request) []api.SessionInfo {
	info, err := p.service.Info(q.Context(), q.user)
	if err != nil || !slices.Contains(info.Features, "sessions") {
		return nil
	}
	list, err := p.service.Sessions(q.Context(), q.user, "")
	if err != nil {
		return nil
	}
	all := list.Items[:min(len(list.Items), maxSessions)]
	for i := range all {
		all[i].Title, all[i].Dir = line(all[i].Title), line(all[i].Dir)
	}
	return all
}

type newView struct {
	Presets []api.PresetInfo
	Preset  string
	Prompt  string
}

func (p *page) newConversation(q *request) error {
	info, err := p.service.Info(q.Context(), q.user)
	if err != nil {
		return err
	}
	return p.render(q, frame{Title: "New conversation", Screen: "new", Body: newView{Presets: info.Presets, Preset: q.URL.Query().Get("preset")}})
}

type costView struct {
	By    api.UsageGroup
	Days  int
	Rows  []costRow
	Total api.UsageRow
	Held  []api.Held
	Over  []api.OverBudget
}

type costRow struct {
	api.UsageRow
	Name  string
	Share int // of the largest, in percent
}

func (p *page) cost(q *request) error {
	view := costView{By: api.UsageGroup(q.URL.Query().Get("by")), Days: 30}
	if !slices.Contains(api.UsageGroups(), view.By) {
		view.By = api.ByDay
	}
	usage, err := p.service.Usage(q.Context(), q.user, api.UsageQuery{From: time.Now().UTC().AddDate(0, 0, -view.Days), By: []api.UsageGroup{view.By}})
	if err != nil {
		return err
	}
	view.Total, view.Held, view.Over = usage.Total, usage.Held, usage.OverBudget
	largest := 0.0
	for _, row := range usage.Items {
		largest = max(largest, row.CostUSD)
	}
	for _, row := range usage.Items {
		r := costRow{UsageRow: row, Name: line(cmp.Or(row.Day, row.User, row.Preset, row.Model, "unknown"))}
		if largest > 0 {
			r.Share = int(row.CostUSD / largest * 100)
		}
		view.Rows = append(view.Rows, r)
	}
	slices.SortStableFunc(view.Rows, func(a, b costRow) int {
		if view.By == api.ByDay {
			return strings.Compare(b.Name, a.Name)
		}
		return cmp.Compare(b.CostUSD, a.CostUSD)
	})
	return p.render(q, frame{Title: "Cost", Screen: "cost", Body: view})
}

// call shows all of a tool call, whose row has room for only a part of its input and
// output. It is plain text, so nothing in it is active, and invisible characters are
// made visible.
func (p *page) call(q *request) error {
	events, _, err := p.service.Log(q.Context(), q.user, q.PathValue("id"))
	if err != nil {
		return err
	}
	text, ok := wholeCall(events, q.PathValue("use"))
	if !ok {
		return nothing(q)
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = q.w.Write([]byte(terminal.Clean(text))) // the reader has gone
	return nil
}

// wholeCall returns the input and the output of a call, and whether the events have it.
func wholeCall(events []api.Event, id string) (string, bool) {
	var out strings.Builder
	for i := range events {
		if events[i].Type != api.EventMessage || !strings.Contains(string(events[i].Message), id) {
			continue
		}
		m, _ := message.Decode(events[i].Message) // an unreadable message is not shown
		switch m := m.(type) {
		case *message.Assistant:
			for _, block := range m.Content {
				if use, ok := block.(*message.ToolUseBlock); ok && use.ID == id {
					fmt.Fprintf(&out, "%s\n\n%s\n", use.Name, pretty(use.Input))
				}
			}
		case *message.User:
			for _, r := range m.ToolResults() {
				if r.ToolUseID == id {
					fmt.Fprintf(&out, "\n----------\n\n%s\n", r.Content.Text())
				}
			}
		}
	}
	return out.String(), out.Len() > 0
}

// session turns a session on the server's disk into a conversation, in the way that the
// button names. If a conversation already has the session, it redirects there, so a
// second tap does no harm.
func (p *page) session(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	id := q.PathValue("id")
	ask, did := api.NewConversation{Preset: q.PostForm.Get("preset")}, "resumed"
	switch q.PostForm.Get("do") {
	case "resume":
		ask.Resume = id
	case "fork":
		ask.Fork, did = &api.ForkFrom{Session: id}, "copied"
	default:
		return bad("The form does not say whether to resume the session or to fork it. Load the page again.")
	}
	c, err := p.service.Create(q.Context(), q.user, ask)
	if problem, ok := asProblem(err); ok && problem.Type == "/problems/resumed" && problem.Conversation != "" {
		return p.done(q, "/c/"+url.PathEscape(problem.Conversation), "had")
	}
	if err != nil {
		return err
	}
	return p.done(q, "/c/"+url.PathEscape(c.ID), did)
}

type loginsView struct {
	Items []api.LoginInfo
	// Others is true if there are logins of other users.
	Others bool
}

// logins shows where the user is logged in, so that they can log out a lost or borrowed
// browser.
func (p *page) logins(q *request) error {
	list, err := p.service.Logins(q.Context(), q.user)
	if err != nil {
		return err
	}
	view := loginsView{Items: list.Items}
	for i := range view.Items {
		l := &view.Items[i]
		view.Others = view.Others || l.User != q.user.Name
		l.User, l.Address, l.Browser = line(l.User), line(l.Address), line(l.Browser)
	}
	return p.render(q, frame{Title: "Logins", Screen: "logins", Body: view})
}

// endLogin logs a browser out.
func (p *page) endLogin(q *request) error {
	if err := p.service.EndLogin(q.Context(), q.user, q.PathValue("id")); err != nil {
		return err
	}
	return p.done(q, "/logins", "logout")
}
