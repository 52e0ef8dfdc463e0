package serve_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/store"
)

// A server that dies after it has made a copy, and before the copy has a note, leaves a
// conversation that nobody asked for again. The next one removes it.
func TestForkHalfMade(t *testing.T) {
	for name, dies := range map[string]bool{"whole": false, "cut off": true} {
		t.Run(name, func(t *testing.T) {
			config, root := t.TempDir(), t.TempDir()
			keepSession(t, config, talk, root, "one", "first")
			synctest.Test(t, func(t *testing.T) {
				db := &cutOff{Fleet: store.Memory()}
				r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, func(o *serve.Options) { o.History = history.Disk(config) })
				admin := serve.User{Name: "ada", Role: serve.Admin}
				s := r.server.Service()
				own, err := s.Create(t.Context(), admin, serve.NewConversation{Preset: "shop", Resume: talk})
				if err != nil {
					t.Fatal(err)
				}
				if dies {
					db.set(func(k store.RecordKey, _ []byte) bool { return k.Kind == "serve-conversation" })
				}
				for _, from := range []serve.ForkFrom{{Session: talk}, {Conversation: own.ID}} {
					if _, err := s.Create(t.Context(), admin, serve.NewConversation{Preset: "shop", Fork: &from}); (err != nil) != dies {
						t.Fatalf("%+v: %v", from, err)
					}
				}
				want := 3
				if n := r.conversations(); n != want {
					t.Fatalf("the fleet has %d conversations", n)
				}
				db.set(nil)
				r.onto(r.fleet)
				if dies {
					want = 1
					<-time.After(10 * time.Second)
					if n := r.conversations(); n != 3 {
						t.Errorf("the fleet has %d conversations although somebody may be making them", n)
					}
				}
				<-time.After(3 * time.Minute)
				if n := r.conversations(); n != want {
					t.Errorf("the fleet has %d conversations, want %d", n, want)
				}
				if n := len(recordsOf(t, db, "serve-conversation")); n != want {
					t.Errorf("there are %d notes, want %d", n, want)
				}
				if left := recordsOf(t, db, "serve-fork"); len(left) > 0 {
					t.Errorf("there is %q", left)
				}
				for _, name := range recordsOf(t, db, "serve-log") {
					if dies && !strings.HasPrefix(name, "t/"+strings.Replace(own.ID, "~", "/", 1)+"/") {
						t.Errorf("there is a record %s", name)
					}
				}
			})
		})
	}
}

// conversations is how many the fleet has.
func (r *rig) conversations() (n int) {
	r.t.Helper()
	for _, err := range r.fleet.List(r.t.Context()) {
		if n++; err != nil {
			r.t.Fatal(err)
		}
	}
	return n
}

// A copy that cannot be made says why: nothing was said yet, or the message to copy up
// to does not exist. Nothing of it is left.
func TestForkOfNothing(t *testing.T) {
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", serve.Operator)
	empty := want[serve.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop"}`), http.StatusCreated)
	started := ada.begin("hello")
	copyOf := func(id, message, says string) {
		t.Helper()
		c := serve.NewConversation{Preset: "shop", Fork: &serve.ForkFrom{Conversation: id, Message: message}}
		p := want[serve.Problem](ada, ada.do("POST", "/v1/conversations", c), http.StatusBadRequest)
		if !strings.Contains(p.Detail, says) {
			t.Errorf("%+v", p)
		}
	}
	copyOf(empty.ID, "", "nothing was said")
	ada.turnsOf(started.ID, 1)
	copyOf(started.ID, "00000000-0000-4000-8000-000000000000", "no message")
	copyOf(started.ID, "x", "no message")
	if left := recordsOf(t, r.db, "serve-fork"); len(left) > 0 {
		t.Errorf("there are %q", left)
	}
	if list := get[serve.List[serve.Conversation]](ada, "/v1/conversations"); len(list.Items) != 2 {
		t.Errorf("there are %+v", list.Items)
	}
}
