package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
)

// echo is a CLI whose model repeats all prompts. The prompt "write" calls a tool
// first.
func echo() *claudetest.CLI {
	return claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if c.Prompt == "write" && len(c.ToolResults) == 0 {
				return claudetest.UseTool("Write", map[string]string{"file_path": "note.txt", "content": "Mo"})
			}
			var prompts []string
			for _, m := range c.Messages {
				if m.Role == "user" && m.Text != "" {
					prompts = append(prompts, m.Text)
				}
			}
			return claudetest.Say(strings.Join(prompts, ", "))
		},
		Tools: map[string]host.RunFunc{"Write": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("written"), nil
		}},
	})
}

// start serves Ada and Bob on a scripted CLI.
func start(t *testing.T, cli *claudetest.CLI) (ada, bob browser) {
	t.Helper()
	_, ada, bob = startFleet(t, cli)
	return ada, bob
}

// startFleet does so, and also returns the fleet.
func startFleet(t *testing.T, cli *claudetest.CLI) (f *fleet.Fleet, ada, bob browser) {
	t.Helper()
	f, err := openFleet(t.Context(), t.TempDir(), cli)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{login: byToken("ada:a,bob:b,../ada:c"), fleet: f}
	srv := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		srv.Close()
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f, browser{t, srv.URL, "a"}, browser{t, srv.URL, "b"}
}

// browser sends requests as a user.
type browser struct {
	t          *testing.T
	url, token string
}

func (b browser) request(method, path, body string, header ...string) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

func (b browser) do(method, path, body string, header ...string) (status int, answer string) {
	b.t.Helper()
	resp := b.request(method, path, body, header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// send wants that a prompt is accepted, and returns its id.
func (b browser) send(name, prompt string, header ...string) (id string) {
	b.t.Helper()
	status, body := b.do("POST", "/conversations/"+name+"/prompts", prompt, header...)
	var accepted struct{ Prompt string }
	if err := json.Unmarshal([]byte(body), &accepted); status != http.StatusAccepted || err != nil {
		b.t.Fatalf("%q is not accepted: %d %s", prompt, status, body)
	}
	return accepted.Prompt
}

type ticket struct{ Status, Text, Question, Error string }

func (b browser) ticket(name, id string) (t ticket) {
	b.t.Helper()
	status, body := b.do("GET", "/conversations/"+name+"/prompts/"+id, "")
	if err := json.Unmarshal([]byte(body), &t); status != http.StatusOK || err != nil {
		b.t.Fatalf("the prompt %s: %d %s", id, status, body)
	}
	return t
}

// answer waits until a prompt is answered.
func (b browser) answer(name, id, want string) {
	b.t.Helper()
	var last ticket
	eventually(b.t, func() bool {
		last = b.ticket(name, id)
		return last.Status != "queued" && last.Status != "running" && last.Status != "waiting"
	}, func() string { return fmt.Sprintf("no answer %q: %+v", want, last) })
	if last.Status != "answered" || last.Text != want {
		b.t.Errorf("the prompt is %+v, want the answer %q", last, want)
	}
}

// questions returns what the user is asked.
func (b browser) questions() (open []approval.Question) {
	b.t.Helper()
	status, body := b.do("GET", "/questions", "")
	if err := json.Unmarshal([]byte(body), &open); status != http.StatusOK || err != nil {
		b.t.Fatalf("the questions: %d %s", status, body)
	}
	return open
}

// question waits until the user is asked something.
func (b browser) question() approval.Question {
	b.t.Helper()
	var open []approval.Question
	eventually(b.t, func() bool {
		open = b.questions()
		return len(open) > 0
	}, func() string { return "nobody is asked" })
	return open[0]
}

// allow decides a question.
func (b browser) allow(q approval.Question) {
	b.t.Helper()
	b.t.Logf("asked %s: %s %s", q.ID, q.Tool, q.Input)
	if status, body := b.do("POST", "/questions/"+q.ID, `{"allow": true, "digest": "`+q.Digest+`"}`); status != http.StatusOK {
		b.t.Fatalf("the decision: %d %s", status, body)
	}
}

// said follows a conversation until it has read so many messages, and returns
// who said what, and the last id.
func (b browser) said(name, after string, messages int) (said []string, last string) {
	b.t.Helper()
	resp := b.request("GET", "/conversations/"+name+"/events", "", "Last-Event-ID", after)
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); len(said) < messages && lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		m, err := message.Decode([]byte(data))
		if err != nil {
			b.t.Fatal(err)
		}
		switch m := m.(type) {
		case *message.User:
			said = append(said, "user: "+m.Content.Text())
		case *message.Assistant:
			said = append(said, "assistant: "+m.Text())
		}
	}
	return said, last
}

// eventually waits until something holds.
func eventually(t *testing.T, holds func() bool, otherwise func() string) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !holds(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(otherwise())
		}
	}
}

