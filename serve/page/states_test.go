package page_test

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// post sends a form and returns the screen that follows.
func post(t *testing.T, c *http.Client, address string, form url.Values) (int, string) {
	t.Helper()
	reply, err := c.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, reply)
}

// A conversation is ended and reopened without a script. In between it takes no
// prompts, and the page shows that.
func TestEndWithForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	const composer, end, reopen = `action="/prompt"`, `name="archived" value="yes"`, `name="archived" value="no"`
	shows := func(body, what string, want bool) {
		t.Helper()
		if strings.Contains(strings.ReplaceAll(body, path, ""), what) != want {
			t.Errorf("the page has %s: %v, want %v", what, !want, want)
		}
	}
	_, body := get(t, c, r.http.URL+path)
	shows(body, composer, true)
	shows(body, end, true)
	shows(body, reopen, false)
	status, body := post(t, c, r.http.URL+path+"/choose", url.Values{"archived": {"yes"}})
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	shows(body, composer, false)
	shows(body, end, false)
	shows(body, reopen, true)
	shows(body, `class="state ended"`, true)
	if _, body := get(t, r.client(api.User{Name: "eve", Role: api.RoleApprover}), r.http.URL+path); strings.Contains(body, reopen) {
		t.Error("an approver is offered to reopen it")
	}
	if status, body := post(t, c, r.http.URL+path+"/prompt", url.Values{"prompt": {"more"}}); status != http.StatusConflict || !strings.Contains(body, "The conversation has ended") {
		t.Errorf("a prompt ends with %d: %s", status, body)
	}
	if _, list := get(t, c, r.http.URL+"/h"); strings.Contains(list, path) {
		t.Error("the list shows it")
	}
	if _, list := get(t, c, r.http.URL+"/h?state=ended"); !strings.Contains(list, path) {
		t.Error("the list of those that have ended does not show it")
	}
	_, body = post(t, c, r.http.URL+path+"/choose", url.Values{"archived": {"no"}})
	shows(body, composer, true)
	shows(body, reopen, false)
}

// A conversation with a pending approval is not ended: the page does not offer
// it, and an older form is answered with the reason.
func TestEndWhileAtWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "Which database?")
	r.pending(1)
	if _, body := get(t, c, r.http.URL+path); strings.Contains(body, `name="archived" value="yes"`) {
		t.Error("the page offers to end it")
	}
	status, body := post(t, c, r.http.URL+path+"/choose", url.Values{"archived": {"yes"}})
	if status != http.StatusConflict || !strings.Contains(body, "The conversation is at work") || !strings.Contains(body, "interrupt it") {
		t.Errorf("status %d: %s", status, body)
	}
	if _, body := get(t, c, r.http.URL+path); strings.Contains(body, `class="state ended"`) {
		t.Error("it has ended")
	}
}

// Without a CLI the page explains what to do, and offers to try again.
func TestCLIMissingOnPage(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "claude")
	r := newRig(t, func(o *fleet.Options) {
		usual := o.Session
		o.Attempts = 1
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			o, err := usual(ctx, key)
			if err == nil {
				o.Transport, o.CLIPath = nil, nowhere
			}
			return o, err
		}
	})
	path := r.begin("shop-api", "hello")
	events, err := r.server.Service().Follow(t.Context(), ada, strings.TrimPrefix(path, "/c/"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if e.Prompt != nil && e.Prompt.State == "stuck" {
			break
		}
	}
	_, body := get(t, r.client(ada), r.http.URL+path)
	for _, want := range []string{"<h2>The CLI is not installed on the server</h2>", "npm install -g @anthropic-ai/claude-code, then retry.", "Try again"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(body, nowhere) {
		t.Error("the page shows where the server looks for programs")
	}
}
