package egress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/egress"
)

// realKey must never reach a conversation.
const realKey = "sk-ant-api03-the-real-key-of-the-account"

// fixture is a proxy before an API of the test's own.
type fixture struct {
	t     *testing.T
	proxy *egress.Proxy
	url   string
	api   *httptest.Server

	mu    sync.Mutex
	log   bytes.Buffer
	seen  []*http.Request // what has reached the API
	given []string        // sentinels
}

// Write is the log.
func (f *fixture) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

func (f *fixture) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}

func (f *fixture) asked() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// start starts a proxy. At the end of the test, its log must hold neither the key nor a
// sentinel.
func start(t *testing.T, api http.HandlerFunc, change func(*egress.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t}
	f.api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kept := r.Clone(context.Background())
		kept.Body = io.NopCloser(bytes.NewReader(body))
		f.mu.Lock()
		f.seen = append(f.seen, kept)
		f.mu.Unlock()
		api(w, r)
	}))
	t.Cleanup(f.api.Close)
	o := egress.Options{
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
			return egress.Credential{Secret: realKey}, nil
		},
		Upstream: f.api.URL,
		Logger:   slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	var err error
	if f.proxy, err = egress.New(o); err != nil {
		t.Fatal(err)
	}
	if f.url, err = f.proxy.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.proxy.Close(); err != nil {
			t.Error(err)
		}
		for _, s := range append(f.given, realKey) {
			if strings.Contains(f.logged(), s) {
				t.Errorf("the log has %s:\n%s", s, f.logged())
			}
		}
	})
	return f
}

func (f *fixture) grant(change func(*egress.Grant)) *egress.Pass {
	f.t.Helper()
	g := egress.Grant{Conversation: egress.Conversation{ID: "c1", Tenant: "acme"}}
	if change != nil {
		change(&g)
	}
	pass, err := f.proxy.Grant(g)
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = append(f.given, pass.Sentinel())
	return pass
}

// do sends a request with a key, and returns the answer and its text.
func (f *fixture) do(method, path, key, body string, header ...string) (*http.Response, string, error) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return new(http.Response), "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

const question = `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[]}`

func (f *fixture) ask(pass *egress.Pass) (*http.Response, string, error) {
	f.t.Helper()
	return f.do("POST", "/v1/messages?beta=true", pass.Sentinel(), question)
}

