package page_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// A conversation is renamed and deleted on its own page, without a script, by users
// who may. Nothing is deleted by mistake.
func TestRenameAndDelete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	const rename, remove = `name="title" value="hello"`, `/delete"`
	if _, body := get(t, c, r.http.URL+path); !strings.Contains(body, rename) || !strings.Contains(body, remove) {
		t.Error("the owner is offered neither")
	}
	for role, want := range map[api.Role][2]bool{api.RoleOperator: {true, false}, api.RoleApprover: {false, false}, api.RoleViewer: {false, false}} {
		_, body := get(t, r.client(api.User{Name: "eve", Role: role}), r.http.URL+path)
		if got := [2]bool{strings.Contains(body, rename), strings.Contains(body, remove)}; got != want {
			t.Errorf("%s is offered %v, want %v", role, got, want)
		}
	}
	status, body := post(t, c, r.http.URL+path+"/choose", url.Values{"title": {"  A better <b>title</b> "}})
	if status != http.StatusOK || !strings.Contains(body, ">A better &lt;b&gt;title&lt;/b&gt;</h1>") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, _ := post(t, c, r.http.URL+path+"/choose", url.Values{"title": {" "}}); status != http.StatusBadRequest {
		t.Errorf("an empty title: %d", status)
	}
	if status, _ := post(t, c, r.http.URL+path+"/delete", nil); status != http.StatusBadRequest {
		t.Errorf("without the box: %d", status)
	}
	if status, _ := post(t, r.client(api.User{Name: "eve", Role: api.RoleOperator}), r.http.URL+path+"/delete", url.Values{"sure": {"1"}}); status != http.StatusForbidden {
		t.Errorf("by somebody else: %d", status)
	}
	if status, _ := get(t, c, r.http.URL+path); status != http.StatusOK {
		t.Fatalf("it is gone: %d", status)
	}
	if status, body := post(t, c, r.http.URL+path+"/delete", url.Values{"sure": {"1"}}); status != http.StatusOK || !strings.Contains(body, "The conversation is deleted.") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, _ := get(t, c, r.http.URL+path); status != http.StatusNotFound {
		t.Errorf("it is still there: %d", status)
	}
}

// A new conversation has the model, the mode and the directory that were chosen for its
// preset, and none that were chosen for another.
func TestNewWithChoices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	sub := filepath.Join(r.dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	_, body := get(t, c, r.http.URL+"/new")
	for _, want := range []string{`name="model docs"`, `name="mode docs"`, `name="dir docs"`, `name="mode shop-api"`, `<option value="" selected>Default (Ask before acting)</option>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	form := url.Values{"preset": {"docs"}, "prompt": {"hello"}, "model docs": {"opus"}, "mode docs": {"plan"}, "dir docs": {" " + sub + " "}, "model shop-api": {"claude-opus-4-5"}, "dir shop-api": {"/"}}
	if status, body := post(t, c, r.http.URL+"/new", form); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	list, err := r.server.Service().Conversations(t.Context(), ada, api.ConversationQuery{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := list.Items[0]; got.Model != "opus" || got.Mode != "plan" || filepath.Base(got.Dir) != "sub" {
		t.Errorf("%q %q %q", got.Model, got.Mode, got.Dir)
	}
	form.Set("dir docs", "/")
	if status, _ := post(t, c, r.http.URL+"/new", form); status != http.StatusUnprocessableEntity {
		t.Errorf("a directory elsewhere: %d", status)
	}
	form.Set("dir docs", "")
	form.Set("mode docs", "bypassPermissions")
	if status, _ := post(t, c, r.http.URL+"/new", form); status != http.StatusUnprocessableEntity {
		t.Errorf("a mode that is not offered: %d", status)
	}
}
