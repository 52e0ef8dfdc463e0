package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Each user has a mark of their own. It survives a restart, does not move back,
// and does not go beyond what there is.
func TestUnread(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	ada, eve := r.as("ada", api.RoleOperator), r.as("eve", api.RoleViewer)
	conversation := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Shared: true}), http.StatusCreated)
	path := "/v1/conversations/" + conversation.ID
	if conversation.Unread {
		t.Error("an empty conversation is unread")
	}
	retitle := func(title string) int64 {
		return want[api.Conversation](ada, ada.do("PATCH", path, `{"title":"`+title+`"}`), http.StatusOK).LastSeq
	}
	unread := func(c *client) bool {
		c.t.Helper()
		one, list := get[api.Conversation](c, path), get[api.List[api.Conversation]](c, "/v1/conversations")
		if one.Unread != list.Items[0].Unread {
			t.Errorf("the conversation says %v, the list %v", one.Unread, list.Items[0].Unread)
		}
		return one.Unread
	}
	mark := func(c *client, body string) {
		c.t.Helper()
		if got := c.do("POST", path+"/read", body); got.status != http.StatusNoContent {
			t.Errorf("%s: status %d, %s", body, got.status, got.body)
		}
	}
	first, second := retitle("one"), retitle("two")
	if !unread(ada) || !unread(eve) {
		t.Error("what nobody has read is not unread")
	}
	mark(ada, fmt.Sprintf(`{"seq":%d}`, first))
	if !unread(ada) {
		t.Error("half of it is read, and it is not unread")
	}
	mark(ada, fmt.Sprintf(`{"seq":%d}`, second))
	if unread(ada) || !unread(eve) {
		t.Error("ada has read it, and eve has not")
	}
	mark(ada, `{"seq":1}`)
	if unread(ada) {
		t.Error("the mark moved back")
	}
	mark(eve, `{"seq":9999}`)
	retitle("three")
	if !unread(eve) {
		t.Error("the mark is beyond what there was")
	}
	mark(eve, `{}`)
	r.close()
	r = newRig(t, db, nil)
	if ada, eve = r.as("ada", api.RoleOperator), r.as("eve", api.RoleViewer); unread(eve) || !unread(ada) {
		t.Error("the marks are other ones after a restart")
	}
}
