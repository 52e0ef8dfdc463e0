package serve_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// recordsOf returns the names of the records of a kind.
func recordsOf(t *testing.T, db store.Records, kind string) (names []string) {
	t.Helper()
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Key.Name)
	}
	return names
}

// nothingLeft wants nothing of a conversation to be left, on the server or in the
// fleet.
func (r *rig) nothingLeft() {
	r.t.Helper()
	for _, kind := range []string{"serve-log", "serve-conversation"} {
		if left := recordsOf(r.t, r.db, kind); len(left) > 0 {
			r.t.Errorf("%s has %q", kind, left)
		}
	}
	for info, err := range r.fleet.List(r.t.Context()) {
		r.t.Errorf("the fleet has %+v, %v", info, err)
	}
}

// Nothing is left of conversations that are deleted while they ask, although several
// parts of the server are about to record events of them.
func TestDeletedWhileAsking(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	var asking []api.Conversation
	for range 4 {
		asking = append(asking, ada.begin("tool 1"))
	}
	ada.pending(len(asking))
	for _, c := range asking {
		if got := ada.do("DELETE", "/v1/conversations/"+c.ID, nil); got.status != http.StatusNoContent {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	last := ada.begin("hello")
	ada.turnsOf(last.ID, 1)
	for _, name := range recordsOf(t, r.db, "serve-log") {
		if !strings.HasPrefix(name, "t/"+strings.Replace(last.ID, "~", "/", 1)+"/") {
			t.Errorf("there is a record %s", name)
		}
	}
}

// heldStore is a store that keeps the first write of some kind waiting, as if the
// process were suspended just before it.
type heldStore struct {
	store.Fleet
	when       func(k store.RecordKey, value []byte, revision int64) bool
	once       sync.Once
	held, goOn chan struct{}
}

func (h *heldStore) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if !c[0].Drop && h.when(c[0].Key, c[0].Value, c[0].Revision) {
		h.once.Do(func() {
			close(h.held)
			<-h.goOn
		})
	}
	return h.Fleet.Change(ctx, f, c...)
}

// silent is a fleet whose conversations have no events.
type silent struct{ *fleet.Fleet }

func (silent) Events(ctx context.Context, _ string, _ fleet.Cursor) iter.Seq2[fleet.ConversationEvent, error] {
	return func(yield func(fleet.ConversationEvent, error) bool) {
		<-ctx.Done()
		yield(fleet.ConversationEvent{}, ctx.Err())
	}
}

// The first write to the log of a conversation that was deleted a moment before leaves
// nothing.
func TestLateFirstWrite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := &heldStore{Fleet: store.Memory(), held: make(chan struct{}), goOn: make(chan struct{})}
		db.when = func(k store.RecordKey, value []byte, revision int64) bool {
			return k.Kind == "serve-log" && revision == 0 && strings.Contains(string(value), `"type":"approval"`)
		}
		r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Hour} }, nil)
		r.onto(silent{r.fleet})
		own, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.fleet.Send(t.Context(), strings.Replace(own.ID, "~", "/", 1), fleet.Prompt{Text: "tool 1"}); err != nil {
			t.Fatal(err)
		}
		<-db.held
		if err := r.server.Service().Delete(t.Context(), operator, own.ID); err != nil {
			t.Fatal(err)
		}
		close(db.goOn)
		synctest.Wait()
		r.nothingLeft()
	})
}

// onto lets a server without a network run on another fleet.
func (r *rig) onto(odd fleet.Conversations) {
	r.t.Helper()
	if err := r.server.Close(); err != nil {
		r.t.Fatal(err)
	}
	var err error
	if r.server, err = serve.New(odd, r.options); err != nil {
		r.t.Fatal(err)
	}
}

// slowSend returns a fleet that gets prompts late: begun is closed when the first is
// about to be sent, and the fleet takes it when goOn is closed.
func slowSend(f *fleet.Fleet) (slow sending, begun, goOn chan struct{}) {
	begun, goOn = make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	return sending{f, func(ctx context.Context, key string, p fleet.Prompt) (string, error) {
		once()
		<-goOn
		return f.Send(ctx, key, p)
	}}, begun, goOn
}

// problemIs reports whether an error is a problem of a type.
func problemIs(err error, kind string) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Type == "/problems/"+kind
}

