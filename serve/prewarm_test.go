package serve_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
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
		warm(api.User{Name: operator.Name, Role: api.Viewer}, c.ID, "forbidden")
		warm(api.User{Name: "eve", Role: api.Operator}, c.ID, "not-found")
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
