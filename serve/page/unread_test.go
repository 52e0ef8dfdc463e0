package page_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// readForm is the form with which a user without a script marks a conversation as
// read.
var readForm = regexp.MustCompile(`action="(/c/[^"]+/read)"><input type="hidden" name="seq" value="(\d+)">`)

// Conversations with news are marked in the lists, in words, for each user, until the
// user marks them as read. Looking alone changes nothing.
func TestUnread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.client(api.User{Name: "bob", Role: api.RoleViewer})
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	marked := func(c *http.Client) bool {
		t.Helper()
		_, inbox := get(t, c, r.http.URL+"/")
		_, list := get(t, c, r.http.URL+"/h")
		const mark = `<span class="fresh">New</span> hello`
		if got := strings.Contains(inbox, mark); got != strings.Contains(list, mark) || got != strings.Contains(inbox, "New since you looked") {
			t.Errorf("the inbox says %v, and the list does not", got)
		}
		return strings.Contains(list, mark)
	}
	mark := func(seq string) int {
		t.Helper()
		reply, err := c.PostForm(r.http.URL+path+"/read", url.Values{"seq": {seq}})
		if err != nil {
			t.Fatal(err)
		}
		status, body := read(t, reply)
		if status == http.StatusOK && !strings.Contains(body, "Marked as read.") {
			t.Error("the page does not say that it is read")
		}
		return status
	}
	get(t, c, r.http.URL+path)
	if !marked(c) || !marked(bob) {
		t.Error("what nobody has read is not marked")
	}
	_, conversation := get(t, c, r.http.URL+path)
	form := readForm.FindStringSubmatch(conversation)
	if form == nil || form[1] != path+"/read" {
		t.Fatalf("the conversation has no form for what was read: %q", form)
	}
	for _, seq := range []string{"", "x", "-1", "0"} {
		if status := mark(seq); status != http.StatusBadRequest {
			t.Errorf("seq %q: %d", seq, status)
		}
	}
	if status := mark(form[2]); status != http.StatusOK || marked(c) || !marked(bob) {
		t.Errorf("%d: ada has read it, and bob has not", status)
	}
	if _, conversation = get(t, c, r.http.URL+path); readForm.MatchString(conversation) {
		t.Error("what was read can be read again")
	}
	again := "hello again"
	if _, err := r.server.Service().Change(t.Context(), api.User{Name: "ada", Role: api.RoleAdmin}, strings.TrimPrefix(path, "/c/"), api.Change{Title: &again}, ""); err != nil {
		t.Fatal(err)
	}
	if !marked(c) {
		t.Error("something happened, and it is not marked")
	}
}

// The form marks what its page has shown: later events stay unread, and the next page
// has a form for them.
func TestReadIsWhatWasShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	_, before := get(t, c, r.http.URL+path)
	shown := readForm.FindStringSubmatch(before)
	if shown == nil {
		t.Fatal("the page has no form for what was read")
	}
	id, title := strings.TrimPrefix(path, "/c/"), "something new"
	if _, err := r.server.Service().Change(t.Context(), ada, id, api.Change{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	reply, err := c.PostForm(r.http.URL+shown[1], url.Values{"seq": {shown[2]}})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := read(t, reply); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if own, err := r.server.Service().Conversation(t.Context(), ada, id); err != nil || !own.Unread {
		t.Errorf("what came after the page counts as read: %+v, %v", own, err)
	}
	_, after := get(t, c, r.http.URL+path)
	if next := readForm.FindStringSubmatch(after); next == nil || next[2] == shown[2] {
		t.Errorf("the next page has the form %q after %q", next, shown)
	}
}
