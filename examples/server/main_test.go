package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

// page is a client: it posts, and reads events.
type page struct {
	t   *testing.T
	url string
}

func (p *page) post(ctx context.Context, path, body string) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// ticket is that of a question among the events.
func (p *page) ticket(data string) string {
	var question struct{ Ticket string }
	if err := json.Unmarshal([]byte(data), &question); err != nil || question.Ticket == "" {
		p.t.Fatalf("no ticket in %s: %v", data, err)
	}
	return question.Ticket
}

func start(t *testing.T, cli *claudetest.CLI) *page {
	srv := httptest.NewServer(newServer(cli))
	t.Cleanup(srv.Close)
	return &page{t, srv.URL}
}

func TestServer(t *testing.T) {
	cli := claudetest.New(
		claudetest.UseTool("Bash", map[string]string{"command": "rm x"}),
		claudetest.UseTool("Write", map[string]string{"file_path": "x"}),
		claudetest.Say("Done."),
	)
	p := start(t, cli)
	answers := map[string]string{"Bash": "no shell", "Write": "allow"}
	var got []string
	event, lines := "", bufio.NewScanner(p.post(t.Context(), "/ask", "Make x").Body)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
			got = append(got, name)
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event != "permission" {
			continue
		}
		for tool, answer := range answers {
			if strings.Contains(data, `"tool":"`+tool+`"`) {
				if resp := p.post(t.Context(), "/approvals/"+p.ticket(data), answer); resp.StatusCode != http.StatusOK {
					t.Errorf("answer %q: %s", answer, resp.Status)
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(got, " "), "permission permission text result"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	cli.Recording().WantDenied(t, "Bash", "no shell")
	cli.Recording().WantRan(t, "Write")
}

func TestStrangers(t *testing.T) {
	p := start(t, claudetest.New())
	if resp := p.post(t.Context(), "/approvals/guess", "allow"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a ticket that nobody has: %s, want 404", resp.Status)
	}
	req := httptest.NewRequest("POST", "/ask", strings.NewReader("Hello"))
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp := httptest.NewRecorder()
	newServer(claudetest.New()).ServeHTTP(resp, req)
	if resp.Code != http.StatusForbidden {
		t.Errorf("another site: %d, want 403", resp.Code)
	}
}

// A page that goes away while it is asked takes its session with it.
func TestGone(t *testing.T) {
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}))
	s := &server{cli: cli}
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ask(w, r)
		close(done)
	}))
	defer srv.Close()
	ctx, leave := context.WithCancel(t.Context())
	p := &page{t, srv.URL}
	lines := bufio.NewScanner(p.post(ctx, "/ask", "Build it").Body)
	if !lines.Scan() || lines.Text() != "event: permission" {
		t.Fatalf("got %q, want a question", lines.Text())
	}
	leave()
	<-done
	if bash := cli.Recording().Tool(t, "Bash"); bash.Ran {
		t.Error("the tool ran, although nobody allowed it")
	}
}
