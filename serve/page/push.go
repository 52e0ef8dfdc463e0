package page

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/claude-agent-go/claude/serve"
)

// subscribe takes the subscription of a browser, which its script sends.
func (p *page) subscribe(q *request) error {
	if err := q.ParseForm(); err != nil {
		return err
	}
	t := serve.PushTarget{Endpoint: q.PostForm.Get("endpoint")}
	for name, value := range map[string]*[]byte{"p256dh": &t.Key, "auth": &t.Auth} {
		data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(q.PostForm.Get(name), "="))
		if err != nil {
			return bad("The form has no subscription of a browser. Load the page again.")
		}
		*value = data
	}
	if err := p.service.Subscribe(q.Context(), q.user, t); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// unsubscribe ends the subscription of a browser.
func (p *page) unsubscribe(q *request) error {
	if err := p.service.Unsubscribe(q.Context(), q.user); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
