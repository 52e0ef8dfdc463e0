package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// page is the handler.
type page struct {
	service   *serve.Service
	templates *template.Template
	assets    *assets
	mux       *http.ServeMux
}

// New makes the page, for serve.Options.Page. Its handler may be used by several
// goroutines.
func New(s *serve.Service) (serve.Page, error) {
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	p := &page{service: s, assets: assets, mux: http.NewServeMux()}
	p.templates, err = template.New("page").Funcs(p.functions()).Parse(show.Templates + pageHTML)
	if err != nil {
		return nil, fmt.Errorf("claude: serve: page: %w", err)
	}
	for pattern, do := range p.routes() {
		p.mux.HandleFunc(pattern, p.handle(do))
	}
	p.mux.HandleFunc("GET /static/{name}", assets.serve)
	p.mux.HandleFunc("GET /sw.js", assets.worker) // here, because it works for what is below it
	p.mux.HandleFunc("GET /login", p.showLogin)
	p.mux.HandleFunc("POST /login", p.login)
	p.mux.HandleFunc("GET /login/begin", p.beginLogin)
	p.mux.HandleFunc("GET "+serve.LoginReturn, p.finishLogin)
	p.mux.HandleFunc("POST /logout", p.logout)
	return p, nil
}

// routes returns the paths for people who are logged in.
func (p *page) routes() map[string]func(*request) error {
	return map[string]func(*request) error{
		"GET /{$}":                   p.inbox,
		"POST /decide":               p.several,
		"GET /a/{id}":                p.approval,
		"POST /a/{id}":               p.decide,
		"GET /a/{id}/full":           p.full,
		"GET /sidebar":               p.sidebar,
		"GET /h":                     p.history,
		"GET /new":                   p.newConversation,
		"POST /new":                  withPrompt(p.create),
		"GET /cost":                  p.cost,
		"GET /logins":                p.logins,
		"POST /logins/{id}/end":      p.endLogin,
		"POST /s/{id}":               p.session,
		"GET /c/{id}":                p.conversation,
		"GET /c/{id}/changes":        p.changes,
		"GET /c/{id}/call/{use}":     p.call,
		"GET /c/{id}/file/{seq}/{n}": func(q *request) error { return sendFile(p.service, q) },
		"POST /c/{id}/prompt":        withPrompt(p.prompt),
		"POST /c/{id}/take-back":     p.takeBack,
		"POST /c/{id}/interrupt":     p.interrupt,
		"POST /c/{id}/release":       p.release,
		"POST /c/{id}/retry":         p.retry,
		"POST /c/{id}/rewind":        p.rewind,
		"POST /c/{id}/fork":          p.fork,
		"POST /c/{id}/choose":        p.choose,
		"POST /c/{id}/delete":        p.remove,
		"POST /c/{id}/read":          p.read,
		"POST /c/{id}/prewarm":       p.prewarm,
		"POST /push":                 p.subscribe,
		"POST /push/end":             p.unsubscribe,
		"GET /{anything...}":         nothing,
		"POST /{anything...}":        nothing,
	}
}

// ServeHTTP implements [http.Handler].
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Route implements [serve.Router].
func (p *page) Route(r *http.Request) string {
	_, route := p.mux.Handler(r)
	return route
}

// HTML implements [serve.Page]: it renders a message by itself.
func (p *page) HTML(e *api.Event) string {
	if e.Type != api.EventMessage {
		return ""
	}
	t := newTimeline("", []api.Event{*e})
	t.render()
	var out strings.Builder
	for _, it := range t.items {
		if p.templates.ExecuteTemplate(&out, "item", it) != nil {
			return ""
		}
	}
	return out.String()
}

// request is a request of a user who is logged in.
type request struct {
	*http.Request
	w    http.ResponseWriter
	user api.User
}

const (
	// maxForm limits the size of a form; a decision may edit an input.
	maxForm = 4 << 20
	// maxUnread limits how much is read of a form that is refused.
	maxUnread = 64 << 20
)

// handle lets only users through, and shows errors.
func (p *page) handle(do func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, ok := serve.UserOf(r.Context())
		if !ok {
			p.askLogin(w, r)
			return
		}
		whole := r.Body
		r.Body = http.MaxBytesReader(w, whole, maxForm)
		q := &request{r, w, user}
		if err := do(q); err != nil {
			// A browser that is still sending sees a broken connection instead of the reason.
			_, _ = io.CopyN(io.Discard, whole, maxUnread)
			p.problem(q, err)
		}
	}
}

