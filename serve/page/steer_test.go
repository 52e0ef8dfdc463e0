package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// While a turn runs, a second button sends the prompt to it: before those that
// wait, and without a script. At other times the button is not shown.
func TestSteerWithForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	const button = `name="delivery" value="steer"`
	idle := r.begin("shop-api", "hello")
	r.settled(idle)
	if _, body := get(t, c, r.http.URL+idle); strings.Contains(body, button) {
		t.Error("a turn can be steered, and none runs")
	}
	path := r.begin("shop-api", "Clean up")
	asked := r.pending(1)[0]
	if _, body := get(t, c, r.http.URL+path); !strings.Contains(body, button) {
		t.Error("the page has no button to steer the turn")
	}
	const waits, steers = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	for id, delivery := range map[string]string{waits: "", steers: "steer", "33333333-3333-4333-8333-333333333333": "push"} {
		reply, err := c.PostForm(r.http.URL+path+"/prompt", url.Values{"prompt": {"hello"}, "id": {id}, "delivery": {delivery}})
		if err != nil {
			t.Fatal(err)
		}
		status, body := read(t, reply)
		if delivery == "push" && status != http.StatusBadRequest || delivery == "steer" && !strings.Contains(body, "Sent to the running turn.") {
			t.Errorf("%q: status %d, %s", delivery, status, body)
		}
	}
	if _, err := r.server.Service().Decide(t.Context(), ada, asked.ID, api.Decision{Decision: "allow", Digest: asked.Digest}); err != nil {
		t.Fatal(err)
	}
	events, err := r.server.Service().Follow(t.Context(), ada, strings.TrimPrefix(path, "/c/"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if e.Type == api.EventTurn && e.Turn.Prompt == waits {
			t.Error("the prompt that waits has ended before the one that steers")
		}
		if e.Type == api.EventTurn && e.Turn.Prompt == steers {
			break
		}
	}
}