// whole answers with a message of so many tokens.
func whole(in, out int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"type":"message","model":"claude-opus-4-8","usage":{"input_tokens":%d,"output_tokens":%d}}`, in, out)
	}
}

// apiError checks that a text is an error in the form of the API.
func apiError(t *testing.T, text string) (kind, message string) {
	t.Helper()
	var e struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Type != "error" || e.Error.Type == "" || e.Error.Message == "" {
		t.Errorf("not an error of the API: %s (%v)", text, err)
	}
	return e.Error.Type, e.Error.Message
}

// The API sees the real credential in its own form, whatever form the sentinel has, and
// nothing of the sentinel.
func TestInjects(t *testing.T) {
	for _, real := range []egress.Form{egress.FormAPIKey, egress.FormBearer, egress.FormOAuth} {
		for _, form := range []egress.Form{egress.FormAPIKey, egress.FormBearer, egress.FormOAuth} {
			f := start(t, whole(1, 1), func(o *egress.Options) {
				o.Credential = func(_ context.Context, c egress.Conversation) (egress.Credential, error) {
					if c.ID != "c1" || c.Tenant != "acme" {
						t.Errorf("asked for %+v", c)
					}
					return egress.Credential{Form: real, Secret: realKey}, nil
				}
			})
			pass := f.grant(func(g *egress.Grant) { g.Form = form })
			key, authorization := pass.Sentinel(), ""
			if form != egress.FormAPIKey {
				key, authorization = "", "Bearer "+pass.Sentinel()
			}
			resp, text, err := f.do("POST", "/v1/messages?beta=true", key, question, "Authorization", authorization,
				"Anthropic-Version", "2023-06-01", "Anthropic-Beta", "one", "Cookie", "a=b", "X-Forwarded-For", "x", "Accept-Encoding", "br")
			if err != nil || resp.StatusCode != 200 || !strings.Contains(text, `"input_tokens":1`) {
				t.Fatalf("%s for %s: %d %s, %v", form, real, resp.StatusCode, text, err)
			}
			got := f.asked()[0]
			wantKey, wantAuthorization, wantBeta := realKey, "", "one"
			if real != egress.FormAPIKey {
				wantKey, wantAuthorization = "", "Bearer "+realKey
			}
			if real == egress.FormOAuth {
				wantBeta = "one,oauth-2025-04-20"
			}
			if h := got.Header; h.Get("X-Api-Key") != wantKey || h.Get("Authorization") != wantAuthorization || h.Get("Anthropic-Beta") != wantBeta ||
				h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Cookie") != "" || h.Get("X-Forwarded-For") != "" || h.Get("Accept-Encoding") != "gzip" {
				t.Errorf("%s for %s: the API gets %v", form, real, h)
			}
			if got.URL.String() != "/v1/messages?beta=true" || got.Host != strings.TrimPrefix(f.api.URL, "http://") {
				t.Errorf("the API is asked %s at %s", got.URL, got.Host)
			}
			if body, _ := io.ReadAll(got.Body); string(body) != question {
				t.Errorf("the API is asked %s", body)
			}
			if all := fmt.Sprint(got.Header, got.URL); strings.Contains(all, pass.Sentinel()) {
				t.Errorf("the sentinel reaches the API: %s", all)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	f := start(t, whole(1, 1), nil)
	pass := f.grant(nil)
	other, err := egress.New(egress.Options{Credential: func(context.Context, egress.Conversation) (egress.Credential, error) { return egress.Credential{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	foreign, err := other.Grant(egress.Grant{Conversation: egress.Conversation{ID: "c1"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, method, path, key, body string
		status                        int
		kind                          string
	}{
		{"no key", "POST", "/v1/messages", "", question, 401, "authentication_error"},
		{"the real key", "POST", "/v1/messages", realKey, question, 401, "authentication_error"},
		{"a sentinel of another proxy", "POST", "/v1/messages", foreign.Sentinel(), question, 401, "authentication_error"},
		{"a part of the sentinel", "POST", "/v1/messages", pass.Sentinel()[:40], question, 401, "authentication_error"},
		{"another path", "POST", "/v1/files", pass.Sentinel(), question, 403, "permission_error"},
		{"a path that leads back", "POST", "/v1/messages/../files", pass.Sentinel(), question, 403, "permission_error"},
		{"another method", "PUT", "/v1/messages", pass.Sentinel(), question, 403, "permission_error"},
		{"settings", "GET", "/api/claude_code/settings", pass.Sentinel(), "", 404, "not_found_error"},
		{"not JSON", "POST", "/v1/messages", pass.Sentinel(), "nonsense", 400, "invalid_request_error"},
		{"two models", "POST", "/v1/messages", pass.Sentinel(), `{"model":"a","model":"b"}`, 400, "invalid_request_error"},
	} {
		resp, text, err := f.do(test.method, test.path, test.key, test.body)
		kind, _ := apiError(t, text)
		if err != nil || resp.StatusCode != test.status || kind != test.kind {
			t.Errorf("%s: %d %s, %v", test.name, resp.StatusCode, text, err)
		}
	}
	if n := len(f.asked()); n != 0 {
		t.Errorf("%d requests have reached the API", n)
	}
	if resp, _, err := f.do("HEAD", "/", "", ""); err != nil || resp.StatusCode != 200 {
		t.Errorf("HEAD /: %v, %v", resp, err)
	}
	// As a plain http proxy it is of no use.
	req, _ := http.NewRequestWithContext(t.Context(), "GET", f.url, nil)
	req.Header.Set("X-Api-Key", pass.Sentinel())
	req.URL.Opaque = "http://127.0.0.1:9/v1/messages"
	if resp, err := http.DefaultTransport.RoundTrip(req); err != nil || resp.StatusCode != 403 {
		t.Errorf("a plain request for another host: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

// Each piece of a stream arrives before the next is sent.
func TestStreamsWithoutDelay(t *testing.T) {
	arrived := make(chan struct{})
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 20 {
			fmt.Fprintf(w, "data: {\"type\":\"ping\",\"n\":%d}\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-arrived:
			case <-r.Context().Done():
				return
			}
		}
	}, nil)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/messages", strings.NewReader(question))
	req.Header.Set("X-Api-Key", f.grant(nil).Sentinel())
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for i := range 20 {
		want := fmt.Sprintf("data: {\"type\":\"ping\",\"n\":%d}\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("piece %d: %q, %v", i, got, err)
		}
		arrived <- struct{}{}
	}
}

// Errors of the API reach the client as they are, and cost nothing.
func TestPassesErrorsOn(t *testing.T) {
	for _, status := range []int{400, 401, 403, 413, 429, 500, 503, 529} {
		const text = `{"type":"error","error":{"type":"x","message":"as it is"}}`
		f := start(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Request-Id", "req_1")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}, nil)
		pass := f.grant(nil)
		resp, got, err := f.ask(pass)
		if err != nil || resp.StatusCode != status || got != text || resp.Header.Get("Retry-After") != "7" || resp.Header.Get("Request-Id") != "req_1" {
			t.Errorf("%d: %d %s %v, %v", status, resp.StatusCode, got, resp.Header, err)
		}
		if spent, err := pass.Spent(t.Context()); err != nil || spent != (egress.Amount{}) {
			t.Errorf("%d: spent %+v, %v", status, spent, err)
		}
	}
}

// An API that repeats the key in an error does not get it through.
func TestHidesEchoedKey(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Debug", r.Header.Get("X-Api-Key"))
		w.WriteHeader(401)
		fmt.Fprintf(w, "wrong key %s!", r.Header.Get("X-Api-Key"))
	}, nil)
	resp, text, err := f.ask(f.grant(nil))
	if err != nil || text != "wrong key [redacted]!" || resp.Header.Get("X-Debug") != "" {
		t.Errorf("%s %v, %v", text, resp.Header, err)
	}
}

// The key is not carried elsewhere by a redirect.
func TestFollowsNoRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked with %v", r.Header) }))
	defer elsewhere.Close()
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}, nil)
	resp, text, err := f.ask(f.grant(nil))
	if err != nil || resp.StatusCode != 502 || resp.Header.Get("Location") != "" {
		t.Errorf("%d %s %v, %v", resp.StatusCode, text, resp.Header, err)
	}
	apiError(t, text)
}

func TestUnreachableAPI(t *testing.T) {
	f := start(t, whole(1, 1), nil)
	f.api.Close()
	pass := f.grant(nil)
	resp, text, err := f.ask(pass)
	if err != nil || resp.StatusCode != 502 || resp.Header.Get("X-Should-Retry") != "" {
		t.Errorf("%d %s %v, %v", resp.StatusCode, text, resp.Header, err)
	}
	apiError(t, text)
	if spent, err := pass.Spent(t.Context()); err != nil || spent != (egress.Amount{}) {
		t.Errorf("spent %+v, %v", spent, err)
	}
}

// A stream that the API cuts does not look whole, and what came is paid for.
func TestCutStream(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-opus-4-8\",\"usage\":{\"input_tokens\":1000000,\"output_tokens\":1}}}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	pass := f.grant(nil)
	resp, text, err := f.ask(pass)
	if resp.StatusCode != 200 || !strings.Contains(text, "message_start") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d %q, %v", resp.StatusCode, text, err)
	}
	if err := f.proxy.Close(); err != nil { // it waits for the settlement
		t.Fatal(err)
	}
	if spent, err := pass.Spent(t.Context()); err != nil || spent.USD < 5 || spent.USD > 5.01 {
		t.Errorf("spent %+v, %v; want $5", spent, err)
	}
}

// A compressed answer is counted as well: the proxy asks for no compression that it cannot
// read.
func TestCountsCompressed(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("accepts %s", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(gzipped(t, `{"model":"claude-opus-4-8","usage":{"input_tokens":1000000,"output_tokens":0}}`))
	}, nil)
	pass := f.grant(nil)
	resp, text, err := f.ask(pass)
	if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(text, `{"model"`) {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
	if spent, err := pass.Spent(t.Context()); err != nil || spent != (egress.Amount{USD: 5, Tokens: 1000000}) {
		t.Errorf("spent %+v, %v", spent, err)
	}
}

// A spent budget is one clear refusal, which the CLI does not repeat. It holds for a new
// pass, for a new proxy with the same accounts, and for other conversations of the tenant.
func TestSpentBudget(t *testing.T) {
	accounts := egress.MemoryAccounts()
	own := egress.Budget{USD: 6}
	shared := func(o *egress.Options) {
		o.Accounts = accounts
		o.TenantBudget = func(tenant string) egress.Budget {
			if tenant != "acme" {
				return egress.Budget{}
			}
			return egress.Budget{USD: 12, Every: 24 * time.Hour}
		}
	}
	f := start(t, whole(1_000_000, 0), shared) // $5
	limited := func(id, tenant string) *egress.Pass {
		return f.grant(func(g *egress.Grant) { g.Conversation, g.Budget = egress.Conversation{ID: id, Tenant: tenant}, own })
	}
	want := func(pass *egress.Pass, status int, text string) {
		t.Helper()
		resp, got, err := f.ask(pass)
		if err != nil || resp.StatusCode != status || !strings.Contains(got, text) {
			t.Errorf("%d %s, %v; want %d %s", resp.StatusCode, got, err, status, text)
		}
		if status == 402 {
			if kind, _ := apiError(t, got); kind != "billing_error" || resp.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("%s %v", kind, resp.Header)
			}
		}
	}
	first := limited("c1", "acme")
	want(first, 200, "input_tokens")
	want(first, 200, "input_tokens")
	want(first, 402, "The budget of this conversation is spent: $10.00 of $6.00.")
	first.Revoke()
	want(limited("c1", "acme"), 402, "conversation is spent")
	want(limited("c2", "acme"), 200, "input_tokens")
	want(limited("c2", "acme"), 402, "The budget of this tenant is spent: $15.00 of $12.00. The next one begins at ")
	want(limited("c2", "other"), 200, "input_tokens")
	f = start(t, whole(1, 1), shared)
	want(limited("c1", "acme"), 402, "conversation is spent")
	if n := len(f.asked()); n != 0 {
		t.Errorf("%d requests have reached the API", n)
	}
}

func TestRate(t *testing.T) {
	f := start(t, whole(1, 1), nil)
	pass := f.grant(func(g *egress.Grant) { g.Budget.RequestsPerMinute = 2 })
	for range 2 {
		if resp, text, err := f.ask(pass); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%d %s, %v", resp.StatusCode, text, err)
		}
	}
	resp, text, err := f.ask(pass)
	if kind, _ := apiError(t, text); err != nil || resp.StatusCode != 429 || kind != "rate_limit_error" || resp.Header.Get("Retry-After") == "" || resp.Header.Get("X-Should-Retry") != "" {
		t.Errorf("%d %s %v, %v", resp.StatusCode, text, resp.Header, err)
	}
}

// Accounts that cannot be written let nothing through.
func TestAccountsFail(t *testing.T) {
	f := start(t, whole(1, 1), func(o *egress.Options) { o.Accounts = brokenAccounts{} })
	resp, text, err := f.ask(f.grant(nil))
	apiError(t, text)
	if err != nil || resp.StatusCode != 503 || len(f.asked()) != 0 || strings.Contains(text, "disk") || !strings.Contains(f.logged(), "disk is full") {
		t.Errorf("%d %s, %v; log %s", resp.StatusCode, text, err, f.logged())
	}
}

type brokenAccounts struct{}

func (brokenAccounts) Update(context.Context, []string, func([]egress.Balance) ([]egress.Balance, error)) error {
	return errors.New("the disk is full")
}

// An ended conversation is refused from the moment it has ended, in the middle of a stream.
func TestRevoke(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the proxy hangs up
	}, nil)
	pass := f.grant(nil)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/messages", strings.NewReader(question))
	req.Header.Set("X-Api-Key", pass.Sentinel())
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	pass.Revoke()
	pass.Revoke()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream ended as if it were whole")
	}
	after, text, err := f.ask(pass)
	if kind, _ := apiError(t, text); err != nil || after.StatusCode != 401 || kind != "authentication_error" || len(f.asked()) != 1 {
		t.Errorf("%d %s, %v", after.StatusCode, text, err)
	}
	if err := f.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.logged(), "unknown sentinel") {
		t.Errorf("the sentinel is still known; the log has %s", f.logged())
	}
}

// The lease is asked before each request.
func TestCheck(t *testing.T) {
	var lost error
	f := start(t, whole(1, 1), nil)
	pass := f.grant(func(g *egress.Grant) { g.Check = func(context.Context) error { return lost } })
	if resp, text, err := f.ask(pass); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %s, %v", resp.StatusCode, text, err)
	}
	lost = errors.New("the lease is another's")
	resp, text, err := f.ask(pass)
	if err != nil || resp.StatusCode != 401 || len(f.asked()) != 1 || strings.Contains(text, "lease") || !strings.Contains(f.logged(), "the lease is another's") {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
}

// A secret manager is asked once in a while, again when the API refuses the secret, and
// its failures stay in the log.
func TestCredentialFunction(t *testing.T) {
	asked, status := 0, 200
	var fails error
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		if status != 200 {
			w.WriteHeader(status)
			return
		}
		whole(1, 1)(w, r)
	}, func(o *egress.Options) {
		o.Credential = func(ctx context.Context, _ egress.Conversation) (egress.Credential, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("it may take forever")
			}
			asked++
			if asked == 4 {
				panic(realKey)
			}
			return egress.Credential{Secret: realKey}, fails
		}
	})
	pass := f.grant(nil)
	want := func(wantStatus, wantAsked int) {
		t.Helper()
		resp, text, err := f.ask(pass)
		if err != nil || resp.StatusCode != wantStatus || asked != wantAsked || strings.Contains(text, realKey) || strings.Contains(text, "vault") {
			t.Errorf("%d %s, %v, asked %d times; want %d, %d", resp.StatusCode, text, err, asked, wantStatus, wantAsked)
		}
	}
	want(200, 1)
	want(200, 1)
	status = 401
	want(401, 1)
	status = 200
	want(200, 2)
	pass.Revoke()
	pass = f.grant(nil)
	fails = errors.New("vault: permission denied for " + realKey)
	want(503, 3)
	want(503, 4)
	if !strings.Contains(f.logged(), "vault: permission denied") {
		t.Errorf("the log has %s", f.logged())
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, egress.Credential{Secret: realKey}); strings.Contains(text, realKey) {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

func TestBounds(t *testing.T) {
	release := make(chan struct{})
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		whole(1, 1)(w, r)
	}, func(o *egress.Options) { o.Bounds = egress.Bounds{Body: 1000, Concurrent: 3, PerPass: 2} })
	pass, other := f.grant(nil), f.grant(func(g *egress.Grant) { g.Conversation.ID = "c2" })
	if resp, text, err := f.do("POST", "/v1/messages", pass.Sentinel(), strings.Repeat(" ", 1001)); err != nil || resp.StatusCode != 413 {
		t.Errorf("too large: %d %s, %v", resp.StatusCode, text, err)
	}
	if resp, text, err := f.do("POST", "/v1/messages", pass.Sentinel(), question, "Content-Encoding", "gzip"); err != nil || resp.StatusCode != 415 {
		t.Errorf("compressed: %d %s, %v", resp.StatusCode, text, err)
	}
	var running sync.WaitGroup
	begin := func(p *egress.Pass, n int) {
		running.Go(func() {
			if resp, text, err := f.ask(p); err != nil || resp.StatusCode != 200 {
				t.Errorf("%d %s, %v", resp.StatusCode, text, err)
			}
		})
		for len(f.asked()) < n {
			if t.Context().Err() != nil {
				t.Fatal("not asked")
			}
		}
	}
	begin(pass, 1)
	begin(pass, 2)
	if resp, text, err := f.ask(pass); err != nil || resp.StatusCode != 429 {
		t.Errorf("a third of one pass: %d %s, %v", resp.StatusCode, text, err)
	}
	begin(other, 3)
	if resp, text, err := f.ask(other); err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("a fourth in all: %d %s, %v", resp.StatusCode, text, err)
	}
	close(release)
	running.Wait()
	if resp, text, err := f.ask(pass); err != nil || resp.StatusCode != 200 {
		t.Errorf("afterwards: %d %s, %v", resp.StatusCode, text, err)
	}
}

// A stream on which nothing comes is given up.
func TestIdleStream(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(o *egress.Options) {
		o.Bounds.Idle = 50 * time.Millisecond // real time: it has to end, whenever that is
	})
	if _, text, err := f.ask(f.grant(nil)); err == nil {
		t.Errorf("it ended as if it were whole: %q", text)
	}
	if err := f.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.logged(), "nothing came for too long") {
		t.Errorf("the log has %s", f.logged())
	}
}

// A proxy that takes the place of another at the same address is a cut stream to its
// clients, and no more.
func TestRestart(t *testing.T) {
	first := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, nil)
	pass := first.grant(nil)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", first.url+"/v1/messages", strings.NewReader(question))
	req.Header.Set("X-Api-Key", pass.Sentinel())
	cut, err := http.DefaultTransport.RoundTrip(req) // the stream has begun when it returns
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Body.Close()
	address := strings.TrimPrefix(first.url, "http://")
	if err := first.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(cut.Body); err == nil {
		t.Error("the stream ended as if it were whole")
	}
	second := start(t, whole(1, 1), nil)
	if _, err := second.proxy.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	again := second.grant(func(g *egress.Grant) { g.Sentinel = pass.Sentinel() })
	second.url = first.url
	if resp, text, err := second.ask(again); err != nil || resp.StatusCode != 200 {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
	if _, err := second.proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "x"}, Sentinel: pass.Sentinel()}); err == nil {
		t.Error("one sentinel stands for two conversations")
	}
	for _, bad := range []string{"short", realKey, pass.Sentinel() + "x", strings.Replace(pass.Sentinel(), "api03", "oat01", 1)} {
		if _, err := second.proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "x"}, Sentinel: bad}); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("a sentinel %s: %v", bad, err)
		}
	}
}
