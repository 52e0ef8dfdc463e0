package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// warmings is a fleet that counts how often conversations are prewarmed.
type warmings struct {
	*fleet.Fleet
	of map[string]int
}

func (w *warmings) Prewarm(ctx context.Context, key string) error {
	w.of[key]++
	return w.Fleet.Prewarm(ctx, key)
}

// A user who may prompt prewarms a conversation, at most once in a minute however often its
// page is opened, and not once it has ended.
func TestPrewarm(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate, o.IdleAfter = &approval.Options{}, 10*time.Second }, nil)
		odd := &warmings{r.fleet, make(map[string]int)}
		r.onto(odd)
		s := r.server.Service()
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil {
			t.Fatal(err)
		}
		empty, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		key := strings.Replace(c.ID, "~", "/", 1)
		count := func(when string, want int) {
			t.Helper()
			if odd.of[key] != want {
				t.Errorf("%s: prewarmed %d times, want %d", when, odd.of[key], want)
			}
		}
		warm := func(u api.User, id, refused string) {
			t.Helper()
			err := s.Prewarm(t.Context(), u, id)
			if p, _ := errors.AsType[*api.Problem](err); refused == "" && err != nil || refused != "" && (p == nil || p.Type != "/problems/"+refused) {
				t.Errorf("%s: %v", u.Role, err)
			}
		}
		warm(api.User{Name: operator.Name, Role: api.RoleViewer}, c.ID, "forbidden")
		warm(api.User{Name: "eve", Role: api.RoleOperator}, c.ID, "not-found")
		warm(operator, empty.ID, "")
		count("by others", 0)
		for range 5 {
			warm(operator, c.ID, "")
		}
		count("five times", 1)
		if info, err := r.fleet.Get(t.Context(), key); err != nil || info.State != fleet.StateAwake {
			t.Errorf("%+v, %v", info, err)
		}
		<-time.After(time.Minute - time.Second)
		warm(operator, c.ID, "")
		count("too early", 1)
		<-time.After(time.Second)
		warm(operator, c.ID, "")
		count("after a minute", 2)
		<-time.After(time.Minute)
		archived := true
		if _, err := s.Change(t.Context(), operator, c.ID, api.Change{Archived: &archived}, ""); err != nil {
			t.Fatal(err)
		}
		warm(operator, c.ID, "")
		count("archived", 2)
	})
}

// prewarmed sends the request, and returns its status and the type of its problem.
func (r *rig) prewarmed(id string) (int, string) {
	r.t.Helper()
	token, err := serve.IssueToken(r.t.Context(), r.db, "p", api.NewToken{Name: "t", User: operator.Name, Role: operator.Role})
	if err != nil {
		r.t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(r.t.Context(), "POST", "http://localhost/v1/conversations/"+id+"/prewarm", nil)
	req.Header.Set("Authorization", "Bearer "+token.Secret)
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, req)
	var p api.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &p) // empty without a problem
	return w.Code, p.Type
}

// Without a free slot nothing happens: neither the conversation that was asked for nor the
// one that has the slot notices.
func TestPrewarmWithoutRoom(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) {
			o.Gate, o.IdleAfter, o.MaxLive, o.Poll = &approval.Options{}, time.Hour, 1, 10*time.Second
		}, nil)
		var ids, keys [2]string
		for i := range ids {
			c, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
			if err != nil {
				t.Fatal(err)
			}
			ids[i], keys[i] = c.ID, strings.Replace(c.ID, "~", "/", 1)
			<-time.After(time.Minute)
		}
		states := func(when string, want ...fleet.State) {
			t.Helper()
			for i, key := range keys {
				if info, err := r.fleet.Get(t.Context(), key); err != nil || info.State != want[i] {
					t.Errorf("%s: conversation %d is %s, want %s (%v)", when, i, info.State, want[i], err)
				}
			}
		}
		states("before", fleet.StateAsleep, fleet.StateAwake)
		if status, problem := r.prewarmed(ids[0]); status != http.StatusNoContent {
			t.Errorf("status %d %s", status, problem)
		}
		<-time.After(time.Minute)
		states("without a slot", fleet.StateAsleep, fleet.StateAwake)
		<-time.After(time.Hour)
		states("later", fleet.StateAsleep, fleet.StateAsleep)
		if status, problem := r.prewarmed(ids[0]); status != http.StatusNoContent {
			t.Errorf("status %d %s", status, problem)
		}
		states("with one", fleet.StateAwake, fleet.StateAsleep)
	})
}

// A server without CLIs says each time that another process runs the conversation.
func TestPrewarmElsewhere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		worker := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		c, err := worker.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		front := newService(t, db, root, func(o *fleet.Options) { o.MaxLive, o.Session = fleet.NoCLIs, nil }, nil)
		for range 2 {
			if status, problem := front.prewarmed(c.ID); status != http.StatusConflict || problem != "/problems/leased" {
				t.Errorf("status %d %s", status, problem)
			}
		}
	})
}
