package page

import (
	"net/http"

	"github.com/claude-agent-go/claude/serve/api"
)

// maxSide is how many conversations the sidebar shows.
const maxSide = 40

// sideView is the list of conversations beside a wide screen.
type sideView struct {
	Items []api.Conversation
	More  bool
}

// sidebar returns the conversations beside the one that is shown, those that wait for a
// person first. The screens fetch it on their own, if they are wide enough: the list of
// all conversations costs more than one of them, which is loaded after each message.
func (p *page) sidebar(q *request) error {
	var view sideView
	var err error
	if view.Items, view.More, err = p.service.Beside(q.Context(), q.user, q.FormValue("shown"), maxSide); err != nil {
		return err
	}
	return p.write(q.w, http.StatusOK, frame{Title: "Conversations", Screen: "sidebar", User: q.user, Body: view})
}
