package acp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/serve/api"
)

// An editor that allows everything by itself decides about the calls of its own user's
// turns, and about no others: not about those of a turn that began by itself, nor of
// another user's prompt, before or after the log knows that it runs, nor of a subagent
// that another may have started.
func TestRemoteDecidesForItsUserOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		approving(t, s)
		question := func(name string, want bool, q api.Approval) {
			t.Helper()
			before := s.decided()
			q.ID, q.Kind, q.Tool, q.Input = name, api.KindTool, "Bash", json.RawMessage(`{"command":"make"}`)
			s.asks(q)
			synctest.Wait()
			if got := s.decided() > before; got != want {
				t.Errorf("%s: decided %t, want %t", name, got, want)
			}
		}
		s.happens(nil, prompt("a", "ada", api.PromptQueued), prompt("a", "ada", api.PromptRunning))
		question("her own", true, api.Approval{})
		question("of her subagent", true, api.Approval{AgentID: "x"})
		s.happens(nil, turn("a"))
		question("of a turn without a prompt", false, api.Approval{})
		s.happens(nil, prompt("b", "bob", api.PromptQueued))
		question("of bob's prompt, before the log knows that it runs", false, api.Approval{})
		s.happens(nil, prompt("b", "bob", api.PromptRunning))
		question("of bob's prompt", false, api.Approval{})
		s.happens(nil, prompt("c", "ada", api.PromptQueued), prompt("c", "ada", api.PromptRunning))
		question("of bob's turn, which she steers", false, api.Approval{})
		s.happens(nil, turn("b"), turn("c"), prompt("d", "ada", api.PromptQueued))
		before := s.decided()
		question("her own, too early", false, api.Approval{})
		s.happens(nil, prompt("d", "ada", api.PromptRunning))
		synctest.Wait()
		if got := s.decided() - before; got != 1 {
			t.Errorf("%d decisions when her prompt runs, want that about the early question", got)
		}
		question("of a subagent that bob may have started", false, api.Approval{AgentID: "y"})
		s.happens(nil, turn("d"), prompt("e", "ada", api.PromptRunning), prompt("f", "bob", api.PromptQueued))
		question("hers", false, api.Approval{})
		waits := prompt("e", "ada", api.PromptWaiting)
		waits.Prompt.Approval = "hers"
		before = s.decided()
		s.happens(nil, waits)
		synctest.Wait()
		if got := s.decided() - before; got != 1 {
			t.Errorf("%d decisions when her prompt waits for hers, want 1", got)
		}
	})
}

// A form that the server refuses is explained and asked for again, three times.
func TestRemoteAsksAgain(t *testing.T) {
	for _, refusals := range []int{2, 100} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			s.decide = func(api.Decision) error {
				if len(s.decisions) > refusals {
					return nil
				}
				return &api.Problem{Title: "It is not valid", Status: http.StatusBadRequest, Errors: []api.Fault{{Pointer: "/input/age", Detail: "must be a number"}}}
			}
			d, id := approving(t, s)
			s.happens(nil, prompt("a", "ada", api.PromptRunning))
			s.asks(api.Approval{ID: "q", Kind: api.KindElicitation, Form: new(api.Form), Input: json.RawMessage(`{"requested_schema":{"type":"object"}}`)})
			synctest.Wait()
			if got := s.decided(); got != 3 {
				t.Errorf("%d decisions, want 3", got)
			}
			text := d.Text(id)
			if strings.Count(text, "You are asked again") != 2 || strings.Contains(text, "stays open") != (refusals == 100) || !strings.Contains(text, "/input/age: must be a number") {
				t.Errorf("said %q", text)
			}
		})
	}
}
