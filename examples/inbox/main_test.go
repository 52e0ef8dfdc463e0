package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/serve/api"
)

// person is a user with a browser.
type person struct {
	t    *testing.T
	base string
	http http.Client
}

func newPerson(t *testing.T, base string) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, base, http.Client{Jar: jar}}
}

// login logs in and returns the status of what the person sees next.
func (p *person) login(name, password string) int {
	p.t.Helper()
	reply, err := p.http.PostForm(p.base+"/app/login", url.Values{"name": {name}, "password": {password}})
	if err != nil {
		p.t.Fatal(err)
	}
	reply.Body.Close()
	return reply.StatusCode
}

// do makes a request to the API and decodes the answer.
func (p *person) do(method, path, body string, into any) int {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			p.t.Fatalf("%v: %s", err, data)
		}
	}
	return reply.StatusCode
}

// An engineer prompts, a lead decides, a guest looks, and a stranger does
// nothing: each is logged in by the application.
func TestOwnUsers(t *testing.T) {
	ran := make(chan struct{}, 1)
	cli := claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if len(c.ToolResults) > 0 {
				return claudetest.Say("Deployed.")
			}
			return claudetest.UseTool("Bash", map[string]string{"command": "make deploy"})
		},
		Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			ran <- struct{}{}
			return host.TextOutput("done"), nil
		}},
	})
	app, err := start(t.Context(), t.TempDir(), &claude.Options{Transport: cli, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(app)
	t.Cleanup(func() { app.close(); server.Close() })

	stranger, ada, grace, mary := newPerson(t, server.URL), newPerson(t, server.URL), newPerson(t, server.URL), newPerson(t, server.URL)
	if status := stranger.login("ada", "guess"); status != http.StatusUnauthorized {
		t.Errorf("a wrong password: %d", status)
	}
	if status := stranger.do("GET", "/v1/server", "", nil); status != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", status)
	}
	for name, p := range map[string]*person{"ada lovelace": ada, "grace hopper": grace, "mary shelley": mary} {
		name, password, _ := strings.Cut(name, " ")
		if status := p.login(name, password); status != http.StatusOK {
			t.Fatalf("%s sees %d after the login", name, status)
		}
	}
	const begin = `{"preset":"work","content":"Deploy it","shared":true}`
	if status := mary.do("POST", "/v1/conversations", begin, nil); status != http.StatusForbidden {
		t.Errorf("a guest begins a conversation: %d", status)
	}
	var conversation api.Conversation
	if status := ada.do("POST", "/v1/conversations", begin, &conversation); status != http.StatusCreated || conversation.Owner != "ada" {
		t.Fatalf("%d: %+v", status, conversation)
	}
	asked := waitForApproval(t, grace)
	decision := `{"decision":"allow","digest":"` + asked.Digest + `"}`
	if status := mary.do("POST", "/v1/approvals/"+asked.ID+"/decision", decision, nil); status != http.StatusForbidden {
		t.Errorf("a guest decides: %d", status)
	}
	var decided api.Approval
	if status := grace.do("POST", "/v1/approvals/"+asked.ID+"/decision", decision, &decided); status != http.StatusOK || decided.DecidedBy != "grace" {
		t.Errorf("%d: %+v", status, decided)
	}
	<-ran
}

// waitForApproval follows the feed until an approval is requested.
func waitForApproval(t *testing.T, p *person) api.Approval {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"/v1/feed", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	for buffer := make([]byte, 64<<10); ; {
		if _, err := reply.Body.Read(buffer); err != nil {
			t.Fatal(err)
		}
		var list api.List[api.Approval]
		p.do("GET", "/v1/approvals?state=pending", "", &list)
		if len(list.Items) > 0 {
			return list.Items[0]
		}
	}
}
