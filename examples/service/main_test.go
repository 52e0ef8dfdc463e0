package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// echo is a CLI whose model says how many prompts it has seen.
func echo() *claudetest.CLI {
	return claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		var prompts []string
		for _, m := range c.Messages {
			if m.Role == "user" {
				prompts = append(prompts, m.Text)
			}
		}
		return claudetest.Say(strings.Join(prompts, ", "))
	}})
}

// persist writes what the real CLI would: the file that makes a conversation
// one of its user's, with the prompts so far.
func persist(t *testing.T, c *conversations, k key, prompts ...string) {
	t.Helper()
	dir := filepath.Join(c.folder(k.user, "config"), "projects", "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	parent := "null"
	for _, prompt := range prompts {
		id := strconv.Quote(newID())
		lines = fmt.Appendf(lines, `{"type":"user","uuid":%s,"parentUuid":%s,"timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":%q}}`+"\n", id, parent, prompt)
		parent = id
	}
	if err := os.WriteFile(filepath.Join(dir, k.id+".jsonl"), lines, 0o600); err != nil {
		t.Fatal(err)
	}
}

// say sends a prompt and wants an answer.
func say(t *testing.T, c *conversations, k key, begin bool, prompt, want string) {
	t.Helper()
	res, err := c.ask(t.Context(), k, begin, prompt)
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != want {
		t.Errorf("the answer to %s is %q, want %q", prompt, res.Text, want)
	}
}

// session is that of a conversation, nil if it is asleep.
func session(c *conversations, k key) *claude.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conv := c.awake[k]; conv != nil {
		return conv.session
	}
	return nil
}

// A conversation that nobody uses loses its process, and nothing else.
func TestIdle(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newConversations(root, echo())
		defer c.close()
		k := key{"ada", newID()}
		say(t, c, k, true, "One", "One")
		persist(t, c, k, "One")
		<-time.After(c.idle - time.Second)
		say(t, c, k, false, "Two", "One, Two") // the same process
		persist(t, c, k, "One", "Two")
		first := session(c, k)
		<-time.After(c.idle + time.Minute)
		synctest.Wait()
		if !ended(first) || session(c, k) != nil {
			t.Fatalf("there is still a process after %v", c.idle)
		}
		say(t, c, k, false, "Three", "One, Two, Three")
	})
}

// A process that died is replaced with the next prompt.
func TestDied(t *testing.T) {
	c := newConversations(t.TempDir(), echo())
	defer c.close()
	k := key{"ada", newID()}
	say(t, c, k, true, "One", "One")
	persist(t, c, k, "One")
	if err := session(c, k).Close(); err != nil {
		t.Fatal(err)
	}
	say(t, c, k, false, "Two", "One, Two")
}

func TestLimits(t *testing.T) {
	c := newConversations(t.TempDir(), echo())
	defer c.close()
	c.max = 2
	k1, k2, k3 := key{"ada", newID()}, key{"ada", newID()}, key{"bob", newID()}
	say(t, c, k1, true, "One", "One")
	say(t, c, k2, true, "Two", "Two")
	say(t, c, k3, true, "Three", "Three") // instead of the first, which was idle the longest
	if session(c, k1) != nil || session(c, k2) == nil || session(c, k3) == nil {
		t.Error("not the two last ones are awake")
	}
	for _, k := range []key{k2, k3} { // as if they were answering
		conv, err := c.take(k)
		if err != nil {
			t.Fatal(err)
		}
		defer c.release(k, conv)
	}
	if _, err := c.ask(t.Context(), k2, false, "Now"); !errors.Is(err, claude.ErrBusy) {
		t.Errorf("a second prompt at once: %v", err)
	}
	if _, err := c.ask(t.Context(), key{"bob", newID()}, true, "Me"); !errors.Is(err, errFull) {
		t.Errorf("one too many: %v", err)
	}
}

// client sends requests as a user.
type client struct {
	t          *testing.T
	url, token string
}

func (c client) do(method, path, body string) (status int, answer string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// prompt wants an answer and returns the id of the conversation.
func (c client) prompt(id, prompt, want string) string {
	c.t.Helper()
	path := "/conversations"
	if id != "" {
		path += "/" + id
	}
	status, body := c.do("POST", path, prompt)
	var answer struct{ ID, Text string }
	if err := json.Unmarshal([]byte(body), &answer); status != http.StatusOK || err != nil || answer.Text != want {
		c.t.Fatalf("POST %s: %d %s, want %q", path, status, body, want)
	}
	return answer.ID
}

func TestOwners(t *testing.T) {
	c := newConversations(t.TempDir(), echo())
	s := &service{login: byToken("ada:a,bob:b,../ada:c"), conversations: c}
	srv := httptest.NewServer(s.handler())
	t.Cleanup(func() { srv.Close(); c.close() })
	ada, bob := client{t, srv.URL, "a"}, client{t, srv.URL, "b"}
	id := ada.prompt("", "One", "One")
	ada.prompt(id, "Two", "One, Two")
	persist(t, c, key{"ada", id}, "One")
	for path, want := range map[string]int{
		"/conversations/" + id:            http.StatusNotFound,
		"/conversations/" + newID():       http.StatusNotFound,
		"/conversations/..%2F..%2Fada":    http.StatusNotFound,
		"/conversations/x/../../" + "etc": http.StatusNotFound,
	} {
		if status, body := bob.do("POST", path, "What did Ada say?"); status != want {
			t.Errorf("POST %s: %d %s, want %d", path, status, body, want)
		}
	}
	for _, token := range []string{"", "c", "guess"} {
		if status, _ := (client{t, srv.URL, token}).do("GET", "/conversations", ""); status != http.StatusUnauthorized {
			t.Errorf("with the token %q: %d", token, status)
		}
	}
	if _, list := ada.do("GET", "/conversations", ""); !strings.Contains(list, id) {
		t.Errorf("Ada's list: %s", list)
	}
	if _, list := bob.do("GET", "/conversations", ""); strings.TrimSpace(list) != "[]" {
		t.Errorf("Bob's list: %s", list)
	}
}

// On shutdown a turn may finish; one that takes too long is interrupted.
func TestShutdown(t *testing.T) {
	for _, test := range []struct {
		name   string
		grace  time.Duration
		status int
	}{{"finishes", time.Minute, http.StatusOK}, {"interrupted", time.Millisecond, http.StatusBadGateway}} {
		t.Run(test.name, func(t *testing.T) {
			asked, held := make(chan struct{}), make(chan struct{})
			cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
				close(asked)
				select {
				case <-held:
				case <-c.Context().Done():
				}
				return claudetest.Say("Done.")
			}})
			c := newConversations(t.TempDir(), cli)
			s := &service{login: byToken("ada:a"), conversations: c}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			served, answered := make(chan error, 1), make(chan int, 1)
			go func() { served <- s.serve(ctx, l, test.grace) }()
			go func() {
				defer close(answered)
				status, _ := client{t, "http://" + l.Addr().String(), "a"}.do("POST", "/conversations", "Go")
				answered <- status
			}()
			<-asked
			stop()
			if test.status == http.StatusOK {
				close(held)
			}
			if status := <-answered; status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if _, err := c.ask(t.Context(), key{"ada", newID()}, true, "More"); !errors.Is(err, errClosing) {
				t.Errorf("a prompt after the end: %v", err)
			}
			for k, conv := range c.awake {
				if !ended(conv.session) {
					t.Errorf("%s still runs", k.id)
				}
			}
		})
	}
}