// A prompt that one server sends while another one deletes the conversation is refused,
// and does not bring the conversation back.
func TestSentWhileDeleted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		own := func(o *fleet.Options) { o.Gate = &approval.Options{} }
		a, b := newService(t, db, root, own, nil), newService(t, db, root, own, nil)
		slow, begun, goOn := slowSend(b.fleet)
		b.onto(slow)
		c, err := a.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := b.server.Service().Send(t.Context(), operator, c.ID, api.NewPrompt{Content: []byte(`"hello"`)})
			sent <- err
		}()
		<-begun
		if err := a.server.Service().Delete(t.Context(), operator, c.ID); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*rig{a, b} {
			if _, err := s.server.Service().Conversation(t.Context(), operator, c.ID); !problemIs(err, "not-found") {
				t.Errorf("it is there: %v", err)
			}
		}
		close(goOn)
		if err := <-sent; !problemIs(err, "deleting") {
			t.Errorf("sent: %v", err)
		}
		<-time.After(30 * time.Second) // less than what a sender is given who may have died
		a.nothingLeft()
	})
}

// pausingStore is a store that lets a program be suspended after it has read a note, or
// written the first head of a log.
type pausingStore struct {
	store.Fleet
	note, head atomic.Pointer[pause]
}

// pause suspends once: reached is closed then, and it continues when goOn is closed.
type pause struct{ reached, goOn chan struct{} }

func newPause() *pause { return &pause{make(chan struct{}), make(chan struct{})} }

func pauseAt(at *atomic.Pointer[pause]) {
	if p := at.Swap(nil); p != nil {
		close(p.reached)
		<-p.goOn
	}
}

func (s *pausingStore) View(ctx context.Context, v store.View) ([]store.Record, error) {
	r, err := s.Fleet.View(ctx, v)
	if v.Keys[0].Kind == "serve-conversation" {
		pauseAt(&s.note)
	}
	return r, err
}

func (s *pausingStore) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := s.Fleet.Change(ctx, f, c...)
	if c[0].Key.Kind == "serve-log" && c[0].Revision == 0 {
		pauseAt(&s.head)
	}
	return next, err
}

// Senders that saw a conversation before it was deleted, and continue when nothing of
// it is left, are refused, even if one of them begins a log in which another finds
// itself welcome.
func TestSentLateByTwo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		own := func(o *fleet.Options) { o.Gate = &approval.Options{} }
		var servers [2]*rig
		var stores [2]*pausingStore
		var sent [2]chan error
		for i := range servers {
			stores[i] = &pausingStore{Fleet: db}
			servers[i], sent[i] = newService(t, db, root, own, func(o *serve.Options) { o.Records = stores[i] }), make(chan error, 1)
		}
		c, err := servers[0].server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var seen [2]*pause
		for i := range servers {
			seen[i] = newPause()
			stores[i].note.Store(seen[i])
			go func() {
				_, err := servers[i].server.Service().Send(t.Context(), operator, c.ID, api.NewPrompt{Content: []byte(`"late"`)})
				sent[i] <- err
			}()
			<-seen[i].reached
		}
		if err := servers[0].server.Service().Delete(t.Context(), operator, c.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until nobody holds the log that has ended: in it the first would be refused at once
		begun := newPause()
		stores[0].head.Store(begun)
		close(seen[0].goOn)
		select {
		case <-begun.reached:
		case err := <-sent[0]:
			t.Fatalf("the first has begun no log: %v", err)
		}
		close(seen[1].goOn)
		if err := <-sent[1]; !problemIs(err, "not-found") {
			t.Errorf("the second: %v", err)
		}
		close(begun.goOn)
		if err := <-sent[0]; !problemIs(err, "not-found") {
			t.Errorf("the first: %v", err)
		}
		<-time.After(time.Minute)
		servers[0].nothingLeft()
	})
}

