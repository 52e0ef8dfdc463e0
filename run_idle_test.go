package claude_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

func (c *cli) state(state string) {
	c.say(`{"type":"system","subtype":"session_state_changed","state":%q}`, state)
}

func (c *cli) tasks(kinds ...string) {
	list := ""
	for i, kind := range kinds {
		if i > 0 {
			list += ","
		}
		list += `{"task_id":"t","task_type":"` + kind + `"}`
	}
	c.say(`{"type":"system","subtype":"background_tasks_changed","tasks":[%s]}`, list)
}

// delegate plays a turn that leaves a background agent at work.
func (c *cli) delegate() (id string) {
	id = c.prompt()
	c.state("running")
	c.begin(id)
	c.tasks("local_agent")
	c.text("at work")
	c.result("at work", id)
	return id
}

// report plays the end of the agent and the turn that answers it, with time
// between the two.
func (c *cli) report(text string) {
	<-time.After(time.Minute)
	c.tasks()
	<-time.After(time.Second)
	c.begin()
	c.result(text)
	c.state("idle")
}

func TestAskAwaitsBackgroundAgents(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.delegate()
		c.report("42")
		c.answer("next")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if res, err := s.Ask(t.Context(), "look"); err != nil || res.Text != "42" {
			t.Errorf("Ask = %+v, %v, want what the agent brought", res, err)
		}
		if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
			t.Errorf("next Ask = %+v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestRunUntilIdle(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.delegate()
		c.report("42")
		c.delegate()
		c.report("43")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		got, err := harness.Collect(s.Run(t.Context(), "look"))
		if want := "result at work"; err != nil || got[len(got)-1] != want {
			t.Errorf("Run: %q, %v, want it to end with %q", got, err, want)
		}
		got, err = harness.Collect(s.RunUntilIdle(t.Context(), "look again"))
		var results []string
		for _, m := range got {
			if strings.HasPrefix(m, "result") {
				results = append(results, m)
			}
		}
		// What Run has left comes first.
		if want := []string{"result 42", "result at work", "result 43"}; err != nil || !slices.Equal(results, want) || got[len(got)-1] != want[2] {
			t.Errorf("RunUntilIdle: %q, %v, want results %q", got, err, want)
		}
		finish(t, s)
	})
}

// The last result is the answer even when it fails, or when only the first did.
func TestAskWhenAnAgentsTurnFails(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.delegate()
		<-time.After(time.Minute)
		c.tasks()
		c.begin()
		c.say(`{"type":"result","subtype":"error_max_turns","is_error":true}`)
		c.state("idle")
		id := c.prompt()
		c.state("running")
		c.begin(id)
		c.tasks("local_agent")
		c.say(`{"type":"result","subtype":"error_max_turns","is_error":true,"user_message_uuids":[%q]}`, id)
		c.report("42")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		res, err := s.Ask(t.Context(), "look")
		if failed, ok := errors.AsType[*claude.ResultError](err); !ok || failed.Result != res || res.Subtype != "error_max_turns" {
			t.Errorf("Ask = %+v, %v, want the failure", res, err)
		}
		if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "42" {
			t.Errorf("Ask = %+v, %v, want the last result", res, err)
		}
		finish(t, s)
	})
}

// Agents that end together are answered in one turn; the CLI writes empty
// results for the others.
func TestAskSkipsEmptyTurns(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.delegate()
		c.tasks()
		c.begin()
		c.result("both")
		c.begin()
		c.say(`{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":""}`)
		c.state("idle")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if res, err := s.Ask(t.Context(), "look"); err != nil || res.Text != "both" {
			t.Errorf("Ask = %+v, %v", res, err)
		}
		finish(t, s)
	})
}

// An agent at work does not make the answer to another prompt that of this one.
func TestAskReturnsNoOtherPromptsResult(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.delegate()
		other := c.prompt()
		c.begin(other)
		c.result("other", other)
		c.tasks()
		c.state("idle")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for msg, err := range s.RunUntilIdle(t.Context(), "look") {
			if err != nil {
				t.Error(err)
			}
			if r, ok := msg.(*message.Result); ok && r.Text == "at work" {
				if _, err := s.Send(t.Context(), "something else"); err != nil {
					t.Error(err)
				}
			}
		}
		finish(t, s)
	})
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		sent := make(chan error, 1)
		go func() {
			<-time.After(time.Second)
			_, err := s.Send(t.Context(), "something else")
			sent <- err
		}()
		if res, err := s.Ask(t.Context(), "look"); err != nil || res.Text != "at work" {
			t.Errorf("Ask = %+v, %v, want its own result", res, err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		finish(t, s)
	})
}

// A caller that no longer waits for the agents stops them.
func TestLeavingRunUntilIdleStopsTheAgents(t *testing.T) {
	interrupted := make(chan bool, 1)
	play := func(c *cli) {
		c.greet()
		c.delegate()
		c.succeed(c.request("interrupt"), `{"still_queued":[]}`)
		interrupted <- true
		c.tasks()
		c.state("idle")
		c.answer("next")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if res, err := s.Ask(ctx, "look"); !errors.Is(err, context.DeadlineExceeded) || res != nil {
			t.Errorf("Ask = %+v, %v", res, err)
		}
		synctest.Wait()
		if len(interrupted) == 0 {
			t.Error("the agents were not stopped")
		}
		if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
			t.Errorf("next Ask = %+v, %v", res, err)
		}
		finish(t, s)
	})
}

