package serve_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/test/pushed"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// pushService is a push service without a network. It answers as the test says.
type pushService struct {
	t        *testing.T
	mu       sync.Mutex
	browsers map[string]*pushed.Browser // by endpoint
	got      map[string][]string        // notices, by endpoint
	tabs     map[string]*browser        // by user
	answer   func(endpoint string, n int) (status int, header http.Header, err error)
}

func (s *pushService) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.URL.String()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	text, err := s.browsers[at].Open(body)
	if err != nil {
		s.t.Errorf("%s cannot be opened: %v", at, err)
	}
	h := r.Header
	if r.Method != "POST" || h.Get("Content-Encoding") != "aes128gcm" || h.Get("TTL") == "" || !strings.HasPrefix(h.Get("Authorization"), "vapid t=") || len(h.Get("Topic")) > 32 || h.Get("Cookie") != "" {
		s.t.Errorf("the request is %s %v", r.Method, h)
	}
	s.got[at] = append(s.got[at], string(text))
	status, header := http.StatusCreated, http.Header{}
	if s.answer != nil {
		status, header, err = s.answer(at, len(s.got[at]))
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: http.NoBody, Request: r}, nil
}

// received are the notices that an endpoint has had.
func (s *pushService) received(endpoint string) []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got[endpoint])
}

// pushes starts a server that pushes to the service.
func pushes(t *testing.T, do func(*testing.T, *rig, *pushService)) {
	t.Helper()
	s := &pushService{t: t, browsers: make(map[string]*pushed.Browser), got: make(map[string][]string), tabs: make(map[string]*browser)}
	inBubble(t, func(o *serve.Options) {
		o.Push = &serve.Push{Contact: "mailto:ops@example.com", Client: &http.Client{Transport: s}}
	}, func(t *testing.T, r *rig) { do(t, r, s) })
}

// subscribed logs a user in and subscribes the browser.
func (s *pushService) subscribed(r *rig, name string, role api.Role) (u api.User, endpoint string) {
	r.t.Helper()
	token, err := r.server.Service().IssueLogin(r.t.Context(), api.User{Name: name, Role: role})
	if err != nil {
		r.t.Fatal(err)
	}
	s.tabs[name] = &browser{rig: r, address: "127.0.0.1"}
	s.tabs[name].login(token)
	list, err := r.server.Service().Logins(r.t.Context(), api.User{Name: name, Role: role})
	i := slices.IndexFunc(list.Items, func(l api.LoginInfo) bool { return l.User == name })
	if err != nil || i < 0 {
		r.t.Fatal(err, list)
	}
	u, endpoint = api.User{Name: name, Role: role, Login: list.Items[i].ID}, "https://push.example/"+name
	if s.browsers[endpoint], err = pushed.NewBrowser(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.server.Service().Subscribe(r.t.Context(), u, s.target(endpoint)); err != nil {
		r.t.Fatal(err)
	}
	return u, endpoint
}

func (s *pushService) target(endpoint string) serve.PushTarget {
	b := s.browsers[endpoint]
	return serve.PushTarget{Endpoint: endpoint, Key: b.Public(), Auth: b.Auth}
}

// asks makes a conversation and asks about a call in it.
func (r *rig) asks(owner, title string, shared bool, tool string) (id string) {
	r.t.Helper()
	c, err := r.server.Service().Create(r.t.Context(), api.User{Name: owner, Role: api.RoleOperator}, api.NewConversation{Preset: "shop", Title: title, Shared: shared})
	if err != nil {
		r.t.Fatal(err)
	}
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: strings.Replace(c.ID, "~", "/", 1), Tool: tool, ToolUseID: "toolu_" + title, Input: json.RawMessage(`{"command":"echo secret-token"}`),
	}, store.Fence{})
	if err != nil {
		r.t.Fatal(err)
	}
	<-time.After(2 * time.Second) // the server looks every second
	return q.ID
}

func (r *rig) records(kind string) (names []string) {
	r.t.Helper()
	for rec, err := range r.db.Scan(r.t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			r.t.Fatal(err)
		}
		names = append(names, rec.Key.Name)
	}
	return names
}

