package serve_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Messages that are too old to be kept in memory can be read page by page, in
// both directions, and a restart does not take them for new ones.
func TestOldMessages(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("one")
	path := "/v1/conversations/" + conversation.ID
	want[api.Prompt](ada, ada.do("POST", path+"/prompts", `{"content":"two"}`), http.StatusAccepted)
	ada.follow(path+"/events?after=0", func(sse) bool {
		list := get[api.List[api.Message]](ada, path+"/messages")
		return len(list.Items) == 4 && get[api.Conversation](ada, path).Queued == 0
	})
	all := get[api.List[api.Message]](ada, path+"/messages").Items
	r.close()
	makeSegments(t, db, conversation.ID, 100)

	r = newRig(t, db, nil)
	ada = r.as("ada", api.RoleOperator)
	same := func(what string, got []api.Message, want []api.Message) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d messages, want %d", what, len(got), len(want))
		}
		for i := range got {
			if got[i].Seq != want[i].Seq || string(got[i].Message) != string(want[i].Message) {
				t.Errorf("%s: %d is %d %s, want %d %s", what, i, got[i].Seq, got[i].Message, want[i].Seq, want[i].Message)
			}
		}
	}
	whole := get[api.List[api.Message]](ada, path+"/messages")
	same("all", whole.Items, all)
	if whole.Next != "" {
		t.Errorf("there is more after %s", whole.Next)
	}
	var back, on []api.Message
	for page := path + "/messages?limit=1"; ; {
		list := get[api.List[api.Message]](ada, page)
		back = append(list.Items, back...)
		if list.Next == "" {
			break
		}
		page = path + "/messages?limit=1&before=" + list.Next
	}
	same("backward", back, all)
	on = append(on, all[0])
	for page := path + "/messages?limit=2&after=" + strconv.FormatInt(all[0].Seq, 10); ; {
		list := get[api.List[api.Message]](ada, page)
		on = append(on, list.Items...)
		if list.Next == "" {
			break
		}
		page = path + "/messages?limit=2&after=" + list.Next
	}
	same("forward", on, all)
}

// A prompt that is sent again after its events are too old to be kept in memory is
// known: it is not another turn, and costs nothing more.
func TestOldPromptSentAgain(t *testing.T) {
	t.Parallel()
	db, root := store.Memory(), t.TempDir()
	r := newRigIn(t, db, root, nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("one")
	path := "/v1/conversations/" + conversation.ID
	const id = "11111111-1111-4111-8111-111111111111"
	send := func(id string) api.Prompt {
		return want[api.Prompt](ada, ada.do("POST", path+"/prompts", `{"id":"`+id+`","content":"two"}`), http.StatusAccepted)
	}
	send(id)
	ada.follow(path+"/events?after=0", untilTurns(2))
	r.close()
	makeSegments(t, db, conversation.ID, 100)

	r = newRigIn(t, db, root, nil)
	ada = r.as("ada", api.RoleOperator)
	last := get[api.Conversation](ada, path).LastSeq
	if p := send(id); p.ID != id || p.State != "answered" || p.Text != "two" {
		t.Errorf("%+v", p)
	}
	if seq := get[api.Conversation](ada, path).LastSeq; seq != last {
		t.Errorf("the log has grown from %d to %d", last, seq)
	}
	send("22222222-2222-4222-8222-222222222222")
	ada.follow(path+"/events?after="+strconv.FormatInt(last, 10), untilTurns(1))
	if usage := get[api.Usage](ada, "/v1/usage"); usage.Total.Turns != 3 {
		t.Errorf("%d turns were counted", usage.Total.Turns)
	}
}
