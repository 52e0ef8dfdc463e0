package client_test

import (
	"net/http"
	"testing"

	"github.com/claude-agent-go/claude/serve/client"
)

// A client follows no redirects, and the http.Client that it was given, or the default
// one, does so as before.
func TestHTTPClientIsNotChanged(t *testing.T) {
	own := &http.Client{}
	for _, given := range []*http.Client{own, nil} {
		if _, err := client.New(client.Options{URL: "https://agents.example.com", Token: "t", HTTP: given}); err != nil {
			t.Fatal(err)
		}
	}
	if own.CheckRedirect != nil || http.DefaultClient.CheckRedirect != nil {
		t.Errorf("the given one is %+v, the default one %+v", own, http.DefaultClient)
	}
}