// If a sender dies while the conversation is deleted, what it may have given the fleet
// is removed as soon as nothing more can come: by the server that deletes, or, if that
// ends, by the next one.
func TestDeletedAndSenderDied(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"same server": false, "next server": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
				whole := r.fleet
				died := errors.New("the program is dead")
				var key string
				r.onto(sending{whole, func(_ context.Context, k string, _ fleet.Prompt) (string, error) {
					key = k
					return "", died
				}})
				c, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.server.Service().Send(t.Context(), operator, c.ID, api.NewPrompt{Content: []byte(`"hello"`)}); err == nil {
					t.Fatal("no error")
				}
				if err := r.server.Service().Delete(t.Context(), operator, c.ID); err != nil {
					t.Fatal(err)
				}
				if _, err := whole.Send(t.Context(), key, fleet.Prompt{Text: "late"}); err != nil {
					t.Fatal(err)
				}
				if restart {
					r.onto(whole)
				}
				<-time.After(3 * time.Minute)
				r.nothingLeft()
			})
		})
	}
}

// A new conversation whose first prompt is refused stays if another server is about to
// send a prompt to it, and takes that prompt.
func TestUnusedButSentTo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		own := func(o *fleet.Options) { o.Gate = &approval.Options{} }
		a, b := newService(t, db, root, own, nil), newService(t, db, root, own, nil)
		slow, begun, goOn := slowSend(b.fleet)
		b.onto(slow)
		sent := make(chan error, 1)
		a.onto(sending{a.fleet, func(_ context.Context, key string, _ fleet.Prompt) (string, error) {
			go func() {
				_, err := b.server.Service().Send(t.Context(), operator, strings.Replace(key, "/", "~", 1), api.NewPrompt{Content: []byte(`"two"`)})
				sent <- err
			}()
			<-begun
			return "", &fleet.OverloadedError{Key: key, Queued: 1}
		}})
		if _, err := a.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("one")}); !problemIs(err, "full") {
			t.Fatalf("created: %v", err)
		}
		close(goOn)
		if err := <-sent; err != nil {
			t.Errorf("sent: %v", err)
		}
		<-time.After(5 * time.Second)
		list, err := b.server.Service().Conversations(t.Context(), operator, api.ConversationQuery{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Turns != 1 {
			t.Errorf("there are %+v (%v)", list.Items, err)
		}
	})
}

// A conversation that cannot be deleted, because the fleet refuses, works as before.
func TestNotDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("one")
	ada.turnsOf(own.ID, 1)
	r.over(undeletable{r.fleet})
	path := "/v1/conversations/" + own.ID
	for range 2 {
		if p := want[api.Problem](ada, ada.do("DELETE", path, nil), http.StatusConflict); p.Type != "/problems/leased" {
			t.Errorf("%+v", p)
		}
	}
	want[api.Prompt](ada, ada.do("POST", path+"/prompts", `{"content":"two"}`), http.StatusAccepted)
	ada.turnsOf(own.ID, 2)
	r.over(r.fleet)
	if got := ada.do("DELETE", path, nil); got.status != http.StatusNoContent {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	r.nothingLeft()
}

// undeletable is a fleet whose conversations another process is running.
type undeletable struct{ *fleet.Fleet }

func (undeletable) Delete(_ context.Context, key string) error {
	return &fleet.ConversationError{Key: key, Reason: fleet.ErrElsewhere}
}

// A prompt that may have been accepted is in the log when it was, even if it is sent
// again meanwhile and that attempt is refused.
func TestRefusedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		whole := r.fleet
		n := 0
		var key string
		r.onto(sending{whole, func(_ context.Context, k string, _ fleet.Prompt) (string, error) {
			key = k
			if n++; n == 1 {
				return "", errors.New("the store does not answer") // what was written lands later
			}
			return "", &fleet.OverloadedError{Key: k, Queued: 1}
		}})
		s := r.server.Service()
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		const id = "00000000-0000-4000-8000-000000000002"
		for range 2 {
			if _, err := s.Send(t.Context(), operator, c.ID, api.NewPrompt{ID: id, Content: []byte(`"two"`)}); err == nil {
				t.Fatal("no error")
			}
			<-time.After(10 * time.Second)
		}
		if _, err := whole.Send(t.Context(), key, fleet.Prompt{ID: id, Text: "two"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		usage, err := s.Usage(t.Context(), operator, api.UsageQuery{})
		if err != nil || usage.Total.Turns != 1 {
			t.Errorf("%+v, %v", usage.Total, err)
		}
	})
}

