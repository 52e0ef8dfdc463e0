package page

import (
	"net/url"

	"github.com/claude-agent-go/claude/serve/api"
)

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
