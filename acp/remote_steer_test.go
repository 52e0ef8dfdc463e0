package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// steeredServer is a scripted server with an editor of ada's that has sent a prompt, and
// notes what else is asked of it. The names of prompts are their texts.
type steeredServer struct {
	*scriptedServer
	d     *drive.Driver
	id    schema.SessionID
	ended <-chan string

	calls []string
	ids   map[string]string        // of prompts, by their names
	begun map[string]bool          // by their ids
	held  map[string]chan struct{} // the names of messages that are on their way
}

func newSteered(t *testing.T) *steeredServer {
	s := &steeredServer{scriptedServer: newScripted(), ids: make(map[string]string), begun: make(map[string]bool), held: make(map[string]chan struct{})}
	s.d, s.id = approving(t, s.scriptedServer)
	p, ended := prompts(t, s.scriptedServer, s.d, s.id)
	s.ids["prompt"], s.ended = p, ended
	s.send = func(_ context.Context, p api.NewPrompt) error {
		var blocks []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(p.Content, &blocks); err != nil || len(blocks) != 1 {
			t.Errorf("content %s, %v", p.Content, err)
		}
		name := blocks[0].Text
		s.mu.Lock()
		s.calls = append(s.calls, string(p.Delivery)+" "+name)
		s.ids[name] = p.ID
		held := s.held[name]
		s.mu.Unlock()
		if held != nil {
			<-held
		}
		if strings.HasPrefix(name, "refused") {
			return &api.Problem{Title: "Not that", Status: 400}
		}
		return nil
	}
	s.cancel = func(id string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name, other := range s.ids {
			if id == other {
				s.calls = append(s.calls, "cancel "+name)
			}
		}
		if s.begun[id] {
			return &api.Problem{Type: "/problems/begun", Title: "The prompt has begun", Status: 409}
		}
		return nil
	}
	s.stopped = func() { s.calls = append(s.calls, "interrupt") }
	synctest.Wait()
	return s
}

// steer sends a message, and returns the answer later.
func (s *steeredServer) steer(t *testing.T, text, idle string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		params := map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}}}
		if idle != "" {
			params["_meta"] = map[string]any{"steering": map[string]any{"idleBehavior": idle}}
		}
		var resp struct {
			Outcome string `json:"outcome"`
		}
		if err := s.d.Call(t.Context(), "_session/steering", params, &resp); err != nil {
			resp.Outcome = err.Error()
		}
		answer <- resp.Outcome
	}()
	synctest.Wait()
	return answer
}

// state is the event of one of ada's prompts.
func (s *steeredServer) state(name string, state api.PromptState) api.Event {
	return prompt(s.ids[name], "ada", state)
}

// over is the event of the end of a prompt.
func (s *steeredServer) over(name string, state api.PromptState, partOf string) api.Event {
	return api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: s.ids[name], State: state, Error: "no luck", PartOf: s.ids[partOf]}}
}

// is fails the test if the prompt has not ended as it should, or if it has.
func (s *steeredServer) is(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	got := ""
	select {
	case got = <-s.ended:
	default:
	}
	if got != want {
		t.Errorf("ended %q, want %q", got, want)
	}
}

func (s *steeredServer) called(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.calls, want) {
		t.Errorf("called %q, want %q", s.calls, want)
	}
}

// TestRemoteSteer sends a message only while the editor's own prompt runs, and waits for
// its end: with that of the turn that took it in, or with its own.
func TestRemoteSteer(t *testing.T) {
	for _, test := range []struct {
		name string
		then func(t *testing.T, s *steeredServer)
	}{
		{"taken in", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.state("more", api.PromptRunning), s.over("prompt", api.PromptAnswered, ""))
			s.is(t, "")
			s.happens(nil, s.over("more", api.PromptAnswered, "prompt"))
			s.is(t, "end_turn")
		}},
		{"taken in, its end first", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.over("more", api.PromptAnswered, "prompt"))
			s.is(t, "")
			s.happens(nil, s.over("prompt", api.PromptAnswered, ""))
			s.is(t, "end_turn")
		}},
		{"taken in by a turn that fails", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.over("more", api.PromptFailed, "prompt"), s.over("prompt", api.PromptFailed, ""))
			synctest.Wait()
			if got := <-s.ended; !strings.Contains(got, "no luck") {
				t.Errorf("ended %q", got)
			}
		}},
		{"too late", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.over("prompt", api.PromptAnswered, ""), s.state("more", api.PromptRunning))
			s.is(t, "")
			if got := <-s.steer(t, "and more", ""); got != "injected" {
				t.Errorf("a message for the turn of a message: %s", got)
			}
			s.happens(nil, s.over("more", api.PromptAnswered, ""))
			s.is(t, "")
			s.happens(nil, s.over("and more", api.PromptAnswered, "more"))
			s.is(t, "end_turn")
		}},
		{"too late, and fails", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.over("prompt", api.PromptAnswered, ""), s.over("more", api.PromptFailed, ""))
			synctest.Wait()
			if got := <-s.ended; !strings.Contains(got, "no luck") {
				t.Errorf("ended %q", got)
			}
		}},
		{"taken back at the page", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.over("prompt", api.PromptAnswered, ""), s.over("more", api.PromptCancelled, ""))
			s.is(t, "end_turn")
		}},
		{"stuck", func(t *testing.T, s *steeredServer) {
			s.happens(nil, s.state("prompt", api.PromptStuck))
			synctest.Wait()
			if got := <-s.ended; !strings.Contains(got, "stuck") {
				t.Errorf("ended %q", got)
			}
		}},
		{"refused", func(t *testing.T, s *steeredServer) {
			if got := <-s.steer(t, "refused", ""); !strings.Contains(got, "Not that") {
				t.Errorf("refused: %s", got)
			}
			s.happens(nil, s.over("prompt", api.PromptAnswered, ""), s.over("more", api.PromptAnswered, "prompt"))
			s.is(t, "end_turn")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSteered(t)
				s.happens(nil, prompt("b", "bob", api.PromptRunning), s.state("prompt", api.PromptQueued))
				answer := s.steer(t, "more", "")
				s.called(t) // it would reach bob's turn
				s.happens(nil, turn("b"), s.state("prompt", api.PromptRunning))
				if got := <-answer; got != "injected" {
					t.Errorf("answered %s", got)
				}
				s.called(t, "steer more")
				test.then(t, s)
				if got := <-s.steer(t, "idle", "promptRequired"); got != "promptRequired" {
					t.Errorf("after the turn: %s", got)
				}
			})
		})
	}
}

