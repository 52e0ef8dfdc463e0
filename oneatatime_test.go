package claude_test

import (
	"context"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// greetAsOld answers the handshake as a CLI that neither names nor echoes
// prompts, and folds those that come during a turn into it.
func (c *cli) greetAsOld() {
	c.succeed(c.request("initialize"), `{"claude_code_version":"1.0.85","capabilities":[]}`)
}

// turn plays one turn. It fails the test if another prompt comes before the
// result.
func (c *cli) turn(text string) {
	c.prompt()
	c.begin()
	heard := make(chan string, 1)
	go func() {
		f, ok := c.hear()
		if ok {
			heard <- string(f.Line)
		}
		close(heard)
	}()
	<-time.After(time.Minute)
	select {
	case line, ok := <-heard:
		if ok {
			c.t.Errorf("heard in the middle of a turn: %s", line)
		}
	default:
	}
	c.text(text)
	c.result(text)
	if _, ok := <-heard; !ok {
		return
	}
	c.begin()
	c.result("second")
}

// A CLI that folds prompts in without a word gets the next one when the one
// before has its result.
func TestOldCLIGetsOnePromptAtATime(t *testing.T) {
	bubble(t, func(c *cli) { c.greetAsOld(); c.turn("first"); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if _, err := s.Send(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		res, err := s.Ask(t.Context(), "two")
		if err != nil || res.Text != "second" {
			t.Errorf("Ask = %+v, %v", res, err)
		}
		finish(t, s)
	})
}

// A prompt that is given up before it was written is never written, and the one
// behind it is.
func TestHeldPromptIsTakenBack(t *testing.T) {
	bubble(t, func(c *cli) { c.greetAsOld(); c.turn("first"); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if _, err := s.Send(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if res, err := s.Ask(ctx, "never written"); err == nil {
			t.Errorf("Ask = %+v", res)
		}
		res, err := s.Ask(t.Context(), "two")
		if err != nil || res.Text != "second" {
			t.Errorf("Ask = %+v, %v", res, err)
		}
		finish(t, s)
	})
}

// The interrupt of a turn that is given up is written before the prompt that
// waits, so that it hits its own turn.
func TestInterruptComesBeforeTheHeldPrompt(t *testing.T) {
	bubble(t, func(c *cli) {
		c.greetAsOld()
		c.prompt()
		c.begin()
		c.succeed(c.request("interrupt"), "{}")
		c.say(`{"type":"result","subtype":"error_during_execution","is_error":true}`)
		c.prompt()
		c.begin()
		c.result("second")
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for range s.Run(t.Context(), "one") {
			if _, err := s.Send(t.Context(), "two"); err != nil {
				t.Error(err)
			}
			break
		}
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if res, ok := msg.(*message.Result); ok {
				if res.Text != "second" {
					t.Errorf("result %q", res.Text)
				}
				break
			}
		}
		finish(t, s)
	})
}

// A CLI that never answers is not buried in prompts.
func TestHeldPromptsAreBounded(t *testing.T) {
	bubble(t, func(c *cli) { c.greetAsOld(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		for i := range 1025 {
			if _, err := s.Send(t.Context(), "one"); err != nil {
				t.Fatalf("prompt %d: %v", i, err)
			}
		}
		if _, err := s.Send(t.Context(), "one"); err == nil {
			t.Error("a prompt over the bound was taken")
		}
		s.Close()
	})
}