// Those who may decide are told: what waits and where, and nothing that the agent wrote.
func TestPush(t *testing.T) {
	t.Parallel()
	pushes(t, func(t *testing.T, r *rig, s *pushService) {
		_, ada := s.subscribed(r, "ada", api.RoleApprover)
		_, bob := s.subscribed(r, "bob", api.RoleOperator)
		shared, private := r.asks("eve", "Deploy\u202e", true, "Bash"), r.asks("bob", "Own", false, "mcp__\x1b"+strings.Repeat("é", 4000))
		var notices []map[string]string
		for _, text := range slices.Concat(s.received(ada), s.received(bob)) {
			var n map[string]string
			if err := json.Unmarshal([]byte(text), &n); err != nil || strings.Contains(text, "secret") || len(text) > 1000 {
				t.Errorf("%v: %s", err, text)
			}
			notices = append(notices, n)
		}
		want := map[string]string{"id": shared, "text": "A call of Bash waits for your approval", "where": `Deploy\u202e`}
		if len(notices) != 3 || !maps.Equal(notices[0], want) || !slices.ContainsFunc(notices[1:], func(n map[string]string) bool { return maps.Equal(n, want) }) || !slices.ContainsFunc(notices[1:], func(n map[string]string) bool { return n["id"] == private }) {
			t.Errorf("the notices are %q, want one to ada and two to bob", notices)
		}
	})
}