// TestRemoteSteerIdle begins a turn with a message that finds none, or finds it over.
func TestRemoteSteerIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t)
		answer := s.steer(t, "more", "")
		s.happens(nil, s.over("prompt", api.PromptAnswered, ""))
		s.is(t, "end_turn")
		if got := <-answer; got != "startedNewTurn" {
			t.Errorf("answered %s", got)
		}
		synctest.Wait()
		s.called(t, " more")
		s.happens(nil, s.over("more", api.PromptAnswered, ""))
	})
}

// TestRemoteSteerCancelled takes a message back before it stops the turn. One that the CLI
// has already is stopped too, if it begins a turn of its own, and never another's turn.
func TestRemoteSteerCancelled(t *testing.T) {
	for _, test := range []struct {
		name  string
		begun []string                         // that the CLI has
		after map[string]api.PromptState       // the turn of the prompt
		ends  func(*steeredServer) []api.Event // when the turn is interrupted
		want  []string
	}{
		{"not begun", nil, nil, func(s *steeredServer) []api.Event {
			return []api.Event{s.over("prompt", api.PromptFailed, "")}
		}, []string{"cancel more", "interrupt"}},
		{"taken in", []string{"more"}, nil, func(s *steeredServer) []api.Event {
			return []api.Event{s.over("more", api.PromptFailed, "prompt"), s.over("prompt", api.PromptFailed, "")}
		}, []string{"cancel more", "interrupt"}},
		{"taken in, and the events lag behind", []string{"more"}, map[string]api.PromptState{"more": api.PromptFailed}, func(s *steeredServer) []api.Event {
			return []api.Event{s.over("prompt", api.PromptFailed, "")}
		}, []string{"cancel more", "interrupt", "cancel more"}},
		{"the next turn", []string{"more"}, map[string]api.PromptState{"more": api.PromptRunning}, func(s *steeredServer) []api.Event {
			return []api.Event{s.over("prompt", api.PromptFailed, "")}
		}, []string{"cancel more", "interrupt", "cancel more", "interrupt"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSteered(t)
				s.happens(nil, s.state("prompt", api.PromptRunning))
				<-s.steer(t, "more", "")
				s.happens(func() {
					s.calls, s.outcomes = nil, make(map[string]api.Prompt)
					for _, name := range test.begun {
						s.begun[s.ids[name]] = true
					}
					for name, state := range test.after {
						s.outcomes[s.ids[name]] = api.Prompt{ID: s.ids[name], State: state}
					}
				})
				if err := s.d.Cancel(t.Context(), s.id); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				s.happens(nil, test.ends(s)...)
				if got := <-s.ended; got != "cancelled" {
					t.Errorf("ended %s", got)
				}
				s.called(t, test.want...)
			})
		})
	}
}

// TestRemoteSteerOnItsWay cancels a turn while a message is on its way to the server: it
// is taken back when it has arrived, and no other is taken.
func TestRemoteSteerOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t)
		s.happens(nil, s.state("prompt", api.PromptRunning))
		s.held["more"] = make(chan struct{})
		answer := s.steer(t, "more", "")
		if err := s.d.Cancel(t.Context(), s.id); err != nil {
			t.Fatal(err)
		}
		late := s.steer(t, "late", "promptRequired")
		s.called(t, "steer more")
		close(s.held["more"])
		synctest.Wait()
		s.called(t, "steer more", "cancel more", "interrupt")
		s.happens(nil, s.over("prompt", api.PromptFailed, ""))
		if got := fmt.Sprintln(<-s.ended, <-answer, <-late); got != "cancelled injected promptRequired\n" {
			t.Errorf("got %s", got)
		}
	})
}
