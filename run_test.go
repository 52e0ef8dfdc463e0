package claude_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/message"
)

func TestRun(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.text("between")
		c.answer("one")
		c.begin() // a turn that no prompt asked for
		c.text("background")
		c.result("done")
		c.answer("two")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		got, err := harness.Collect(s.Run(t.Context(), "first"))
		if want := []string{"between", "system", "one", "result one"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("first: %q, %v, want %q", got, err, want)
		}
		if s.ID() != "s-1" {
			t.Errorf("id %q, want that of the init message", s.ID())
		}
		got, err = harness.Collect(s.Run(t.Context(), "second"))
		if want := []string{"system", "background", "result done", "system", "two", "result two"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("second: %q, %v, want %q", got, err, want)
		}
		finish(t, s)
	})
}

func TestRunOfOldCLI(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for i := range 2 {
			c.prompt()
			c.begin()
			c.result(fmt.Sprint("answer ", i))
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for i := range 2 {
			if res, err := s.Ask(t.Context(), "hello"); err != nil || res.Text != fmt.Sprint("answer ", i) {
				t.Errorf("Ask = %v, %v", res, err)
			}
		}
		finish(t, s)
	})
}

func TestRunIsOneReader(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.answer("hi"); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		run := s.Run(t.Context(), "hello")
		for _, err := range run {
			if err != nil {
				t.Fatal(err)
			}
			for name, err := range map[string]error{
				"Run":      harness.LastError(s.Run(t.Context(), "nested")),
				"Messages": harness.LastError(s.Messages(t.Context())),
			} {
				if !errors.Is(err, claude.ErrBusy) {
					t.Errorf("nested %s: %v", name, err)
				}
			}
			if _, err := s.Ask(t.Context(), "nested"); !errors.Is(err, claude.ErrBusy) {
				t.Errorf("nested Ask: %v", err)
			}
		}
		if err := harness.LastError(run); !errors.Is(err, claude.ErrUsed) {
			t.Errorf("second range: %v", err)
		}
		finish(t, s)
	})
}

func TestRunErrorResult(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		c.say(`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":"API Error: 500"%s}`, named([]string{id}))
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		res, err := s.Ask(t.Context(), "hello")
		failed, ok := errors.AsType[*claude.ResultError](err)
		if !ok || failed.Result != res || !strings.Contains(err.Error(), "turn failed: api_error: 500") {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

// leave is how a loop can be left in the middle of its turn.
var leave = map[string]func(t *testing.T, s *claude.Session){
	"break": func(t *testing.T, s *claude.Session) {
		for msg := range s.Run(t.Context(), "long") {
			if midTurn(msg) {
				break
			}
		}
	},
	"panic": func(t *testing.T, s *claude.Session) {
		defer func() {
			if recover() != "out" {
				t.Error("the panic did not come through")
			}
		}()
		for msg := range s.Run(t.Context(), "long") {
			if midTurn(msg) {
				panic("out")
			}
		}
	},
	"Goexit": func(t *testing.T, s *claude.Session) {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for msg := range s.Run(t.Context(), "long") {
				if midTurn(msg) {
					runtime.Goexit()
				}
			}
		}()
		<-gone
	},
	"context": func(t *testing.T, s *claude.Session) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for msg, err := range s.Run(ctx, "long") {
			if midTurn(msg) {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("last error %v", last)
		}
	},
	"deadline": func(t *testing.T, s *claude.Session) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // in a bubble
		defer cancel()
		if err := harness.LastError(s.Run(ctx, "long")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("last error %v", err)
		}
	},
}

func midTurn(m message.Message) bool {
	_, ok := m.(*message.Assistant)
	return ok
}

func TestLeavingRunInterrupts(t *testing.T) {
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				id := c.prompt()
				c.life(id, "queued")
				c.life(id, "started")
				c.begin(id)
				c.text("never ending")
				r := c.request("interrupt")
				c.succeed(r, `{"still_queued":[]}`)
				c.text("rest of the old turn")
				c.result("interrupted", id)
				c.life(id, "cancelled")
				c.answer("clean")
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				leave(t, s)
				got, err := harness.Collect(s.Run(t.Context(), "next"))
				got = slices.DeleteFunc(got, func(s string) bool { return s == "command_lifecycle" })
				if want := []string{"system", "clean", "result clean"}; err != nil || !slices.Equal(got, want) {
					t.Errorf("next turn: %q, %v, want %q", got, err, want)
				}
				finish(t, s)
			})
		})
	}
}

func TestLeavingRunWhileQueued(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.begin()
		c.text("background")
		id := c.prompt()
		c.life(id, "queued")
		r := c.request("cancel_async_message")
		if !strings.Contains(string(r.Body), id) {
			c.t.Errorf("cancelled %s, want %s", r.Body, id)
		}
		c.life(id, "cancelled")
		c.succeed(r, `{"cancelled":true}`)
		c.text("more background")
		c.result("background done")
		c.answer("next")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var got []string
		for msg, err := range s.Run(ctx, "queued") {
			if err == nil {
				got = append(got, msg.Head().Type)
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		rest, err := harness.Collect(s.Run(t.Context(), "next"))
		if want := []string{"more background", "result background done", "system", "next", "result next"}; err != nil || !slices.Equal(rest, want) {
			t.Errorf("%q, then %q, %v, want %q", got, rest, err, want)
		}
		finish(t, s)
	})
}

