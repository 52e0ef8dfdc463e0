package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/form"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// bad returns the problem of a form that cannot be used.
func bad(detail string) error {
	return &api.Problem{Title: "The form cannot be used", Status: http.StatusBadRequest, Detail: detail}
}

// decide decides an approval. The button names the decision: allow, deny, answer,
// edit, or remember and the number of a suggestion.
func (p *page) decide(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	id, sent := q.PathValue("id"), q.PostForm
	d := api.Decision{Digest: sent.Get("digest")}
	verb, which, _ := strings.Cut(sent.Get("decision"), " ")
	switch d.Decision = api.DecisionKind(verb); verb {
	case "allow":
	case "deny":
		d.Message, d.Stop = sent.Get("message"), sent.Get("stop") != ""
	case "edit":
		d.Decision, d.Input = api.DecideAllow, json.RawMessage(sent.Get("input"))
		if !json.Valid(d.Input) {
			return bad("The edited input is not JSON. Go back and fix it; nothing was decided.")
		}
	case "remember":
		d.Decision = api.DecideAllow
		n, err := strconv.Atoi(which)
		if err != nil {
			return bad("The rule to remember has no number. Load the page again.")
		}
		d.Remember = []int{n}
	case "answer":
		if err := p.answer(q, &d, sent); err != nil {
			return err
		}
	default:
		return bad("The form names no decision. Load the page again.")
	}
	if _, err := p.service.Decide(q.Context(), q.user, id, d); err != nil {
		return unlikeSeen(err)
	}
	return p.done(q, local(sent.Get("back"), "/"), string(d.Decision))
}

// unlikeSeen puts the problem of a form about an older question in words for people, who
// know nothing of digests.
func unlikeSeen(err error) error {
	if problem, ok := asProblem(err); !ok || problem.Type != "/problems/changed" {
		return err
	}
	return &api.Problem{Title: "The question is not what you saw", Status: http.StatusConflict, Detail: "It has changed since. Nothing was decided. Load the page again, and look at what is asked now."}
}

// answer reads the answers to questions: q0 holds labels, w0 the user's own words. The
// fields of an MCP server's form are f0 and so on; a form that the page cannot show is
// JSON.
func (p *page) answer(q *request, d *api.Decision, sent url.Values) error {
	if sent.Has("fields") {
		a, err := p.service.Approval(q.Context(), q.user, q.PathValue("id"))
		if err != nil {
			return err
		}
		d.Input, err = filled(&a, sent)
		return err
	}
	if content := sent.Get("content"); content != "" {
		if d.Input = json.RawMessage(content); !json.Valid(d.Input) {
			return bad("The content is not JSON. Go back and fix it; nothing was decided.")
		}
		return nil
	}
	n, err := strconv.Atoi(sent.Get("questions"))
	if err != nil || n < 1 || n > 100 {
		return bad("The form names no questions. Load the page again.")
	}
	for i := range n {
		a := api.QuestionAnswer{Question: i, Choose: sent["q"+strconv.Itoa(i)], Write: strings.TrimSpace(sent.Get("w" + strconv.Itoa(i)))}
		if len(a.Choose) == 0 && a.Write == "" {
			return bad("Question " + strconv.Itoa(i+1) + " has no answer. Go back and choose one; nothing was decided.")
		}
		d.Answers = append(d.Answers, a)
	}
	return nil
}

// filled reads the fields of a form.
func filled(a *api.Approval, values url.Values) (json.RawMessage, error) {
	if a.Form == nil || a.Form.URL != "" {
		return nil, nil
	}
	var order []string
	for _, f := range a.Form.Fields {
		order = append(order, f.Name)
	}
	fields, err := form.Fields(jsonx.Member(a.Input, "requested_schema"), order)
	if err != nil {
		return nil, err
	}
	content := make(map[string]any)
	for i := range fields {
		f := &fields[i]
		texts := values["f"+strconv.Itoa(i)]
		if f.Type == "boolean" && len(texts) == 0 {
			texts = []string{"false"} // browsers do not send an unchecked box
		}
		value, err := f.Value(texts...)
		if err != nil {
			return nil, bad(cmp.Or(f.Title, f.Name) + ": " + err.Error() + ". Go back and fix it; nothing was decided.")
		}
		if value != nil {
			content[f.Name] = value
		}
	}
	return jsonx.Marshal(content)
}

func (p *page) create(q *request, sent *promptForm) (err error) {
	preset := sent.Get("preset")
	own := func(name string) string { return strings.TrimSpace(sent.Get(name + " " + preset)) } // each preset has fields of its own
	var content json.RawMessage
	if sent.Get("prompt") != "" || len(sent.files) > 0 {
		if content, err = sent.content(); err != nil {
			return err
		}
	}
	c, err := p.service.Create(q.Context(), q.user, api.NewConversation{
		Preset: preset, Content: content, Dir: own("dir"), Model: own("model"), Mode: own("mode"), Shared: sent.Get("shared") != "",
	})
	if err != nil {
		return err
	}
	return p.done(q, "/c/"+url.PathEscape(c.ID), "")
}

