package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// The proxy of a server takes the key from its environment, and the CLIs get another.
func TestServeEgress(t *testing.T) {
	for variable, want := range map[string]string{"ANTHROPIC_API_KEY": "real-key", "ANTHROPIC_AUTH_TOKEN": "Bearer real-key", "CLAUDE_CODE_OAUTH_TOKEN": "Bearer real-key"} {
		sent := make(chan string, 1)
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent <- r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"input_tokens":1}`)
		}))
		defer upstream.Close()
		log := new(lockedText)
		c := &console{env: []string{variable + "=real-key", "ANTHROPIC_BASE_URL=" + upstream.URL}}
		e, end, err := (&serveEgress{Egress: true}).open(c, &serveSetup{store: store.Memory(), refused: newRefusedHosts()}, "p", false, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		pass, err := e.Proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "c", Tenant: "t"}, Form: e.Form})
		if err != nil {
			t.Fatal(err)
		}
		env := strings.Join(pass.Env(e.URL, c.env), "\n")
		if !strings.Contains(env, variable+"="+pass.Sentinel()) || strings.Contains(env, "real-key") || strings.Contains(env, upstream.URL) {
			t.Errorf("%s: the environment of a CLI is\n%s", variable, env)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/v1/messages/count_tokens", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Set("X-Api-Key", pass.Sentinel()); e.Form != egress.FormAPIKey {
			req.Header = http.Header{"Authorization": {"Bearer " + pass.Sentinel()}}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v\n%s", variable, res, err, log)
		}
		if got := <-sent; got != want {
			t.Errorf("%s: the API reads %q, want %q", variable, got, want)
		}
		end()
		if again, err := http.DefaultClient.Do(req.Clone(context.Background())); err == nil {
			t.Errorf("%s: the proxy still answers: %s", variable, again.Status)
		}
		if strings.Contains(log.String(), "real-key") {
			t.Errorf("the log has the key:\n%s", log)
		}
	}
}

// What cannot be is refused before anything is served, without a key in the message.
func TestServeEgressRefuses(t *testing.T) {
	for _, tt := range []struct{ args, env, want string }{
		{"--egress", "", "ANTHROPIC_API_KEY"},
		{"--egress --demo", "ANTHROPIC_API_KEY=real-key", "--demo"},
		{"--egress-host=github.com", "ANTHROPIC_API_KEY=real-key", "needs --egress"},
		{"--egress --egress-host=https://github.com", "ANTHROPIC_API_KEY=real-key", "github.com"},
		{"--egress", "ANTHROPIC_API_KEY=real-key\nANTHROPIC_BASE_URL=http://example.com", "https"},
	} {
		args := append([]string{"serve", "--store", t.TempDir()}, strings.Fields(tt.args)...)
		var said strings.Builder
		env := []string{"HOME=" + t.TempDir(), "USER=ada", "PATH=" + os.Getenv("PATH")}
		if tt.env != "" {
			env = append(env, strings.Split(tt.env, "\n")...)
		}
		code := run(t.Context(), args, strings.NewReader(""), io.Discard, &said, env)
		if code != int(exitUsage) || !strings.Contains(said.String(), tt.want) || strings.Contains(said.String(), "real-key") {
			t.Errorf("%s: exit %d: %s", tt.args, code, &said)
		}
	}
}

// lockedText is a log that is read while others may write to it.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