func TestOwners(t *testing.T) {
	ada, bob := start(t, echo())
	id := ada.send("cats", "One")
	ada.answer("cats", id, "One")
	ada.answer("cats", ada.send("cats", "Two"), "One, Two")
	for _, r := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/conversations/cats/prompts/" + id, http.StatusNotFound},
		{"GET", "/conversations/cats/events", http.StatusNotFound},
		{"POST", "/conversations/..%2Fada%2Fcats/prompts", http.StatusBadRequest},
		{"POST", "/conversations/%2e%2e/prompts", http.StatusBadRequest},
		{"GET", "/questions/other", http.StatusMethodNotAllowed},
	} {
		if status, body := bob.do(r.method, r.path, "What did Ada say?"); status != r.want {
			t.Errorf("%s %s: %d %s, want %d", r.method, r.path, status, body, r.want)
		}
	}
	bob.answer("cats", bob.send("cats", "Three"), "Three") // another conversation with the same name
	for _, token := range []string{"", "c", "guess"} {
		if status, _ := (browser{t, ada.url, token}).do("GET", "/conversations", ""); status != http.StatusUnauthorized {
			t.Errorf("with the token %q: %d", token, status)
		}
	}
	if _, list := ada.do("GET", "/conversations", ""); strings.Count(list, `"name":"cats"`) != 1 {
		t.Errorf("Ada's list: %s", list)
	}
}

func TestBadPrompts(t *testing.T) {
	ada, _ := start(t, echo())
	for name, r := range map[string][]string{
		"empty": {""},
		"long":  {strings.Repeat("x", maxBody+1)},
	} {
		if status, body := ada.do("POST", "/conversations/cats/prompts", r[0], r[1:]...); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// A prompt that is sent twice under one key is one prompt, and a stream of
// events continues where the reader left it.
func TestRepeated(t *testing.T) {
	ada, _ := start(t, echo())
	first := ada.send("cats", "One", "Idempotency-Key", "form 1")
	ada.answer("cats", first, "One")
	if again := ada.send("cats", "One", "Idempotency-Key", "form 1"); again != first {
		t.Errorf("the prompt is %s, then %s", first, again)
	}
	said, last := ada.said("cats", "", 2)
	if got := strings.Join(said, "\n"); got != "user: One\nassistant: One" {
		t.Errorf("said:\n%s", got)
	}
	ada.send("cats", "Two")
	said, _ = ada.said("cats", last, 2)
	if got := strings.Join(said, "\n"); got != "user: Two\nassistant: One, Two" {
		t.Errorf("then:\n%s", got)
	}
}

// Only the user who is asked decides, and only once.
func TestQuestion(t *testing.T) {
	ada, bob := start(t, echo())
	id := ada.send("cats", "write")
	q := ada.question()
	allow := `{"allow": true, "digest": "` + q.Digest + `"}`
	for _, r := range []struct {
		who  browser
		body string
		want int
	}{
		{bob, allow, http.StatusNotFound},
		{ada, `{"allow": true, "digest": "another"}`, http.StatusConflict},
		{ada, `{"allow": "perhaps"}`, http.StatusBadRequest},
		{ada, allow, http.StatusOK},
		{ada, `{"allow": false, "digest": "` + q.Digest + `"}`, http.StatusConflict},
	} {
		if status, body := r.who.do("POST", "/questions/"+q.ID, r.body); status != r.want {
			t.Errorf("%s decides %s: %d %s, want %d", r.who.token, r.body, status, body, r.want)
		}
	}
	ada.answer("cats", id, "write")
}

// A Write outside of the user's folder is denied by the guard, so the user is not asked,
// and the turn continues: a Read afterwards runs.
func TestOutside(t *testing.T) {
	cli := claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			switch {
			case len(c.ToolResults) == 0:
				return claudetest.UseTool("Write", map[string]string{"file_path": "/elsewhere/note.txt", "content": "Mo"})
			case c.ToolResults[0].IsError:
				return claudetest.UseTool("Read", map[string]string{"file_path": "note.txt"})
			}
			return claudetest.Say("It says: " + c.ToolResults[0].Text)
		},
		Tools: map[string]host.RunFunc{
			"Write": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				return host.TextOutput("written"), nil
			},
			"Read": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				return host.TextOutput("my note"), nil
			},
		},
	})
	f, ada, _ := startFleet(t, cli)
	ada.answer("cats", ada.send("cats", "work"), "It says: my note")
	for q, err := range f.Approvals().List(t.Context(), approval.Filter{}) {
		t.Errorf("the user was asked about %s: %s %s, %v", q.Input, q.State, q.Outcome, err)
	}
}

// A turn that runs when the service shuts down may finish.
func TestShutdown(t *testing.T) {
	asked, held := make(chan struct{}), make(chan struct{})
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		close(asked)
		select {
		case <-held:
		case <-c.Context().Done():
		}
		return claudetest.Say("Done.")
	}})
	root := t.TempDir()
	f, err := openFleet(t.Context(), root, cli)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{login: byToken("ada:a"), fleet: f}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx, l) }()
	id := browser{t, "http://" + l.Addr().String(), "a"}.send("cats", "Go")
	<-asked
	stop()
	close(held)
	if err := <-served; err != nil {
		t.Error(err)
	}
	f, err = openFleet(t.Context(), root, cli)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(context.Background())
	if ticket, err := f.Prompt(t.Context(), "ada/cats", id); err != nil || ticket.Text != "Done." {
		t.Errorf("after the end: %+v, %v", ticket, err)
	}
}