// to returns the path of a request's conversation.
func (q *request) to() string { return "/c/" + url.PathEscape(q.PathValue("id")) }

func (p *page) prompt(q *request, sent *promptForm) error {
	delivery := api.Delivery(sent.Get("delivery"))
	if delivery != "" && delivery != api.DeliveryQueue && delivery != api.DeliverySteer {
		return bad("The form names no way to deliver the prompt. Load the page again.")
	}
	content, err := sent.content()
	if err != nil {
		return err
	}
	// The id comes from the form, so that a second tap does not send the prompt twice.
	if _, err := p.service.Send(q.Context(), q.user, q.PathValue("id"), api.NewPrompt{ID: sent.Get("id"), Content: content, Delivery: delivery}); err != nil {
		return err
	}
	if delivery == api.DeliverySteer {
		return p.done(q, q.to(), "steers")
	}
	return p.done(q, q.to(), "sent")
}

func (p *page) takeBack(q *request) error {
	if err := p.service.CancelPrompt(q.Context(), q.user, q.PathValue("id"), q.PostFormValue("prompt")); err != nil {
		return err
	}
	return p.done(q, q.to(), "back")
}

func (p *page) interrupt(q *request) error {
	if err := p.service.Interrupt(q.Context(), q.user, q.PathValue("id")); err != nil {
		return err
	}
	return p.done(q, q.to(), "interrupt")
}

// release declines the questions that hold the process of a conversation.
func (p *page) release(q *request) error {
	if err := p.service.Release(q.Context(), q.user, q.PathValue("id")); err != nil {
		return err
	}
	return p.done(q, local(q.PostFormValue("back"), q.to()), "release")
}

func (p *page) retry(q *request) error {
	if err := p.service.Retry(q.Context(), q.user, q.PathValue("id")); err != nil {
		return err
	}
	return p.done(q, q.to(), "retry")
}

// rewindView shows what restoring files to before a prompt would change.
type rewindView struct {
	api.Conversation
	api.Rewound
	Message string
	Prompt  string // its text
}

// rewind shows what restoring files would change, and restores them when the
// second form confirms it.
func (p *page) rewind(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	id := q.PathValue("id")
	ask := api.RewindRequest{Message: q.PostForm.Get("message"), DryRun: q.PostForm.Get("sure") == ""}
	c, err := p.service.Conversation(q.Context(), q.user, id)
	if err != nil {
		return err
	}
	done, err := p.service.Rewind(q.Context(), q.user, id, ask)
	if err != nil {
		return err
	}
	if !ask.DryRun {
		return p.done(q, q.to(), "rewind")
	}
	view := rewindView{Conversation: c, Rewound: done, Message: ask.Message}
	view.Title = line(c.Title)
	for i := range view.Files {
		view.Files[i] = line(view.Files[i])
	}
	if events, _, err := p.service.Log(q.Context(), q.user, id); err == nil {
		for _, it := range newTimeline(c.Dir, events).items {
			if it.Prompt == ask.Message {
				view.Prompt = show.Short(it.Text)
			}
		}
	}
	return p.render(q, frame{Title: "Restore files of " + view.Title, Screen: "rewind", Body: view})
}

// fork begins a conversation as a copy of this one.
func (p *page) fork(q *request) error {
	from, err := p.service.Conversation(q.Context(), q.user, q.PathValue("id"))
	if err != nil {
		return err
	}
	c, err := p.service.Create(q.Context(), q.user, api.NewConversation{
		Preset: from.Preset, Title: "Copy of " + from.Title, Dir: from.Dir, Fork: &api.ForkFrom{Conversation: from.ID},
	})
	if err != nil {
		return err
	}
	return p.done(q, "/c/"+url.PathEscape(c.ID), "")
}

// read notes how far the user has read. The script sends the form when the
// conversation is visible, and people without a script send it by hand. A GET
// changes nothing, since a link in a model's text can lead anywhere here.
func (p *page) read(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	seq, err := strconv.ParseInt(q.PostForm.Get("seq"), 10, 64)
	if err != nil || seq < 1 {
		return bad("The form does not say what was read. Load the page again.")
	}
	if err := p.service.MarkRead(q.Context(), q.user, q.PathValue("id"), api.ReadMark{Seq: seq}); err != nil {
		return err
	}
	return p.done(q, q.to(), "read")
}