// dieAfter lets a program die right after it has written a record that contains a text:
// nothing else that it writes is stored.
func (c *cutOff) dieAfter(text string) {
	dead := false
	c.set(func(k store.RecordKey, value []byte) bool {
		now := dead
		dead = dead || strings.Contains(string(value), text)
		return now && strings.HasPrefix(k.Kind, "serve-")
	})
}

// A conversation whose first prompt was refused, and that a program has meanwhile used
// in the fleet directly, stays and works, although the server died while removing it.
func TestUnusedButUsedInFleet(t *testing.T) {
	t.Parallel()
	for name, used := range map[string]bool{"used": true, "unused": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				db := &cutOff{Fleet: store.Memory()}
				r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
				whole := r.fleet
				var key string
				r.onto(sending{whole, func(_ context.Context, k string, _ fleet.Prompt) (string, error) {
					key = k
					db.dieAfter(`"erasing"`)
					return "", &fleet.OverloadedError{Key: k, Queued: 1}
				}})
				if _, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("one")}); !problemIs(err, "full") {
					t.Fatalf("created: %v", err)
				}
				if used {
					if _, err := whole.Send(t.Context(), key, fleet.Prompt{Text: "past the server"}); err != nil {
						t.Fatal(err)
					}
				}
				db.set(nil)
				r.onto(whole)
				<-time.After(3 * time.Minute)
				if !used {
					r.nothingLeft()
					return
				}
				s := r.server.Service()
				id := strings.Replace(key, "/", "~", 1)
				if c, err := s.Conversation(t.Context(), operator, id); err != nil || c.Turns != 1 {
					t.Fatalf("%+v, %v", c, err)
				}
				if _, err := s.Send(t.Context(), operator, id, api.NewPrompt{Content: []byte(`"two"`)}); err != nil {
					t.Errorf("sent: %v", err)
				}
			})
		})
	}
}

// A shared conversation whose deletion is not complete is gone for other users: they
// get the same answer as if it had never existed. Its owner can try again.
func TestDeletedHalfwayIsNotShared(t *testing.T) {
	t.Parallel()
	db := &stays{Fleet: store.Memory()}
	r := newRig(t, db, nil)
	ada, eve := r.as("ada", api.RoleOperator), r.as("eve", api.RoleOperator)
	own := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Shared: true}), http.StatusCreated)
	path, never := "/v1/conversations/"+own.ID, "/v1/conversations/ada~00000000-0000-4000-8000-000000000000"
	if got := eve.do("DELETE", path, nil); got.status != http.StatusForbidden {
		t.Fatalf("while it is shared: %d %s", got.status, got.body)
	}
	db.kind.Store("serve-conversation")
	if got := ada.do("DELETE", path, nil); got.status < 500 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	for _, method := range []string{"DELETE", "GET"} {
		got, none := eve.do(method, path, nil), eve.do(method, never, nil)
		if same := strings.ReplaceAll(string(got.body), path, never); got.status != http.StatusNotFound || same != string(none.body) {
			t.Errorf("%s: %d %s, want %s", method, got.status, got.body, none.body)
		}
	}
	db.kind.Store("")
	r.over(r.fleet)
	r.eventually("nothing is left", func() bool { return len(recordsOf(t, db, "serve-conversation")) == 0 })
}

// A deletion that fails halfway is finished by the same server once the store works
// again, whether or not the fleet knows the conversation, and without another request.
func TestDeletedHalfwayIsFinished(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"", "hello"} {
		for _, kind := range []string{"serve-log", "serve-conversation"} {
			t.Run(prompt+" "+kind, func(t *testing.T) {
				root := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					db := &stays{Fleet: store.Memory()}
					r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
					s := r.server.Service()
					begin := api.NewConversation{Preset: "shop"}
					if prompt != "" {
						begin.Content = api.Text(prompt)
					}
					c, err := s.Create(t.Context(), operator, begin)
					if err != nil {
						t.Fatal(err)
					}
					<-time.After(5 * time.Second)
					db.kind.Store(kind)
					for range 3 {
						if err := s.Delete(t.Context(), operator, c.ID); err == nil {
							t.Fatal("no error")
						}
					}
					<-time.After(time.Minute)
					db.kind.Store("")
					<-time.After(time.Minute)
					r.nothingLeft()
				})
			})
		}
	}
}
