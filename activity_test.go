package claude_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
)

// Activity reports what runs, step by step, and Idle waits for the end of
// everything.
func TestActivity(t *testing.T) {
	var steps chan string // of the bubble
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		for step := range steps {
			switch step {
			case "started":
				c.life(id, "started")
			case "init":
				c.begin(id)
			case "ask":
				c.say(`{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}}`)
			case "answered":
				c.hear()
			case "result":
				c.result("done", id)
			default: // tasks
				c.say(`{"type":"system","subtype":"background_tasks_changed","tasks":[%s]}`, step)
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		steps = make(chan string)
		release := make(chan struct{})
		o.Hooks = []hook.Hook{hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) {
			<-release
			return nil, nil
		})}
		s := connect(t, o)
		if a := s.Activity(); !a.Idle() || time.Since(a.Since) != 0 {
			t.Errorf("at first: %+v", a)
		}
		pass(time.Minute)
		if _, err := s.Send(t.Context(), "work"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		idle := make(chan error, 1)
		go func() { idle <- s.WaitIdle(t.Context()) }()
		check := func(step string, want claude.Activity) {
			t.Helper()
			if step == "answered" {
				close(release)
			}
			if step != "" {
				steps <- step
			}
			pass(time.Second)
			want.Since = began
			if got := s.Activity(); got != want {
				t.Errorf("after %q: %+v, want %+v", step, got, want)
			}
			if len(idle) > 0 {
				t.Errorf("after %q: Idle has returned", step)
			}
		}
		check("", claude.Activity{Queued: 1})
		check("started", claude.Activity{Turn: true})
		check("init", claude.Activity{Turn: true})
		check("ask", claude.Activity{Turn: true, Callbacks: 1})
		check("answered", claude.Activity{Turn: true})
		check(`{"task_type":"local_bash"},{"task_type":"local_agent"}`, claude.Activity{Turn: true, Agents: 1, Shells: 1})
		check("result", claude.Activity{Agents: 1, Shells: 1})
		check(`{"task_type":"local_bash"}`, claude.Activity{Shells: 1})
		steps <- ""
		synctest.Wait()
		ended := time.Now()
		if err := <-idle; err != nil {
			t.Errorf("Idle = %v", err)
		}
		pass(time.Minute)
		if a := s.Activity(); !a.Idle() || !a.Since.Equal(ended) {
			t.Errorf("at last: %+v, want idle since %v", a, ended)
		}
		close(steps)
		finish(t, s)
		if err := s.WaitIdle(t.Context()); !errors.Is(err, claude.ErrClosed) {
			t.Errorf("Idle of a closed session = %v", err)
		}
	})
}

// A session that continues with a deferred call is not idle before its result. It
// is not ended as if it were, either: at the end of its stdin the CLI would take
// the call for denied.
func TestActivityOfReplay(t *testing.T) {
	for _, over := range []bool{false, true} {
		play := func(c *cli) {
			r := c.request("initialize")
			c.life("00000000-0000-4000-8000-00000000abcd", "started")
			c.succeed(r, `{"claude_code_version":"2.1.325"}`)
			if over {
				c.say(`{"type":"system","subtype":"init","session_id":"s-1"}`)
				c.result("done")
				c.life("00000000-0000-4000-8000-00000000abcd", "completed")
			}
			if f, ok := c.hear(); ok {
				c.t.Errorf("got %s", f.Line)
			}
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			n := &noting{double: *o.Transport.(*double)}
			o.Transport, o.SessionID, o.Resume = n, "", o.SessionID
			s := connect(t, o)
			synctest.Wait()
			if a := s.Activity(); a.Replaying == over || a.Idle() != over {
				t.Errorf("over %v: %+v", over, a)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := s.WaitIdle(ctx); (err == nil) != over {
				t.Errorf("over %v: Idle = %v", over, err)
			}
			finish(t, s)
			if want := map[bool]string{false: "Stop", true: "CloseWrite"}[over]; n.steps[0] != want {
				t.Errorf("over %v: the CLI was ended by %q, want %s first", over, n.steps, want)
			}
		})
	}
}
