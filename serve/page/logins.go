package page

import (
	"net/http"

	"github.com/claude-agent-go/claude/serve/api"
)

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
	return p.render(q, http.StatusOK, frame{Title: "Logins", Screen: "logins", Body: view})
}

// endLogin logs a browser out.
func (p *page) endLogin(q *request) error {
	if err := p.service.EndLogin(q.Context(), q.user, q.PathValue("id")); err != nil {
		return err
	}
	return p.done(q, "/logins", "logout")
}
