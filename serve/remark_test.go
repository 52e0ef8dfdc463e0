package serve_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// What the program says about a conversation is in its timeline, as nobody's doing. A
// conversation that does not exist has no timeline.
func TestRemark(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop"}`), http.StatusCreated)
	const text = "A command did not reach <b>example.com:443</b>."
	if err := r.server.Remark(t.Context(), strings.ReplaceAll(conversation.ID, "~", "/"), text); err != nil {
		t.Fatal(err)
	}
	var said api.Event
	ada.follow("/v1/conversations/"+conversation.ID+"/events?after=0", func(e sse) bool {
		if e.event == "notice" {
			if err := json.Unmarshal([]byte(e.data), &said); err != nil {
				t.Error(err)
			}
		}
		return e.event == "notice"
	})
	if n := said.Notice; n == nil || n.Text != text || n.User != "" || n.Address != "" {
		t.Errorf("the timeline has %+v", n)
	}
	if err := r.server.Remark(t.Context(), "ada/nothing", text); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a conversation that does not exist: %v", err)
	}
}
