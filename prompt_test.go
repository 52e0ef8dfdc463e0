package claude_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func TestEscapePrompt(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"plain text, 1/2":                  "plain text, 1/2",
		"@/etc/passwd":                     `\@/etc/passwd`,
		"see @~/x and @.env":               `see \@~/x and \@.env`,
		"see @\"a b\"":                     `see \@"a b"`,
		"line\n@dir":                       "line\n\\@dir",
		"(@a) \"@b\" `@c`":                 "(\\@a) \"\\@b\" `\\@c`",
		"me@example.com, Ärger@example.de": "me@example.com, Ärger@example.de",
		"a@b@/c @@/d":                      `a@b@/c \@\@/d`,
		"@Override void run()":             `\@Override void run()`,
		"@server:file:///x @agent-spy":     `\@server:file:///x \@agent-spy`,
		"\u3002@a\u00a0@b\ufeff@c\u200b@d": "\u3002\\@a\u00a0\\@b\ufeff\\@c\u200b\\@d",
		"broken \xff@/etc/passwd":          "broken \xff\\@/etc/passwd",
		"/compact":                         `\/compact`,
		" \n\u200b/compact":                " \n\u200b\\/compact",
		"no /command here":                 "no /command here",
		"nor\x00/here":                     "nor\x00/here",
		`\@a \/b`:                          `\@a \/b`,
		"ends with @":                      `ends with \@`,
	} {
		got := claude.EscapePrompt(text)
		if got != want {
			t.Errorf("EscapePrompt(%q) = %q, want %q", text, got, want)
		}
		if again := claude.EscapePrompt(got); again != got {
			t.Errorf("escaped again: %q, once: %q", again, got)
		}
	}
}

// FuzzEscapePrompt wants nothing lost, nothing live, and escaping to be
// idempotent.
func FuzzEscapePrompt(f *testing.F) {
	f.Add("@a /b \\@c me@d")
	f.Fuzz(func(t *testing.T, text string) {
		got := claude.EscapePrompt(text)
		if strings.ReplaceAll(got, `\`, "") != strings.ReplaceAll(text, `\`, "") || len(got) < len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if claude.EscapePrompt(got) != got {
			t.Errorf("%q changes again", got)
		}
		if strings.HasPrefix(strings.TrimSpace(got), "/") {
			t.Errorf("%q is a command", got)
		}
		last := ' '
		for _, r := range got {
			if r == '@' && last != '\\' && !unicode.IsLetter(last) && !unicode.IsDigit(last) {
				t.Errorf("%q has a mention", got)
			}
			last = r
		}
	})
}

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

// A CLI that folds prompts in silently gets the next one when the one
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

func TestPromptThatWasNeverWritten(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.prompt()
		c.begin() // a CLI that names nothing
		c.text("answer")
		c.result("answer")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		m := message.NewUser(message.Text("never"))
		m.UUID = "00000000-0000-4000-8000-0000000000aa"
		if _, err := s.SendMessage(gone, m); !errors.Is(err, context.Canceled) {
			t.Errorf("SendMessage = %v", err)
		}
		if res, err := s.Ask(t.Context(), "hello"); err != nil || res.Text != "answer" {
			t.Errorf("Ask = %v, %v, want the ghost not to end it", res, err)
		}
		if _, err := s.SendMessage(t.Context(), m); err != nil {
			t.Errorf("the id of a prompt that was not sent is not free: %v", err)
		}
		s.Close()
	})
}

func TestSendMessageID(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.prompt(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		m := message.NewUser(message.Text("hello"))
		m.UUID = "00000000-0000-4000-8000-0000000000aa"
		if id, err := s.SendMessage(t.Context(), m); err != nil || id != m.UUID {
			t.Errorf("SendMessage = %q, %v", id, err)
		}
		if _, err := s.SendMessage(t.Context(), m); err == nil {
			t.Error("the same id twice was accepted")
		}
		synctest.Wait()
		s.Close()
	})
}

func TestSendToDeadCLI(t *testing.T) {
	for _, code := range []int{0, 3} {
		bubble(t, func(c *cli) { c.greet(); c.code = code }, func(t *testing.T, o *claude.Options) {
			s := connect(t, o)
			_, err := s.Send(t.Context(), "hello")
			if exit, ok := errors.AsType[*claude.ProcessError](err); !ok || exit.ExitCode != code {
				t.Errorf("Send = %v, want how the CLI ended, with code %d", err, code)
			}
			s.Wait()
		})
	}
}

// A prompt that its sender gave up while it was written may reach the CLI
// anyway: then its turn is ended, because no caller awaits the answer.
func TestPromptGivenUpOnItsWay(t *testing.T) {
	interrupted := false
	play := func(c *cli) {
		c.greet()
		<-time.After(2 * time.Second) // and reads nothing
		id := c.prompt()
		c.begin(id)
		c.succeed(c.request("interrupt"), `{}`)
		interrupted = true
		c.result("interrupted", id)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Send(ctx, "hi"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
		<-time.After(3 * time.Second)
		finish(t, s)
		if !interrupted {
			t.Error("the turn of a prompt that was given up continued")
		}
	})
}
