package serve_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

func (e *editor) fork(t *testing.T, id schema.SessionID, dir string) (schema.SessionID, error) {
	t.Helper()
	var resp schema.NewSessionResponse
	err := e.Call(t.Context(), "session/fork", schema.ResumeSessionRequest{SessionID: id, Cwd: dir}, &resp)
	return resp.SessionID, err
}

// An editor copies a conversation of a server. The copy knows what was said, shows only
// what is new, and can be copied again; the original stays as it is. Another user copies
// what is shared.
func TestRemoteForks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
	page := r.remote("ada", api.RoleOperator, nil)
	ada := newEditor(t, &acp.Remote{Server: page})
	id := ada.New(t, root)
	if _, err := ada.fork(t, id, root); err == nil || !strings.Contains(err.Error(), "nothing was said") {
		t.Errorf("a copy of nothing: %v", err)
	}
	<-ada.begin(t, id, "hello")
	from := id
	for _, text := range []string{"and then", "and again"} {
		copied, err := ada.fork(t, from, root)
		if err != nil || copied == from {
			t.Fatalf("the copy %s of %s: %v", copied, from, err)
		}
		if got := <-ada.begin(t, copied, text); got != schema.StopReasonEndTurn || ada.Text(copied) != "You said: "+text {
			t.Errorf("the copy ended %s after %q", got, ada.Text(copied))
		}
		for _, up := range ada.Updates(copied) {
			if up.UserMessageChunk != nil {
				t.Errorf("the copy showed the prompt %+v", up.UserMessageChunk)
			}
		}
		if own := must[api.Conversation](t)(page.Conversation(t.Context(), string(copied))); own.ForkOf != string(from) || own.Dir != root {
			t.Errorf("the copy is %+v", own)
		}
		from = copied
	}
	again := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	again.load(t, from, root)
	if text := again.Text(from); text != "You said: helloYou said: and thenYou said: and again" {
		t.Errorf("the last copy has %q", text)
	}
	if ada.Text(id) != "You said: hello" {
		t.Errorf("the original has %q", ada.Text(id))
	}

	bob := newEditor(t, &acp.Remote{Server: r.remote("bob", api.RoleOperator, nil)})
	if _, err := bob.fork(t, id, root); err == nil || !strings.Contains(err.Error(), "session/list") {
		t.Errorf("a copy of what bob does not see: %v", err)
	}
	must[api.Conversation](t)(page.Change(t.Context(), string(id), api.Change{Shared: new(true)}))
	copied, err := bob.fork(t, id, root)
	if err != nil {
		t.Fatal(err)
	}
	if own := must[api.Conversation](t)(r.remote("bob", api.RoleOperator, nil).Conversation(t.Context(), string(copied))); own.Owner != "bob" || own.Shared {
		t.Errorf("bob's copy is %+v", own)
	}
}
