package fleet

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/egress"
)

const realKey = "sk-ant-api03-the-real-key"

// startEgress starts a proxy before an API that takes only the real key.
func startEgress(t *testing.T) *Egress {
	t.Helper()
	return startEgressTo(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != realKey {
			t.Errorf("the API is asked with %v", r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model":"claude-opus-4-8","usage":{"input_tokens":1000000,"output_tokens":0}}`)
	})
}

// startEgressTo starts a proxy before an API.
func startEgressTo(t *testing.T, answer http.HandlerFunc) *Egress {
	t.Helper()
	api := httptest.NewServer(answer)
	t.Cleanup(api.Close)
	proxy, err := egress.New(egress.Options{Upstream: api.URL, Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
		return egress.Credential{Secret: realKey}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	url, err := proxy.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &Egress{Proxy: proxy, URL: url}
}

// askAPI asks as a CLI with this environment would, and returns the status.
func askAPI(t *testing.T, env []string) int {
	t.Helper()
	resp := requestAPI(context.Background(), t, env)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// requestAPI asks as a CLI with this environment would.
func requestAPI(ctx context.Context, t *testing.T, env []string) *http.Response {
	t.Helper()
	value := func(name string) string {
		i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if i < 0 {
			t.Fatalf("the environment has no %s: %q", name, env)
		}
		return strings.TrimPrefix(env[i], name+"=")
	}
	req, err := http.NewRequestWithContext(ctx, "POST", value("ANTHROPIC_BASE_URL")+"/v1/messages", strings.NewReader(`{"model":"claude-opus-4-8","max_tokens":10}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", value("ANTHROPIC_API_KEY"))
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A lost lease cuts the answer that is being written, and the end of a CLI does too.
func TestOutletCutsAnswers(t *testing.T) {
	for _, how := range []string{"lost", "closed"} {
		t.Run(how, func(t *testing.T) {
			e := startEgressTo(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {}\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done() // the proxy hangs up
			})
			var u outlet
			lost := make(chan struct{})
			o := new(claude.Options)
			if err := u.open(e, "ada", lost, o); err != nil {
				t.Fatal(err)
			}
			defer u.close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			resp := requestAPI(ctx, t, o.Env)
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, len("data: {}\n\n"))); err != nil {
				t.Fatal(err)
			}
			if how == "lost" {
				close(lost)
			} else {
				u.close()
			}
			if _, err := io.ReadAll(resp.Body); err == nil || ctx.Err() != nil {
				t.Errorf("the answer was not cut: %v", err)
			}
		})
	}
}

// A sentinel ends with the CLI and with the lease, and the next CLI has another.
func TestOutlet(t *testing.T) {
	e := startEgress(t)
	e.Budget = func(key string) egress.Budget {
		if key != "acme/ada" {
			t.Errorf("the budget of %s", key)
		}
		return egress.Budget{USD: 8}
	}
	var u outlet
	u.close()
	lost := make(chan struct{})
	o := &claude.Options{Env: []string{"A=b", "ANTHROPIC_API_KEY=" + realKey, "COPY=" + realKey}}
	given := slices.Clone(o.Env)
	first := *o
	if err := u.open(e, "acme/ada", lost, &first); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Env, given) {
		t.Errorf("the user's options were changed: %q", o.Env)
	}
	if strings.Contains(strings.Join(first.Env, " "), realKey) || !slices.Contains(first.Env, "A=b") {
		t.Errorf("the CLI has %q", first.Env)
	}
	if got := askAPI(t, first.Env); got != 200 {
		t.Errorf("while the CLI runs: %d", got)
	}
	second := *o
	if err := u.open(e, "acme/ada", lost, &second); err != nil {
		t.Fatal(err)
	}
	if got := askAPI(t, first.Env); got != 401 {
		t.Errorf("with the sentinel of an earlier CLI: %d", got)
	}
	if got := askAPI(t, second.Env); got != 200 {
		t.Errorf("with the next CLI: %d", got)
	}
	if got := askAPI(t, second.Env); got != 402 {
		t.Errorf("with a spent budget: %d", got)
	}
	close(lost)
	if got := askAPI(t, second.Env); got != 401 {
		t.Errorf("with a lost lease: %d", got)
	}
	u.close()
	u.close()
	if got := askAPI(t, second.Env); got != 401 {
		t.Errorf("after the CLI has ended: %d", got)
	}
	none := *o
	if err := u.open(nil, "acme/ada", lost, &none); err != nil || !slices.Equal(none.Env, given) {
		t.Errorf("without a proxy: %q, %v", none.Env, err)
	}
	e.Proxy.Close()
	if err := u.open(e, "acme/ada", lost, &none); err == nil || strings.Contains(err.Error(), realKey) {
		t.Errorf("with a closed proxy: %v", err)
	}
	for _, bad := range []*Egress{{}, {URL: e.URL}, {Proxy: e.Proxy}} {
		if bad.check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// StartEgress and AskAPI are for the tests outside.
var (
	StartEgress = startEgress
	AskAPI      = askAPI
)
