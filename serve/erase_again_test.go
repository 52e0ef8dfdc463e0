package serve_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// halting is a fleet that cannot delete for a while, and that on demand cannot be asked
// about its conversations, as if its store had gone away in between.
type halting struct {
	*fleet.Fleet
	broken, silent atomic.Bool
	deletes        atomic.Int32
}

func (h *halting) Delete(ctx context.Context, key string) error {
	if !h.broken.Load() {
		return h.Fleet.Delete(ctx, key)
	}
	if h.deletes.Add(1) == 1 {
		h.silent.Store(true)
	}
	return errors.New("the store does not answer")
}

func (h *halting) Get(ctx context.Context, key string) (fleet.ConversationInfo, error) {
	if h.silent.Load() {
		return fleet.ConversationInfo{}, errors.New("the store does not answer")
	}
	return h.Fleet.Get(ctx, key)
}

// A half-deleted conversation never opens again: attempts that fail later, even though
// the fleet still knows it, leave it to the next one.
func TestDeletedByHalfStaysClosed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		odd := &halting{Fleet: r.fleet}
		r.onto(odd)
		s := r.server.Service()
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		odd.broken.Store(true)
		if err := s.Delete(t.Context(), operator, c.ID); err == nil {
			t.Fatal("no error")
		}
		odd.silent.Store(false)
		<-time.After(time.Minute) // the server tries again
		if err := s.Delete(t.Context(), operator, c.ID); err == nil {
			t.Error("no error of an attempt that was asked for")
		}
		if n := odd.deletes.Load(); n < 3 {
			t.Fatalf("only %d attempts", n)
		}
		if _, err := s.Conversation(t.Context(), operator, c.ID); !problemIs(err, "not-found") {
			t.Errorf("it is there again: %v", err)
		}
		if _, err := s.Send(t.Context(), operator, c.ID, api.NewPrompt{Content: []byte(`"more"`)}); err == nil {
			t.Error("it takes a prompt")
		}
		odd.broken.Store(false)
		<-time.After(time.Minute)
		r.nothingLeft()
	})
}

// A stream does not end because its conversation is being deleted, which may take long
// or fail: it ends when the conversation is gone, and gives that as the reason.
func TestStreamOutlastsDeletion(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		odd := &halting{Fleet: r.fleet}
		r.onto(odd)
		s := r.server.Service()
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/conversations/"+c.ID+"/events", nil)
		req.Header.Set("Authorization", "Bearer "+r.token("ada", api.RoleOperator))
		out, ended := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(ended)
			r.server.ServeHTTP(out, req)
		}()
		<-time.After(5 * time.Second)
		odd.broken.Store(true)
		if err := s.Delete(t.Context(), operator, c.ID); err == nil {
			t.Fatal("no error")
		}
		odd.silent.Store(false)
		select {
		case <-ended:
			t.Fatalf("the stream has ended: %s", out.Body)
		case <-time.After(2 * time.Minute):
		}
		odd.broken.Store(false)
		<-ended
		if body := out.Body.String(); !strings.Contains(body, "event: bye") || !strings.Contains(body, "the conversation was deleted") {
			t.Errorf("the stream ends with %s", body)
		}
	})
}