// A CLI that names no prompts cannot take one out of its queue: its turn is ended
// when it begins.
func TestLeavingRunOfACLIThatNamesNothing(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.prompt()
		<-time.After(2 * time.Second) // the program has left
		c.begin()
		c.succeed(c.request("interrupt"), `{}`)
		c.result("interrupted")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range s.Run(ctx, "dropped") {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v", err)
			}
		}
		<-time.After(3 * time.Second)
		finish(t, s)
	})
}

func TestLeavingRunThatBeginsAllTheSame(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.life(id, "queued")
		r := c.request("cancel_async_message")
		c.life(id, "started")
		c.begin(id)
		c.succeed(r, `{"cancelled":false}`)
		var next string
		for range 2 { // the interrupt and the next prompt, in any order
			f, _ := c.hear()
			if f.Type == "user" {
				next = f.Text("uuid")
			} else if r, _ := f.Request(); r.Subtype == "interrupt" {
				c.succeed(r, "{}")
			} else {
				c.t.Errorf("got %s", f.Line)
			}
		}
		c.result("interrupted", id)
		c.begin(next)
		c.text("next")
		c.result("next", next)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for range s.Run(t.Context(), "dropped") {
			break
		}
		got, err := harness.Collect(s.Run(t.Context(), "next"))
		if want := []string{"system", "next", "result next"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("next turn: %q, %v, want %q", got, err, want)
		}
		finish(t, s)
	})
}

func TestRunCancelledByTheCLI(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.life(id, "queued")
		c.life(id, "discarded")
		c.answer("next")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if err := harness.LastError(s.Run(t.Context(), "dropped")); !errors.Is(err, claude.ErrCancelled) {
			t.Errorf("error = %v", err)
		}
		if res, err := s.Ask(t.Context(), "next"); err != nil || res.Text != "next" {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestRunWhoseResultIsLost(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.life(id, "started")
		c.begin(id)
		c.say(`{"type":"result","subtype":"success","result":%q%s}`, strings.Repeat("x", 200<<10), named([]string{id}))
		c.life(id, "completed")
		c.answer("next")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Line = 100 << 10
		s := connect(t, o)
		if err := harness.LastError(s.Run(t.Context(), "long")); !errors.Is(err, claude.ErrNoResult) {
			t.Errorf("error = %v", err)
		}
		if res, err := s.Ask(t.Context(), "next"); err != nil || res.Text != "next" {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestMergedSends(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		a, b := c.prompt(), c.prompt()
		c.begin(a, b)
		c.result("both", a, b)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		a, err := s.Send(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var res *message.Result
		for msg, err := range s.Run(t.Context(), "b") {
			if err != nil {
				t.Fatal(err)
			}
			res, _ = msg.(*message.Result)
		}
		if res == nil || len(res.Prompts) != 2 || res.Prompts[0] != a {
			t.Errorf("result %+v, want both prompts", res)
		}
		finish(t, s)
	})
}

func TestTheCLIEndsInTheTurn(t *testing.T) {
	for code, want := range map[int]string{0: "no result", 1: "exited with code 1"} {
		t.Run(fmt.Sprint("exit ", code), func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				c.hear() // the operation
				c.begin(c.prompt())
				for i := range 10_000 {
					c.text(fmt.Sprint("message ", i))
				}
				c.code = code
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				pending := make(chan error, 1)
				go func() { pending <- s.Control(t.Context(), "never_answered", nil, nil) }()
				synctest.Wait()
				got, err := harness.Collect(s.Run(t.Context(), "hello"))
				if len(got) != 10_001 || got[10_000] != "message 9999" {
					t.Errorf("%d messages came through", len(got))
				}
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error = %v, want %q", err, want)
				}
				if exit, ok := errors.AsType[*claude.ProcessError](err); code != 0 && (!ok || exit.ExitCode != code) {
					t.Errorf("error = %#v", err)
				}
				if err := <-pending; err == nil || !strings.Contains(err.Error(), fmt.Sprint("code ", code)) {
					t.Errorf("the pending operation: %v", err)
				}
				s.Wait()
				if want := map[int]claude.State{0: claude.StateStopped, 1: claude.StateFailed}[code]; s.State() != want {
					t.Errorf("state %v, want %v", s.State(), want)
				}
			})
		})
	}
}