// The end of the CLI ends the wait: in good order with the answer so far,
// otherwise with the reason.
func TestAskWhenTheCLIEndsBeforeItsAgents(t *testing.T) {
	for code := range 2 {
		play := func(c *cli) {
			c.greet()
			c.delegate()
			<-time.After(time.Minute)
			c.code = code
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			s := connect(t, o)
			res, err := s.Ask(t.Context(), "look")
			_, broke := errors.AsType[*claude.ProcessError](err)
			if code == 0 && (err != nil || res.Text != "at work") || code == 1 && !broke {
				t.Errorf("exit %d: Ask = %+v, %v", code, res, err)
			}
			s.Close()
		})
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				return permission.Allow(), nil
			}
			res, err := claude.Ask(t.Context(), "look", o)
			_, broke := errors.AsType[*claude.ProcessError](err)
			if res == nil || res.Text != "at work" || broke != (code == 1) {
				t.Errorf("exit %d: one-shot Ask = %+v, %v", code, res, err)
			}
		})
	}
}

// A query that is given up while agents are at work has no answer.
func TestAskGivenUpBeforeItsAgents(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.delegate()
		c.idle()
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := claude.Ask(ctx, "look", o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ask: %v", err)
		}
	})
}

// Between the end of an agent and the turn that answers it nothing seems to
// run, but that turn may need callbacks: stdin stays open.
func TestQueryKeepsStdinOpenUntilIdle(t *testing.T) {
	idle := false
	play := func(c *cli) {
		c.greet()
		c.delegate()
		go func() {
			c.report("42")
			idle = true
		}()
		if f, ok := c.hear(); ok {
			c.t.Errorf("got %s", f.Line)
		}
		synctest.Wait()
		if !idle {
			c.t.Error("stdin ended before the session was idle")
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		}
		if res, err := claude.Ask(t.Context(), "look", o); err != nil || res.Text != "42" {
			t.Errorf("Ask = %+v, %v", res, err)
		}
	})
}

// A CLI whose input has ended holds its results back until agents are done.
func TestAskWithResultsHeldBack(t *testing.T) {
	play := func(c *cli) {
		id := c.prompt()
		c.life(id, "started")
		c.begin(id)
		c.tasks("local_agent")
		c.life(id, "completed")
		<-time.After(time.Minute)
		c.tasks()
		c.begin()
		c.result("at work", id)
		c.result("42")
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		if res, err := claude.Ask(t.Context(), "look", o); err != nil || res.Text != "42" {
			t.Errorf("Ask = %+v, %v", res, err)
		}
	})
}

// A minimal CLI sends less: neither init nor names.
func TestMinimalCLI(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for _, text := range []string{"one", "two"} {
			c.prompt()
			c.text(text)
			c.result(text)
		}
		c.prompt()
		c.say(`{"type":"result","subtype":"error_during_execution","is_error":true}`)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for _, want := range []string{"one", "two"} {
			if got, err := harness.Collect(s.Run(t.Context(), "go")); err != nil || !slices.Equal(got, []string{want, "result " + want}) {
				t.Errorf("Run: %q, %v, want %q", got, err, want)
			}
		}
		if _, err := s.Ask(t.Context(), "go"); err == nil {
			t.Error("a failed result is not an error")
		}
		finish(t, s)
	})
	once := func(c *cli) {
		c.prompt()
		c.result("one")
	}
	bubble(t, once, func(t *testing.T, o *claude.Options) {
		if res, err := claude.Ask(t.Context(), "go", o); err != nil || res.Text != "one" {
			t.Errorf("Ask = %+v, %v", res, err)
		}
	})
}

// A turn that also answers another prompt continues when the loop of one is left.
func TestLeavingRunSparesAnotherPrompt(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		first := c.prompt()
		c.begin(first)
		second := c.prompt()
		c.life(second, "started")
		c.text("both")
		if f, ok := c.hear(); ok {
			if r, err := f.Request(); err != nil || r.Subtype != "get_status" {
				c.t.Errorf("got %s, want nothing that hits the turn", f.Line)
			} else {
				c.succeed(r, "{}")
			}
		}
		c.result("both", first, second)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		var other string
		for msg, err := range s.Run(t.Context(), "first") {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := msg.(*message.Assistant); ok {
				break
			}
			if other == "" {
				if other, err = s.Send(t.Context(), "second"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Control(t.Context(), "get_status", nil, nil); err != nil {
			t.Error(err)
		}
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := msg.(*message.Result); ok {
				if r.Text != "both" || !slices.Contains(r.Prompts, other) {
					t.Errorf("result %+v", r)
				}
				break
			}
		}
		finish(t, s)
	})
}

// States are always followed, and shown only on request.
func TestStatesAreShownOnRequest(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.state("running")
		c.begin(id)
		c.result("hi", id)
		c.idle()
	}
	for _, show := range []bool{false, true} {
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			o.SessionStates = show
			s := connect(t, o)
			seen := false
			for msg, err := range s.Run(t.Context(), "hello") {
				if err != nil {
					t.Error(err)
				}
				_, state := msg.(*message.SessionState)
				seen = seen || state
			}
			if seen != show {
				t.Errorf("SessionStates %v: a state was seen: %v", show, seen)
			}
			finish(t, s)
		})
	}
}
