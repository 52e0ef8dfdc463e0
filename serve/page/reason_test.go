package page_test

import (
	"strings"
	"testing"
)

// A call shows why a person is asked about it. A question and a form ask by themselves:
// no rule led to them, and their words are shown once.
func TestWhyOfCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	r.begin("shop-api", "Fix the rounding")
	r.begin("shop-api", "Which database?")
	r.pending(2)
	form := r.elicit(path, `{"mcp_server_name":"crm","message":"Who are you?","mode":"form","requested_schema":{"type":"object","properties":{"name":{"type":"string"}}}}`)
	if form.Reason == "" {
		t.Fatal("the form has no reason in the API")
	}
	_, inbox := get(t, c, r.http.URL+"/")
	for text, want := range map[string]int{"Why you are asked: no rule of the preset allows it": 1, "Why you are asked": 1, "Who are you?": 1, "Which database should the tests use?": 1} {
		if got := strings.Count(inbox, text); got != want {
			t.Errorf("the inbox has %q %d times, want %d", text, got, want)
		}
	}
}