// frame is the part that all screens share.
type frame struct {
	Title   string
	Screen  string // inbox, conversation, history, cost, logins, new, problem, login
	User    api.User
	Waiting int    // approvals in the inbox
	Notice  string // what was just done
	Stream  string // the address of the stream of events that this screen follows
	Push    string // the key with which a browser subscribes to notices; empty: it cannot
	Now     time.Time
	Body    any
}

// render shows a screen.
func (p *page) render(q *request, f frame) error {
	f.User, f.Now = q.user, time.Now().UTC()
	if f.Screen != "inbox" { // the inbox has counted them already
		pending, err := p.service.Inbox(q.Context(), q.user, api.ApprovalQuery{})
		if err != nil {
			return err
		}
		f.Waiting = pending.Total
	}
	if q.user.Login != "" && q.user.Role.Covers(api.RoleApprover) {
		key, err := p.service.PushKey(q.Context())
		if err != nil {
			return err
		}
		f.Push = key
	}
	f.Notice = notices[q.URL.Query().Get("did")]
	return p.write(q.w, http.StatusOK, f)
}

func (p *page) write(w http.ResponseWriter, status int, f frame) error {
	var out bytes.Buffer // buffered, so that nothing is sent if the template fails
	if err := p.templates.ExecuteTemplate(&out, "frame", f); err != nil {
		return fmt.Errorf("claude: serve: page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the reader has gone
	return nil
}

// notices report the effect of a form. The address holds only their names, so that no
// link can put words into the page.
var notices = map[string]string{
	"allow":     "Allowed.",
	"deny":      "Denied.",
	"answer":    "Answered.",
	"resumed":   "The session is now a conversation. Its own files stay as they are.",
	"copied":    "The copy is a conversation of its own.",
	"had":       "The session was a conversation already: this one.",
	"sent":      "Sent.",
	"steers":    "Sent to the running turn.",
	"back":      "The prompt was taken back.",
	"interrupt": "Interrupted.",
	"release":   "Declined. The process is free when the turn is over.",
	"retry":     "It tries again.",
	"rewind":    "The files are restored.",
	"chosen":    "Changed.",
	"deleted":   "The conversation is deleted.",
	"read":      "Marked as read.",
	"logout":    "That browser is logged out.",
}

// done sends the browser to a screen after a form.
func (p *page) done(q *request, to, did string) error {
	if did != "" {
		path, query, _ := strings.Cut(to, "?")
		values, _ := url.ParseQuery(query) // local has written it
		values.Set("did", did)
		to = path + "?" + values.Encode()
	}
	http.Redirect(q.w, q.Request, to, http.StatusSeeOther)
	return nil
}

// problem shows an error.
func (p *page) problem(q *request, err error) {
	problem, ok := asProblem(err)
	if !ok {
		problem = &api.Problem{Title: "Something went wrong in the server", Status: http.StatusInternalServerError, Detail: "Its log has the details. Try again."}
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			problem = &api.Problem{Title: "The form is too large", Status: http.StatusRequestEntityTooLarge, Detail: "Send less at a time."}
		}
	}
	view := problemView{Title: line(problem.Title), Successor: problem.Successor, Conversation: problem.Conversation}
	view.Detail, _ = show.Text(problem.Detail, maxReason)
	if r, ok := errors.AsType[*refused](err); ok {
		view.Typed = r.typed
	}
	if problem.Approval != nil {
		card := newCard(problem.Approval, q.user, "", q.URL.Path)
		view.Card = &card
	}
	f := frame{Title: view.Title, Screen: "problem", User: q.user, Now: time.Now().UTC(), Body: view}
	if p.write(q.w, cmp.Or(problem.Status, http.StatusInternalServerError), f) != nil {
		http.Error(q.w, problem.Title, http.StatusInternalServerError)
	}
}

type problemView struct {
	Title, Detail, Successor, Conversation string
	Typed                                  string // typed text that was refused
	Card                                   *card
}

// nothing is for addresses where there is nothing.
func nothing(*request) error {
	return &api.Problem{Title: "There is nothing here", Status: http.StatusNotFound, Detail: "The address may be mistyped, or what it named is gone."}
}

// local returns the path and query of this page that a form or a link names, or else
// other. It accepts nothing that could lead elsewhere.
func local(path, other string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") {
		return other
	}
	for _, text := range []string{path, u.Path} { // as written, and as a browser reads it
		if strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n\t") {
			return other
		}
	}
	return (&url.URL{Path: u.Path, RawQuery: u.Query().Encode()}).String()
}

// asProblem finds the problem in an error.
func asProblem(err error) (*api.Problem, bool) { return errors.AsType[*api.Problem](err) }
