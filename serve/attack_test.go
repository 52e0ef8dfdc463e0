package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A proxy names one user. A header that came twice was also sent by someone else, and
// none of the two names counts, in whatever order they come.
func TestProxyHeaderTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) {
		o.ProxyHeader, o.ProxyFrom, o.ProxyRole = "Remote-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, api.RoleAdmin
	})
	for _, names := range [][]string{{"root", "ada"}, {"ada", "root"}, {"ada", "ada"}, {"", "ada"}, {"ada", ""}, {""}, {}} {
		req := (&client{rig: r}).request("GET", "/v1/server", nil)
		for _, name := range names {
			req.Header.Add("Remote-User", name)
		}
		res, err := r.http.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: status %d", names, res.StatusCode)
		}
	}
}

// Another site can do nothing in the name of who is logged in, with whatever method.
func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("hello")
	ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
	at := "/v1/conversations/" + own.ID
	for _, call := range []struct{ method, path, body string }{
		{"DELETE", at, ""},
		{"PATCH", at, `{"title":"stolen"}`},
		{"POST", at + "/prompts", `{"content":"rob"}`},
		{"POST", at + "/interrupt", ""},
		{"DELETE", "/v1/login", ""},
		{"DELETE", "/v1/logins/ccs-0", ""},
		{"PUT", at, `{}`},
	} {
		for _, from := range [][]string{
			{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"},
		} {
			var body any
			if call.body != "" {
				body = call.body
			}
			if got := ada.do(call.method, call.path, body, from...); got.status != http.StatusForbidden {
				t.Errorf("%s %s from %q: status %d, %s", call.method, call.path, from, got.status, got.body)
			}
		}
	}
	if got := get[api.Conversation](ada, at); got.Title != own.Title && got.Title == "stolen" {
		t.Errorf("the title is %q", got.Title)
	}
	if got := ada.do("DELETE", at, nil, "Origin", r.http.URL, "Sec-Fetch-Site", "same-origin"); got.status != http.StatusNoContent {
		t.Errorf("the page itself cannot delete: %d %s", got.status, got.body)
	}
}

// Connections that send half of a body end soon, wherever they lead and however many they
// are: the server does not wait for strangers. Users have longer, for pictures on slow lines.
func TestHalfSentBodies(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: r.server}
		go server.Serve(listener)
		defer server.Close()
		token := r.bearerOf("ada", api.RoleOperator).Get("Authorization")
		var ended sync.WaitGroup
		for _, c := range []struct {
			path, token string
			most        time.Duration
		}{
			{"/v1/login", "", 15 * time.Second}, {"/v1/conversations", "", 15 * time.Second}, {"/ag-ui/shop", "", 15 * time.Second},
			{"/v1/conversations", token, 3 * time.Minute},
		} {
			for range 50 {
				client, there := net.Pipe()
				listener.conns <- named{there, listener.Addr()}
				ended.Go(func() {
					defer client.Close()
					begun := time.Now()
					_ = client.SetDeadline(begun.Add(time.Hour))
					_, err := fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", c.path, c.token)
					if err == nil {
						_, err = io.Copy(io.Discard, client)
					}
					if took := time.Since(begun); took > c.most {
						t.Errorf("%s with the token %.8q stayed for %s: %v", c.path, c.token, took, err)
					}
				})
			}
		}
		ended.Wait()
	})
}

// leaving is the context of a request whose client goes away when it was looked at
// left times.
type leaving struct {
	context.Context
	mu   sync.Mutex
	left int
	gone chan struct{}
}

func (c *leaving) Done() <-chan struct{} { return c.gone }

func (c *leaving) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		close(c.gone)
	}
	if c.left <= 0 {
		return context.Canceled
	}
	return nil
}

// A client that goes away in the middle of a request, wherever that is, can repeat it
// with its Idempotency-Key: it is answered at once, and nothing is made twice.
func TestClientLeavesWithItsKey(t *testing.T) {
	t.Parallel()
	const most = 60
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	seen := make(map[string]bool)
	done := 0 // requests that were over before their client left
	for n := 1; n <= most && done < 3; n++ {
		key := "k" + strconv.Itoa(n)
		send := func(ctx context.Context) *httptest.ResponseRecorder {
			req := ada.request("POST", "/v1/conversations", `{"preset":"shop","title":"`+key+`"}`, "Idempotency-Key", key)
			w := httptest.NewRecorder()
			req.RequestURI, req.RemoteAddr = req.URL.RequestURI(), "127.0.0.1:1"
			r.server.ServeHTTP(w, req.WithContext(ctx))
			return w
		}
		ctx := &leaving{Context: t.Context(), left: n, gone: make(chan struct{})}
		send(ctx)
		if ctx.left > 0 {
			done++
		}
		again := send(t.Context())
		if again.Code != http.StatusCreated {
			t.Errorf("left after %d looks: status %d, %s", n, again.Code, again.Body)
			continue
		}
		if third := send(t.Context()); third.Body.String() != again.Body.String() || third.Header().Get("Idempotency-Replayed") != "true" {
			t.Errorf("left after %d looks: repeated with %d %s", n, third.Code, third.Body)
		}
		where := again.Header().Get("Location")
		if seen[where] {
			t.Errorf("left after %d looks: %s again", n, where)
		}
		seen[where] = true
	}
	if done == 0 {
		t.Errorf("no request was over after %d looks", most)
	}
	if made := get[api.List[api.Conversation]](ada, "/v1/conversations?limit=200").Items; len(made) != len(seen) {
		t.Errorf("%d conversations for %d keys", len(made), len(seen))
	}
}
