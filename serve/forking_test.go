package serve_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A server that dies after it has made a copy, and before the copy has a note, leaves a
// conversation without an owner. The next server removes it.
func TestForkHalfMade(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"whole": false, "cut off": true} {
		t.Run(name, func(t *testing.T) {
			config, root := t.TempDir(), t.TempDir()
			keepSession(t, config, talk, root, "one", "first")
			synctest.Test(t, func(t *testing.T) {
				db := &cutOff{Fleet: store.Memory()}
				r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, func(o *serve.Options) { o.History = history.Disk(config) })
				admin := api.User{Name: "ada", Role: api.RoleAdmin}
				s := r.server.Service()
				own, err := s.Create(t.Context(), admin, api.NewConversation{Preset: "shop", Resume: talk})
				if err != nil {
					t.Fatal(err)
				}
				if dies {
					db.set(func(k store.RecordKey, _ []byte) bool { return k.Kind == "serve-conversation" })
				}
				for _, from := range []api.ForkFrom{{Session: talk}, {Conversation: own.ID}} {
					if _, err := s.Create(t.Context(), admin, api.NewConversation{Preset: "shop", Fork: &from}); (err != nil) != dies {
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

// conversations counts the conversations of the fleet.
func (r *rig) conversations() (n int) {
	r.t.Helper()
	for _, err := range r.fleet.List(r.t.Context()) {
		if n++; err != nil {
			r.t.Fatal(err)
		}
	}
	return n
}

// A copy that cannot be made is refused with the reason: the original has no messages
// yet, or the message to copy up to does not exist. Nothing of it is left.
func TestForkOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	empty := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop"}`), http.StatusCreated)
	started := ada.begin("hello")
	copyOf := func(id, message, says string) {
		t.Helper()
		c := api.NewConversation{Preset: "shop", Fork: &api.ForkFrom{Conversation: id, Message: message}}
		p := want[api.Problem](ada, ada.do("POST", "/v1/conversations", c), http.StatusBadRequest)
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
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations"); len(list.Items) != 2 {
		t.Errorf("there are %+v", list.Items)
	}
}

// A copy that an interrupted request has made, and that a program has used in the fleet
// since, is neither taken for the copy of the repeated request nor removed, at once or
// by the next server. The answer explains what to do.
func TestForkUsedInFleet(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	for name, ofSession := range map[string]bool{"of a conversation": false, "of a session": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			keepSession(t, config, talk, root, "one", "first")
			db := &cutOff{Fleet: store.Memory()}
			r := newRigIn(t, db, root, func(o *serve.Options) { o.History = history.Disk(config) })
			ada := r.as("ada", api.RoleAdmin)
			from := api.ForkFrom{Session: talk}
			if !ofSession {
				from = api.ForkFrom{Conversation: ada.begin("one").ID}
				ada.turnsOf(from.Conversation, 1)
			}
			before := r.keys()
			fork := api.NewConversation{Preset: "shop", Fork: &from}
			db.set(func(k store.RecordKey, _ []byte) bool { return k.Kind == "serve-conversation" })
			if got := ada.do("POST", "/v1/conversations", fork, "Idempotency-Key", "copy"); got.status < 500 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			db.set(nil)
			var key string
			for made := range r.keys() {
				if !before[made] {
					key = made
				}
			}
			if _, err := r.fleet.Send(t.Context(), key, fleet.Prompt{Text: "past the server"}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				p := want[api.Problem](ada, ada.do("POST", "/v1/conversations", fork, "Idempotency-Key", "copy"), http.StatusUnprocessableEntity)
				if p.Type != "/problems/key-reused" || !strings.Contains(p.Detail, "new key") {
					t.Errorf("%+v", p)
				}
			}
			if left := recordsOf(t, db, "serve-fork"); len(left) > 0 {
				t.Errorf("there is %q", left)
			}
			if _, err := r.fleet.Get(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	}
}

// keys returns the keys of the conversations in the fleet.
func (r *rig) keys() map[string]bool {
	r.t.Helper()
	all := make(map[string]bool)
	for info, err := range r.fleet.List(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		all[info.Key] = true
	}
	return all
}

// withHalfMadeCopy calls do with a server that has copied a session, and could not write
// a note of the copy. The store refuses notes until db is set to nil.
func withHalfMadeCopy(t *testing.T, do func(t *testing.T, r *rig, db *cutOff)) {
	t.Helper()
	config, root := t.TempDir(), t.TempDir()
	keepSession(t, config, talk, root, "one", "first")
	synctest.Test(t, func(t *testing.T) {
		db := &cutOff{Fleet: store.Memory()}
		r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, func(o *serve.Options) { o.History = history.Disk(config) })
		db.set(func(k store.RecordKey, _ []byte) bool { return k.Kind == "serve-conversation" })
		admin := api.User{Name: "ada", Role: api.RoleAdmin}
		if _, err := r.server.Service().Create(t.Context(), admin, api.NewConversation{Preset: "shop", Fork: &api.ForkFrom{Session: talk}}); err == nil {
			t.Fatal("no error")
		}
		do(t, r, db)
	})
}

// The next server keeps a copy that has no note but was used in the fleet.
func TestForkHalfMadeAndUsed(t *testing.T) {
	t.Parallel()
	withHalfMadeCopy(t, func(t *testing.T, r *rig, db *cutOff) {
		for key := range r.keys() {
			if _, err := r.fleet.Send(t.Context(), key, fleet.Prompt{Text: "past the server"}); err != nil {
				t.Fatal(err)
			}
		}
		db.set(nil)
		r.onto(r.fleet)
		<-time.After(3 * time.Minute)
		if n := r.conversations(); n != 1 {
			t.Errorf("the fleet has %d conversations", n)
		}
		if left := recordsOf(t, db, "serve-fork"); len(left) > 0 {
			t.Errorf("there is %q", left)
		}
	})
}

// The removal of a copy that was cut off continues until it has succeeded, although the
// store fails meanwhile. The request can then be repeated, without another start.
func TestForkIsRemovedOnceTheStoreWorks(t *testing.T) {
	t.Parallel()
	withHalfMadeCopy(t, func(t *testing.T, r *rig, db *cutOff) {
		r.onto(r.fleet)
		<-time.After(5 * time.Minute)
		db.set(nil)
		<-time.After(5 * time.Minute)
		r.nothingLeft()
		if left := recordsOf(t, db, "serve-fork"); len(left) > 0 {
			t.Errorf("there is %q", left)
		}
	})
}

// A copy keeps the preset of its original: with another one, its history would run
// under other rules.
func TestForkKeepsPreset(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) {
		other := o.Presets[0]
		other.Name = "other"
		o.Presets = append(slices.Clone(o.Presets), other)
	})
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("hello")
	ada.turnsOf(own.ID, 1)
	fork := func(preset string) reply {
		return ada.do("POST", "/v1/conversations", api.NewConversation{Preset: preset, Fork: &api.ForkFrom{Conversation: own.ID}})
	}
	if p := want[api.Problem](ada, fork("other"), http.StatusBadRequest); !strings.Contains(p.Detail, `"shop"`) {
		t.Errorf("%+v", p)
	}
	if copied := want[api.Conversation](ada, fork("shop"), http.StatusCreated); copied.Preset != "shop" || copied.ForkOf != own.ID {
		t.Errorf("%+v", copied)
	}
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations"); len(list.Items) != 2 {
		t.Errorf("%d conversations", len(list.Items))
	}
}
