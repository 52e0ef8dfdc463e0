package acp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// says is the event of an answer.
func says(id, text string) api.Event {
	return api.Event{Type: api.EventMessage, Message: []byte(`{"type":"assistant","uuid":"` + id + `","message":{"id":"` + id + `","role":"assistant","content":[{"type":"text","text":"` + text + `"}]}}`)}
}

// prompts sends a prompt and returns its id and, later, how it ended.
func prompts(t *testing.T, s *scriptedServer, d *drive.Driver, id schema.SessionID) (prompt string, ended <-chan string) {
	sent, end := make(chan string, 1), make(chan string, 1)
	s.send = func(_ context.Context, p api.NewPrompt) error { sent <- p.ID; return nil }
	go func() {
		resp, err := d.Prompt(t.Context(), id, "hello")
		if err != nil {
			end <- err.Error()
			return
		}
		end <- string(resp.StopReason)
	}()
	return <-sent, end
}

// TestRemoteSynthetic shows what the CLI has written itself once, such as an error of the
// API.
func TestRemoteSynthetic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		d, id := approving(t, s)
		e := says("m", "API Error.")
		e.Message = []byte(strings.Replace(string(e.Message), `"role":`, `"model":"<synthetic>","role":`, 1))
		s.happens(nil, e, says("n", " Really."))
		synctest.Wait()
		if text := d.Text(id); text != "API Error. Really." {
			t.Errorf("shown %q", text)
		}
	})
}

// After an outage, however long, a session continues where it was: the editor is shown
// all of the turn, and learns about its end.
func TestRemoteOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		var cut error
		s.cut = func() error { s.mu.Lock(); defer s.mu.Unlock(); return cut }
		d, id := approving(t, s)
		p, ended := prompts(t, s, d, id)
		s.happens(nil, prompt(p, "ada", api.PromptRunning))
		synctest.Wait()
		s.happens(func() { cut, s.gone = errors.New("no route to host"), true })
		<-time.After(10 * time.Minute)
		s.happens(nil, says("m", "Hello."), turn(p))
		synctest.Wait()
		if len(ended) != 0 {
			t.Fatalf("ended during the outage: %s", <-ended)
		}
		s.happens(func() { cut, s.gone = nil, false })
		if got := <-ended; got != "end_turn" || d.Text(id) != "Hello." {
			t.Errorf("ended %s after %q", got, d.Text(id))
		}
	})
}

// A place that the server has forgotten is given up after some attempts: what was said
// since is shown, and the prompts whose end was missed end.
func TestRemoteForgottenPlace(t *testing.T) {
	for _, c := range []struct {
		outcome api.PromptState
		want    string
	}{{api.PromptAnswered, "end_turn"}, {api.PromptCancelled, "cancelled"}, {"", "no longer knows the prompt"}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			d, id := approving(t, s)
			p, ended := prompts(t, s, d, id)
			s.happens(nil, prompt(p, "ada", api.PromptRunning), says("a", "One. "))
			synctest.Wait()
			s.happens(func() {
				s.gone = true
				if c.outcome != "" {
					s.outcomes = map[string]api.Prompt{p: {ID: p, State: c.outcome}}
				}
			})
			synctest.Wait()
			s.happens(func() { s.gone, s.forgotten = false, 5 }, says("b", "Two. "), turn(p), says("c", "Three. "))
			if got := <-ended; !strings.Contains(got, c.want) || d.Text(id) != "One. Two. Three. " {
				t.Errorf("ended %s after %q, want %s", got, d.Text(id), c.want)
			}
			p, ended = prompts(t, s, d, id)
			s.happens(nil, says("d", "Four."), turn(p))
			if got := <-ended; got != "end_turn" || d.Text(id) != "One. Two. Three. Four." {
				t.Errorf("then ended %s after %q", got, d.Text(id))
			}
		})
	}
}

// A server that lags behind another on the same store does not know the place yet. The
// session waits for it.
func TestRemoteLaggingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		d, id := approving(t, s)
		p, ended := prompts(t, s, d, id)
		s.happens(nil, prompt(p, "ada", api.PromptRunning))
		synctest.Wait()
		s.happens(func() { s.gone = true })
		<-time.After(5 * time.Minute)
		s.happens(func() { s.gone = false }, turn(p))
		if got := <-ended; got != "end_turn" {
			t.Errorf("ended %s", got)
		}
	})
}

// A server that refuses ends the session's prompts.
func TestRemoteRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		var cut error
		s.cut = func() error { s.mu.Lock(); defer s.mu.Unlock(); return cut }
		d, id := approving(t, s)
		_, ended := prompts(t, s, d, id)
		synctest.Wait()
		s.happens(func() {
			cut, s.gone = &api.Problem{Title: "It does not exist", Status: http.StatusNotFound}, true
		})
		if got := <-ended; !strings.Contains(got, "does not exist") {
			t.Errorf("ended %s", got)
		}
	})
}

// A cancel stops the prompt wherever it is: on its way to the server, or begun before
// the editor was told. It does not stop the turn of another prompt.
func TestRemoteCancelsInTheGap(t *testing.T) {
	begun := &api.Problem{Type: "/problems/begun", Title: "The prompt has begun", Status: http.StatusConflict}
	for _, c := range []struct {
		name      string
		state     api.PromptState
		slow      bool
		interrupt int
	}{{"begun", api.PromptRunning, false, 1}, {"waits for a person", api.PromptWaiting, false, 1}, {"over", api.PromptAnswered, false, 0}, {"on its way", api.PromptRunning, true, 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			d, id := approving(t, s)
			sending, arrive := make(chan string, 1), make(chan struct{})
			s.send = func(ctx context.Context, p api.NewPrompt) error {
				s.happens(func() { s.outcomes = map[string]api.Prompt{p.ID: {ID: p.ID, State: c.state}} })
				sending <- p.ID
				select {
				case <-arrive:
				case <-ctx.Done():
				}
				return ctx.Err()
			}
			var cancelled []string
			s.cancel = func(p string) error { cancelled = append(cancelled, p); return begun }
			ended := make(chan schema.StopReason, 1)
			go func() {
				resp, err := d.Prompt(t.Context(), id, "hello")
				if err != nil {
					t.Error(err)
				}
				ended <- resp.StopReason
			}()
			p := <-sending
			if !c.slow {
				close(arrive)
				synctest.Wait()
			}
			if err := d.Cancel(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if c.slow {
				if len(cancelled) != 0 {
					t.Errorf("%s: cancelled before the server has it", c.name)
				}
				close(arrive)
			}
			if got := <-ended; got != schema.StopReasonCancelled || len(cancelled) != 1 || cancelled[0] != p || s.interrupted != c.interrupt {
				t.Errorf("%s: %s, cancelled %q, interrupted %d times, want %d", c.name, got, cancelled, s.interrupted, c.interrupt)
			}
		})
	}
}
