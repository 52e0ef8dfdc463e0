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

// sidebar returns the newest conversations, those that wait for a person first. The
// screens fetch it on their own, if they are wide enough: the list of all conversations
// costs more than one of them, which is loaded after each message.
func (p *page) sidebar(q *request) error {
	list, err := p.service.Conversations(q.Context(), q.user, api.ConversationQuery{Limit: maxSide})
	if err != nil {
		return err
	}
	return p.write(q.w, http.StatusOK, frame{Title: "Conversations", Screen: "sidebar", User: q.user, Body: sideOf(list.Items, list.Next != "")})
}

// sideOf sorts conversations for the sidebar.
func sideOf(all []api.Conversation, more bool) sideView {
	v := sideView{More: more}
	for _, waits := range []bool{true, false} {
		for _, c := range all {
			if (c.Pending > 0) == waits {
				v.Items = append(v.Items, c)
			}
		}
	}
	return v
}
