package serve_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A stream ends once its reader loses access, because the token is revoked or the
// conversation stops being shared. Until then it stays open.
func TestStreamOfOneWhoMayNoLonger(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	admin, private := api.User{Name: "root", Role: api.RoleAdmin}, false
	for name, c := range map[string]struct {
		path string // of the stream, after that of the conversation
		end  func(t *testing.T, s *serve.Service, conversation, token string) error
	}{
		"nothing happens": {"/events", func(*testing.T, *serve.Service, string, string) error { return nil }},
		"the token is revoked": {"/events", func(t *testing.T, s *serve.Service, _, token string) error {
			return s.RevokeToken(t.Context(), admin, token)
		}},
		"the token of a feed is revoked": {"", func(t *testing.T, s *serve.Service, _, token string) error {
			return s.RevokeToken(t.Context(), admin, token)
		}},
		"it is made private": {"/events", func(t *testing.T, s *serve.Service, conversation, _ string) error {
			_, err := s.Change(t.Context(), operator, conversation, api.Change{Shared: &private}, "")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newService(t, store.Memory(), root, func(*fleet.Options) {}, nil)
				s := r.server.Service()
				own, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Shared: true})
				if err != nil {
					t.Fatal(err)
				}
				token, err := s.IssueToken(t.Context(), admin, api.NewToken{Name: "x", User: "eve", Role: api.RoleViewer})
				if err != nil {
					t.Fatal(err)
				}
				path := "/v1/feed"
				if c.path != "" {
					path = "/v1/conversations/" + own.ID + c.path
				}
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
				request.Header.Set("Authorization", "Bearer "+token.Secret)
				w, ended := httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(ended)
					r.server.ServeHTTP(w, request)
				}()
				<-time.After(time.Minute)
				select {
				case <-ended:
					t.Fatalf("the stream ended by itself: %s", w.Body)
				default:
				}
				if err := c.end(t, s, own.ID, token.ID); err != nil {
					t.Fatal(err)
				}
				<-time.After(31 * time.Second)
				if name == "nothing happens" {
					_ = r.server.Close()
				}
				synctest.Wait()
				select {
				case <-ended:
				default:
					t.Fatal("the stream is still open")
				}
				stays := strings.Contains(w.Body.String(), "the server stops")
				if stays != (name == "nothing happens") || !strings.Contains(w.Body.String(), "event: bye\n") {
					t.Errorf("the stream ends with %s", w.Body)
				}
			})
		})
	}
}

// A stream ends as well when its reader has another role than the one that it was opened
// with, even a lesser one that could open it.
func TestStreamOfAnotherRole(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var demoted atomic.Bool
		r := newService(t, store.Memory(), root, func(*fleet.Options) {}, func(o *serve.Options) {
			o.Authenticate = func(*http.Request) (api.User, bool) {
				if demoted.Load() {
					return api.User{Name: operator.Name, Role: api.RoleViewer}, true
				}
				return operator, true
			}
		})
		own, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/conversations/"+own.ID+"/events", nil)
		w, ended := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(ended)
			r.server.ServeHTTP(w, request)
		}()
		<-time.After(time.Minute)
		demoted.Store(true)
		<-time.After(31 * time.Second)
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("the stream is still open")
			_ = r.server.Close()
			<-ended
		}
		if got := w.Body.String(); !strings.Contains(got, "may no longer") {
			t.Errorf("the stream ends with %s", got)
		}
	})
}

// A run of AG-UI ends when the token that it was begun with is revoked, although
// its turn continues.
func TestRunOfOneWhoMayNoLonger(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, revoked := range []bool{false, true} {
		t.Run(fmt.Sprintf("revoked %v", revoked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newService(t, store.Memory(), root, func(*fleet.Options) {}, nil)
				r.agent.hold = make(chan struct{})
				s, admin := r.server.Service(), api.User{Name: "root", Role: api.RoleAdmin}
				token, err := s.IssueToken(t.Context(), admin, api.NewToken{Name: "x", User: "eve", Role: api.RoleOperator})
				if err != nil {
					t.Fatal(err)
				}
				input := `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/ag-ui/shop", strings.NewReader(input))
				request.Header.Set("Authorization", "Bearer "+token.Secret)
				request.Header.Set("Content-Type", "application/json")
				w, ended := httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(ended)
					r.server.ServeHTTP(w, request)
				}()
				<-time.After(time.Minute)
				if revoked {
					if err := s.RevokeToken(t.Context(), admin, token.ID); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(31 * time.Second)
				select {
				case <-ended:
				default:
					if revoked {
						t.Error("the run is still open")
					}
					close(r.agent.hold)
					<-ended
				}
				if got := w.Body.String(); strings.Contains(got, `"code":"unauthorized"`) != revoked || strings.Contains(got, "RUN_FINISHED") == revoked {
					t.Errorf("the run ends with %s", got)
				}
			})
		})
	}
}

// countingStore counts how often the heads of logs are read, and all writes.
type countingStore struct {
	store.Records
	heads, pulses, writes atomic.Int64
	deaf                  bool // it announces nothing
}

func (s *countingStore) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	if !s.deaf {
		return s.Records.Watch(ctx, project)
	}
	return func(yield func(store.Changed, error) bool) { yield(store.Changed{}, errors.New("not today")) }
}

func (s *countingStore) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	s.writes.Add(1)
	return s.Records.Change(ctx, f, c...)
}

func (s *countingStore) View(ctx context.Context, v store.View) ([]store.Record, error) {
	switch v.Keys[0].Kind {
	case "serve-log":
		s.heads.Add(1)
	case "serve-pulse":
		s.pulses.Add(1)
	}
	return s.Records.View(ctx, v)
}

// A stream that is one too many leaves nothing at work when it has ended.
func TestStreamTooMany(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		records := &countingStore{Records: db}
		r := newService(t, db, root, func(*fleet.Options) {}, func(o *serve.Options) { o.Records, o.StreamsPerUser = records, 1 })
		own, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		token := r.token(operator.Name, operator.Role)
		read := func(path string) *httptest.ResponseRecorder {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
			request.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			ctx, cancel := context.WithCancel(t.Context()) // as that of a connection does
			defer cancel()
			r.server.ServeHTTP(w, request.WithContext(ctx))
			return w
		}
		go read("/v1/feed")
		synctest.Wait()
		if got := read("/v1/conversations/" + own.ID + "/events").Body.String(); !strings.Contains(got, "too many streams") {
			t.Fatalf("%s", got)
		}
		<-time.After(time.Second)
		before := records.heads.Load()
		<-time.After(10 * time.Second)
		if n := records.heads.Load() - before; n > 0 {
			t.Errorf("the log is still read, %d times", n)
		}
	})
}