func TestMessages(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.text("one")
		c.say("not a frame")
		c.say(`{"type":"assistant","message":{"content":[{"type":"text","text":"cut}`)
		c.say(`{"type":"brand_new","x":1}`)
		c.text("two")
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		diagnostics := 0
		o.Trace = &claude.Trace{Diagnostic: func(d claude.Diagnostic) { diagnostics++ }}
		s := connect(t, o)
		for range s.Messages(t.Context()) {
			break
		}
		got, err := harness.Collect(s.Messages(t.Context()))
		if want := []string{"brand_new", "two"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("Wait = %v", err)
		}
		if diagnostics != 2 {
			t.Errorf("%d diagnostics, want 2", diagnostics)
		}
	})
}

func TestTruncatedOutput(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); fmt.Fprint(c.stdout, `{"type":"assis`) }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if err := harness.LastError(s.Messages(t.Context())); err == nil || !strings.Contains(err.Error(), "inside a line") {
			t.Errorf("error = %v", err)
		}
		if err := s.Wait(); err == nil {
			t.Error("Wait = nil")
		}
	})
}

func TestSlowReader(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for range 100 {
			c.say(`{"type":"stream_event","event":{"type":"ping","pad":%q}}`, strings.Repeat("x", 1000))
		}
		c.succeed(c.request("set_model"), "{}")
		c.prompt()
		for range 100 {
			c.text(strings.Repeat("x", 1000))
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Unread = 10_000
		s := connect(t, o)
		if err := s.SetModel(t.Context(), "opus"); err != nil {
			t.Errorf("SetModel while partial messages are unread: %v", err)
		}
		s.Send(t.Context(), "continue")
		if err := s.Wait(); !errors.Is(err, claude.ErrSlow) {
			t.Errorf("Wait = %v", err)
		}
		if err := harness.LastError(s.Messages(t.Context())); !errors.Is(err, claude.ErrSlow) {
			t.Errorf("Messages end with %v", err)
		}
	})
}

// The pipe is full and the CLI takes its time to end: a call waiting to write
// learns at once that the session was closed.
func TestCloseWhileWritesAreBlocked(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		<-c.stopped
		<-time.After(4 * time.Second)
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		failed := make(chan error, 3)
		for range 2 {
			go func() { _, err := s.Send(t.Context(), "hello"); failed <- err }()
			synctest.Wait()
		}
		go func() { failed <- s.SetModel(t.Context(), "opus") }()
		synctest.Wait()
		begin := time.Now()
		go s.Close()
		for range 3 {
			if err := <-failed; !errors.Is(err, claude.ErrClosed) {
				t.Errorf("error = %v, want %v", err, claude.ErrClosed)
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %v", took)
		}
		finish(t, s)
	})
}

func TestAskReturnsItsOwnResultOnly(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.life(id, "queued")
		c.begin()
		c.result("unsolicited")
		c.life(id, "cancelled")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if res, err := s.Ask(t.Context(), "hello"); res != nil || !errors.Is(err, claude.ErrCancelled) {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestRunLeavesInBoundedTimeWhenNothingIsRead(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.begin(c.prompt())
		<-c.stopped // reads nothing any more
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Timeouts.Control = claude.NoTimeout
		s := connect(t, o)
		begin := time.Now()
		for range s.Run(t.Context(), "hello") {
			break
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("leaving the loop took %v", took)
		}
		s.Close()
	})
}

// A prompt that was answered in an earlier process gets no result, and does not
// hold up those that follow.
func TestRunAnsweredBefore(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.life(c.prompt(), "completed")
		c.answer("next")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		m := message.NewUser(message.Text("again"))
		m.UUID = "00000000-0000-4000-8000-0000000000aa"
		if err := harness.LastError(s.RunMessage(t.Context(), m)); !errors.Is(err, claude.ErrAnswered) {
			t.Errorf("error = %v, want ErrAnswered", err)
		}
		if a := s.Activity(); !a.Idle() {
			t.Errorf("afterwards: %+v", a)
		}
		if res, err := s.Ask(t.Context(), "next"); err != nil || res.Text != "next" {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

// The new id of a conversation that was reset is known only with the next init.
func TestIDAfterReset(t *testing.T) {
	const before, after = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000003"
	var reset chan struct{} // of the bubble
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.say(`{"type":"conversation_reset","new_conversation_id":"u","uuid":"u","session_id":%q}`, before)
		<-reset
		c.say(`{"type":"system","subtype":"init","session_id":%q%s}`, after, named([]string{id}))
		c.result("", id)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		reset = make(chan struct{})
		s := connect(t, o)
		if id := s.ID(); id != before {
			t.Errorf("at first the id is %q", id)
		}
		for msg, err := range s.Run(t.Context(), "/clear") {
			if err != nil {
				t.Error(err)
			}
			if _, ok := msg.(*message.ConversationReset); ok {
				synctest.Wait()
				if id := s.ID(); id != "" {
					t.Errorf("after the reset the id is %q, want none", id)
				}
				close(reset)
			}
		}
		if id := s.ID(); id != after {
			t.Errorf("at last the id is %q", id)
		}
		finish(t, s)
	})
}