// prewarm starts the agent ahead of a prompt. The script asks for it when the composer
// gets the focus; without one, the answer takes a moment longer. That also holds if
// another process runs the conversation, which does not concern people.
func (p *page) prewarm(q *request) error {
	err := p.service.Prewarm(q.Context(), q.user, q.PathValue("id"))
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Type == "/problems/leased" {
		err = nil
	}
	if err != nil {
		return err
	}
	return p.done(q, q.to(), "")
}

// remove deletes the conversation, if the form confirms it.
func (p *page) remove(q *request) error {
	if q.PostFormValue("sure") == "" {
		return bad("Nothing was deleted: confirm that everything may go.")
	}
	if err := p.service.Delete(q.Context(), q.user, q.PathValue("id")); err != nil {
		return err
	}
	return p.done(q, "/h", "deleted")
}

// choose sets the values that the form has: title, model, mode, archived, shared.
func (p *page) choose(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	var change api.Change
	if q.PostForm.Has("title") {
		title := strings.TrimSpace(q.PostForm.Get("title"))
		change.Title = &title
	}
	if q.PostForm.Has("model") {
		model := q.PostForm.Get("model")
		change.Model = &model
	}
	if q.PostForm.Has("mode") {
		mode := q.PostForm.Get("mode")
		change.Mode = &mode
	}
	for name, to := range map[string]**bool{"archived": &change.Archived, "shared": &change.Shared} {
		if q.PostForm.Has(name) {
			value := q.PostForm.Get(name) == "yes"
			*to = &value
		}
	}
	if _, err := p.service.Change(q.Context(), q.user, q.PathValue("id"), change, ""); err != nil {
		return err
	}
	return p.done(q, q.to(), "chosen")
}

type loginView struct {
	To     string
	Failed string
	// Provider is the name of the login provider, empty if there is none.
	Provider string
	// Change asks whether to replace the user who is logged in. Nil: no user is.
	Change *userChange
}

// userChange describes a login in a browser in which another user is logged in.
type userChange struct {
	From  string
	To    api.User
	Token string // sent again if the user confirms
}

// askLogin shows the login instead of the requested screen.
func (p *page) askLogin(w http.ResponseWriter, r *http.Request) {
	to := "/"
	if r.Method == http.MethodGet {
		to = local(r.URL.RequestURI(), "/")
	}
	p.loginScreen(w, http.StatusUnauthorized, loginView{To: to})
}

func (p *page) showLogin(w http.ResponseWriter, r *http.Request) {
	p.loginScreen(w, http.StatusOK, loginView{To: local(r.URL.Query().Get("to"), "/")})
}

func (p *page) loginScreen(w http.ResponseWriter, status int, view loginView) {
	view.Provider = line(p.service.ProviderName())
	if p.write(w, status, frame{Title: "Log in", Screen: "login", Now: time.Now().UTC(), Body: view}) != nil {
		http.Error(w, "Something went wrong in the server", http.StatusInternalServerError)
	}
}

func (p *page) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	to := local(r.PostFormValue("to"), "/")
	token := strings.TrimSpace(r.PostFormValue("token"))
	if _, pasted, ok := strings.Cut(token, "#t="); ok { // the whole link
		token = pasted
	}
	// Login fixation: an attacker can send a link that logs people in as the attacker,
	// and then read along.
	if now, ok := serve.UserOf(r.Context()); ok && r.PostFormValue("sure") == "" {
		if next, err := p.service.LoginUser(r.Context(), token); err == nil && next.Name != now.Name {
			p.loginScreen(w, http.StatusOK, loginView{To: to, Change: &userChange{line(now.Name), next, token}})
			return
		}
	}
	if err := p.service.Login(w, r, token); err != nil {
		p.loginFailed(w, to, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// loginFailed says why a login did not work, and offers another.
func (p *page) loginFailed(w http.ResponseWriter, to string, err error) {
	view, status := loginView{To: to, Failed: "That did not work."}, http.StatusUnauthorized
	if problem, ok := asProblem(err); ok {
		view.Failed, status = problem.Title+". "+problem.Detail, problem.Status
	}
	p.loginScreen(w, status, view)
}

// beginLogin sends the browser to the login provider. It is a link, not a form: the
// content security policy lets forms lead nowhere else.
func (p *page) beginLogin(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to") // checked when it is used
	w.Header().Set("Cache-Control", "no-store")
	address, err := p.service.BeginLogin(w, r, to)
	if err != nil {
		p.loginFailed(w, to, err)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// finishLogin takes the browser back from the login provider.
func (p *page) finishLogin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	to, err := p.service.FinishLogin(w, r)
	to = local(to, "/")
	if err != nil {
		p.loginFailed(w, to, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (p *page) logout(w http.ResponseWriter, r *http.Request) {
	if err := p.service.Logout(w, r); err != nil {
		http.Error(w, "The logout failed. Try again.", http.StatusInternalServerError)
		return
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
