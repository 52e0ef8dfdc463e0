package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// cutOff is a store that does not take some records, as if the program died before
// it could write them.
type cutOff struct {
	store.Fleet
	mu   sync.Mutex
	when func(k store.RecordKey, value []byte) bool // nil: never
}

func (c *cutOff) set(when func(store.RecordKey, []byte) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.when = when
}

// refuses asks when, one caller after the other: what it remembers needs no lock.
func (c *cutOff) refuses(k store.RecordKey, value []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.when != nil && c.when(k, value)
}

func (c *cutOff) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	if one := changes[0]; !one.Drop && c.refuses(one.Key, one.Value) {
		return nil, errors.New("the program is dead")
	}
	return c.Fleet.Change(ctx, f, changes...)
}

// halfway starts a server whose records can be cut off.
func halfway(t *testing.T) (*rig, *cutOff, *client) {
	t.Helper()
	db := &cutOff{Fleet: store.Memory()}
	r := newRig(t, db, nil)
	return r, db, r.as("ada", api.RoleOperator)
}

// again starts the server again, with a store that takes everything.
func (r *rig) again(db *cutOff) {
	r.t.Helper()
	_ = r.server.Close()
	r.http.Close()
	db.set(nil)
	r.serveAgain()
}

// eventually waits until something holds.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("still not so: %s", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// A server that dies after the fleet has accepted a prompt, and before the log has it,
// records it at the next start: its cost is counted even if no reader opens the
// conversation.
func TestAcceptedAndNotLogged(t *testing.T) {
	t.Parallel()
	r, db, ada := halfway(t)
	own := ada.begin("one")
	ada.turnsOf(own.ID, 1)
	db.set(func(k store.RecordKey, value []byte) bool {
		text := string(value) // with the prompt as an event, not only as an attempt
		return k.Kind == "serve-log" && strings.Count(text, `"text":"two"`) > strings.Count(text, `"sender"`)
	})
	const id = "00000000-0000-4000-8000-000000000002"
	at := "/v1/conversations/" + own.ID
	if got := ada.do("POST", at+"/prompts", `{"id":"`+id+`","content":"two"}`); got.status < 500 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	r.awaitAnswered(own.ID, id)
	if usage := get[api.Usage](ada, "/v1/usage"); usage.Total.Turns != 1 {
		t.Fatalf("the log is not cut off: %+v", usage)
	}
	r.again(db)
	r.eventually("both turns are counted", func() bool { return get[api.Usage](ada, "/v1/usage").Total.Turns == 2 })
	turns := ada.turnsOf(own.ID, 2)
	if turns[1].Prompt != id || turns[1].State != "answered" {
		t.Errorf("%+v", turns)
	}
	ada.agrees(own.ID, turns, 2)
	if p := get[api.Prompt](ada, at+"/prompts/"+id); p.By != "ada" || p.Text != "two" {
		t.Errorf("%+v", p)
	}
}

// A prompt that the fleet has not accepted is not in the log.
func TestNotAcceptedAndNotLogged(t *testing.T) {
	t.Parallel()
	r, db, ada := halfway(t)
	own := ada.begin("one")
	ada.turnsOf(own.ID, 1)
	db.set(func(k store.RecordKey, _ []byte) bool { return k.Kind == "prompt" })
	at := "/v1/conversations/" + own.ID + "/prompts"
	if got := ada.do("POST", at, `{"content":"two"}`); got.status < 500 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	r.again(db)
	want[api.Prompt](ada, ada.do("POST", at, `{"content":"three"}`), http.StatusAccepted)
	for _, e := range ada.follow("/v1/conversations/"+own.ID+"/events?after=0", untilTurns(2)) {
		if strings.Contains(e.data, `"two"`) {
			t.Errorf("the log has %s", e.data)
		}
	}
}

// A conversation and its first prompt are accepted together. If the server dies in
// between, the next one removes what is left, but neither what a request may still
// finish nor a conversation that was meant to be empty.
func TestConversationWithoutItsPrompt(t *testing.T) {
	t.Parallel()
	r, db, ada := halfway(t)
	empty := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop"}`), http.StatusCreated)
	used := ada.begin("one")
	ada.turnsOf(used.ID, 1)
	db.set(func(k store.RecordKey, value []byte) bool { return k.Kind == "serve-log" || k.Kind == "prompt" })
	for range 2 {
		if got := ada.do("POST", "/v1/conversations", `{"preset":"shop","content":"two"}`); got.status < 500 {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	left := get[api.List[api.Conversation]](ada, "/v1/conversations").Items
	if len(left) != 4 {
		t.Fatalf("there are %+v", left)
	}
	old := left[0].ID
	db.age(t, old, empty.ID, used.ID)
	r.again(db)
	r.eventually("the old one is gone", func() bool {
		return ada.do("GET", "/v1/conversations/"+old, nil).status == http.StatusNotFound
	})
	for _, kept := range []string{empty.ID, used.ID, left[1].ID} {
		if got := ada.do("GET", "/v1/conversations/"+kept, nil); got.status != http.StatusOK {
			t.Errorf("%s: status %d: %s", kept, got.status, got.body)
		}
	}
}

// age makes conversations an hour older.
func (c *cutOff) age(t *testing.T, conversations ...string) {
	t.Helper()
	aged := 0
	for r, err := range c.Scan(t.Context(), store.Folder{Project: "p", Kind: "serve-conversation"}, "") {
		var n map[string]any
		if err == nil {
			err = json.Unmarshal(r.Value, &n)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range conversations {
			if n["key"] != strings.Replace(id, "~", "/", 1) {
				continue
			}
			n["created"] = time.Now().Add(-time.Hour).UTC()
			value, _ := json.Marshal(n)
			if _, err := store.Put(t.Context(), c.Fleet, r.Key, value, r.Revision, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			aged++
		}
	}
	if aged != len(conversations) {
		t.Fatalf("%d conversations are older now", aged)
	}
}

// A copy whose request was cut off before the server could note it is found when the
// request is repeated with its key. It is the same copy.
func TestForkAgain(t *testing.T) {
	t.Parallel()
	r, db, ada := halfway(t)
	own := ada.begin("one")
	ada.turnsOf(own.ID, 1)
	fork := api.NewConversation{Preset: "shop", Model: "sonnet", Fork: &api.ForkFrom{Conversation: own.ID}}
	db.set(func(k store.RecordKey, _ []byte) bool { return k.Kind == "serve-conversation" })
	if got := ada.do("POST", "/v1/conversations", fork, "Idempotency-Key", "copy"); got.status < 500 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	r.again(db)
	made := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", fork, "Idempotency-Key", "copy"), http.StatusCreated)
	if made.ForkOf != own.ID || made.Model != "sonnet" {
		t.Errorf("%+v", made)
	}
	r.eventually("the copy has the answer", func() bool {
		list := get[api.List[api.Message]](ada, "/v1/conversations/"+made.ID+"/messages")
		return len(list.Items) > 0 && strings.Contains(string(list.Items[len(list.Items)-1].Message), "You said: one")
	})
	n := 0
	for _, err := range r.fleet.List(t.Context()) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("the fleet has %d conversations", n)
	}
}
