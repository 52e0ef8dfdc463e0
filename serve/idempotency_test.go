package serve_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// kept is the part of a kept answer that the tests check.
type kept struct {
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
}

// answers returns the answers that are kept.
func answers(t *testing.T, db store.Records) (all []kept) {
	t.Helper()
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "serve-once"}, "") {
		var k kept
		if err == nil {
			err = json.Unmarshal(r.Value, &k)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

// Kept answers show nothing of a conversation once it is deleted. A repeated request
// learns that, and begins nothing.
func TestAnswersOfDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	keep := ada.begin("hello")
	other := "/v1/conversations/" + keep.ID + "/prompts"
	first := ada.do("POST", other, `{"content":"stays"}`, "Idempotency-Key", "other")
	want[api.Prompt](ada, first, http.StatusAccepted)

	begin := api.NewConversation{Preset: "shop", Content: api.Text("tool 1")}
	id := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", begin, "Idempotency-Key", "begin"), http.StatusCreated).ID
	asked := ada.pending(1)[0]
	decision := api.Decision{Decision: "allow", Digest: asked.Digest}
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", decision, "Idempotency-Key", "decide"), http.StatusOK)
	at := "/v1/conversations/" + id
	ada.follow(at+"/events", untilTurns(1))
	want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"and then"}`, "Idempotency-Key", "send"), http.StatusAccepted)
	ada.follow(at+"/events", untilTurns(2))
	shown := func() (n int) {
		for _, k := range answers(t, r.db) {
			if len(k.Body) > 0 || len(k.Header) > 0 {
				n++
			}
		}
		return n
	}
	if n := shown(); n != 4 {
		t.Fatalf("%d answers are kept", n)
	}
	if got := ada.do("DELETE", at, nil); got.status != http.StatusNoContent {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if n := shown(); n != 1 {
		t.Errorf("%d answers are kept, want that of the other conversation", n)
	}
	want[api.Problem](ada, ada.do("POST", "/v1/conversations", begin, "Idempotency-Key", "begin"), http.StatusNotFound)
	want[api.Problem](ada, ada.do("POST", at+"/prompts", `{"content":"and then"}`, "Idempotency-Key", "send"), http.StatusNotFound)
	want[api.Problem](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", decision, "Idempotency-Key", "decide"), http.StatusNotFound)
	if again := ada.do("POST", other, `{"content":"stays"}`, "Idempotency-Key", "other"); string(again.body) != string(first.body) {
		t.Errorf("the answer about another conversation is %d %s", again.status, again.body)
	}
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations"); len(list.Items) != 1 {
		t.Errorf("%d conversations", len(list.Items))
	}
}

// A server that runs for long forgets answers when they are a day old.
func TestAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		newService(t, db, root, func(o *fleet.Options) { o.Poll, o.TTL = time.Hour, time.Hour }, nil)
		now, err := db.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		value, err := json.Marshal(map[string]any{"request": "r", "at": now.Add(-22 * time.Hour), "status": 200})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), db, store.RecordKey{Project: "p", Kind: "serve-once", Name: "k"}, value, 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if n := len(answers(t, db)); n != 1 {
			t.Errorf("%d answers are kept before a day has passed", n)
		}
		<-time.After(3 * time.Hour)
		if n := len(answers(t, db)); n != 0 {
			t.Errorf("%d answers are kept after a day", n)
		}
	})
}