// A subscription ends with its login, with the browser's own, and with another of the
// same browser. Who may not decide, or has no login, cannot subscribe.
func TestPushEnds(t *testing.T) {
	t.Parallel()
	pushes(t, func(t *testing.T, r *rig, s *pushService) {
		service, ctx := r.server.Service(), t.Context()
		ada, _ := s.subscribed(r, "ada", api.RoleApprover)
		bob, _ := s.subscribed(r, "bob", api.RoleAdmin)
		eve, at := s.subscribed(r, "eve", api.RoleOperator)
		s.subscribed(r, "dan", api.RoleOperator)
		if w := s.tabs["dan"].do("DELETE", "/v1/login", ""); w.Code != http.StatusNoContent {
			t.Fatalf("a logout: %d %s", w.Code, w.Body)
		}
		if err := service.EndLogin(ctx, bob, ada.Login); err != nil {
			t.Fatal(err)
		}
		if err := service.Unsubscribe(ctx, bob); err != nil {
			t.Fatal(err)
		}
		if left := r.records("serve-push"); len(left) != 1 || left[0] != eve.Login {
			t.Fatalf("%q are left, want %s", left, eve.Login)
		}
		if err := service.Subscribe(ctx, bob, s.target(at)); err != nil { // bob has logged in in eve's browser
			t.Fatal(err)
		}
		if left := r.records("serve-push"); len(left) != 1 || left[0] != bob.Login {
			t.Fatalf("%q are left, want %s", left, bob.Login)
		}
		s.answer = func(string, int) (int, http.Header, error) { return http.StatusGone, nil, nil }
		r.asks("bob", "Gone", true, "Bash")
		if got, left := s.received(at), r.records("serve-push"); len(got) != 1 || len(left) != 0 {
			t.Errorf("after 410: %q, %q are left", got, left)
		}
		for what, err := range map[string]error{
			"a viewer":          service.Subscribe(ctx, api.User{Name: "v", Role: api.RoleViewer, Login: "ccs-1"}, s.target(at)),
			"no login":          service.Subscribe(ctx, api.User{Name: "v", Role: api.RoleAdmin}, s.target(at)),
			"a private address": service.Subscribe(ctx, bob, serve.PushTarget{Endpoint: "https://169.254.169.254/x", Key: s.browsers[at].Public(), Auth: s.browsers[at].Auth}),
			"no key":            service.Subscribe(ctx, bob, serve.PushTarget{Endpoint: at, Auth: s.browsers[at].Auth}),
		} {
			if p := (*api.Problem)(nil); !errors.As(err, &p) || p.Status < 400 || p.Status >= 500 {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// A login that has expired is told nothing, and its subscription goes.
func TestPushExpired(t *testing.T) {
	t.Parallel()
	pushes(t, func(t *testing.T, r *rig, s *pushService) {
		_, at := s.subscribed(r, "ada", api.RoleApprover)
		r.age(31 * 24 * time.Hour)
		r.asks("eve", "Late", true, "Bash")
		if got, left := s.received(at), r.records("serve-push"); len(got) != 0 || len(left) != 0 {
			t.Errorf("%q, and %q are left", got, left)
		}
	})
}

// A push service that fails is asked again, as late as it wants, but not for ever; it
// holds up no other. What was decided meanwhile is not sent.
func TestPushAgain(t *testing.T) {
	t.Parallel()
	pushes(t, func(t *testing.T, r *rig, s *pushService) {
		ada, slow := s.subscribed(r, "ada", api.RoleApprover)
		_, quick := s.subscribed(r, "bob", api.RoleApprover)
		s.answer = func(at string, n int) (int, http.Header, error) {
			switch {
			case at == quick:
				return http.StatusCreated, nil, nil
			case n == 1:
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"60"}}, nil
			case n == 2:
				return 0, nil, errors.New("no route")
			}
			return http.StatusBadGateway, nil, nil
		}
		r.asks("eve", "One", true, "Bash")
		second := r.asks("eve", "Two", true, "Bash")
		if a, b := s.received(slow), s.received(quick); len(a) != 1 || len(b) != 2 {
			t.Fatalf("%q and %q", a, b)
		}
		<-time.After(54 * time.Second)
		if got := s.received(slow); len(got) != 1 {
			t.Errorf("within a minute: %q", got)
		}
		<-time.After(5 * time.Second)
		if got := s.received(slow); len(got) != 2 {
			t.Errorf("after a minute: %q", got)
		}
		<-time.After(5 * time.Minute)
		if got := s.received(slow); len(got) < 5 || strings.Contains(strings.Join(got[:5], ""), second) {
			t.Errorf("after five attempts: %q", got)
		}
		a, err := r.server.Service().Approval(t.Context(), ada, second)
		if err == nil {
			_, err = r.server.Service().Decide(t.Context(), ada, second, api.Decision{Decision: api.DecideDeny, Digest: a.Digest})
		}
		if err != nil {
			t.Fatal(err)
		}
		had := len(s.received(slow))
		<-time.After(time.Hour)
		if got := s.received(slow); len(got) != had || had > 10 {
			t.Errorf("%d notices, and %d after the decision", had, len(got))
		}
		if n := len(r.records("serve-push")); n != 2 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

// A browser that subscribes anew while its old address is being refused stays subscribed.
func TestPushRenewed(t *testing.T) {
	t.Parallel()
	for _, refused := range []int{http.StatusNotFound, http.StatusGone} {
		pushes(t, func(t *testing.T, r *rig, s *pushService) {
			ada, old := s.subscribed(r, "ada", api.RoleApprover)
			renewed := old + "/renewed"
			s.browsers[renewed] = s.browsers[old]
			s.answer = func(at string, _ int) (int, http.Header, error) {
				if at != old {
					return http.StatusCreated, nil, nil
				}
				return refused, nil, r.server.Service().Subscribe(t.Context(), ada, s.target(renewed))
			}
			r.asks("eve", "One", true, "Bash")
			if left := r.records("serve-push"); len(s.received(old)) != 1 || len(left) != 1 || left[0] != ada.Login {
				t.Fatalf("after %d: %q are left, want %s", refused, left, ada.Login)
			}
			r.asks("eve", "Two", true, "Bash")
			if a, b := s.received(old), s.received(renewed); len(a) != 1 || len(b) != 1 {
				t.Errorf("after %d: %q, and at the new address %q", refused, a, b)
			}
		})
	}
}

// The key outlives the server: browsers are bound to it.
func TestPushKey(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	var keys []string
	for range 2 {
		r := newRig(t, db, func(o *serve.Options) { o.Push = &serve.Push{Contact: "https://example.com"} })
		key, err := r.server.Service().PushKey(t.Context())
		if err != nil || len(key) != 87 {
			t.Fatal(err, key)
		}
		keys = append(keys, key)
	}
	if keys[0] != keys[1] {
		t.Errorf("the keys are %q", keys)
	}
	r := newRig(t, db, nil)
	if key, err := r.server.Service().PushKey(t.Context()); key != "" || err != nil {
		t.Errorf("without pushes: %q %v", key, err)
	}
	if _, err := serve.New(r.fleet, serve.Options{Records: db, Project: "p", Presets: r.options.Presets, Push: &serve.Push{Contact: "me"}}); err == nil {
		t.Error("a contact that is not an address is taken")
	}
}
