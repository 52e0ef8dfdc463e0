package page

import (
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// maxSide is how many conversations the sidebar shows.
const maxSide = 40

// sideView is the list of conversations beside a wide screen.
type sideView struct {
	Items []api.Conversation
	More  bool
	Shown string // the conversation beside them: its reader is looking at what is new there
}

// besides returns the frame with the conversations beside the one that is shown, those
// that wait for a person first. The screens fetch it on their own, if they are wide
// enough: the list of all conversations costs more than one of them, which is loaded after
// each message.
func besides(service *serve.Service, q *request) (frame, error) {
	view := sideView{Shown: q.FormValue("shown")}
	var err error
	view.Items, view.More, err = service.Beside(q.Context(), q.user, view.Shown, maxSide)
	return frame{Title: "Conversations", Screen: "sidebar", User: q.user, Body: view}, err
}
