package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/permission"
)

// asker asks a person, one question at a time.
type asker struct {
	c    *console
	s    *screen
	keys *keyboard
	turn chan struct{} // held while a question is asked
}

func newAsker(c *console, s *screen) *asker {
	return &asker{c: c, s: s, keys: newKeyboard(c.stdin), turn: make(chan struct{}, 1)}
}

// decide is a permission.Func. Its context ends when the turn is interrupted or
// the CLI takes its question back.
func (a *asker) decide(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	unanswered := permission.Deny("the user has ended the input without an answer")
	return alone(ctx, a, unanswered, func() (permission.Decision, error) { return a.ask(ctx, req) })
}

// alone asks a question when no other one is open. It returns unanswered when the
// input ends.
func alone[T any](ctx context.Context, a *asker, unanswered T, ask func() (T, error)) (answer T, err error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return answer, ctx.Err()
	}
	a.s.hold()
	defer a.s.release()
	answer, err = ask()
	switch {
	case errors.Is(err, io.EOF):
		a.say("")
		return unanswered, nil
	case ctx.Err() != nil:
		a.say("")
		a.say(a.s.style(terminal.Faint, "(the question is no longer open)"))
	}
	return answer, err
}

func (a *asker) ask(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	if questions, err := req.Questions(); err == nil {
		return a.answer(ctx, req, questions)
	}
	a.describe(req)
	var edited json.RawMessage
	for {
		line, letters := a.choices(req, edited != nil)
		key, err := a.prompt(ctx, line)
		if err != nil {
			return permission.Decision{}, err
		}
		switch word := strings.ToLower(key); {
		case (word == "y" || word == "yes" || word == "once") && edited != nil:
			return permission.AllowWith(edited), nil
		case word == "y" || word == "yes" || word == "once":
			return permission.Allow(), nil
		case (word == "a" || word == "always") && edited == nil && offersAlways(req):
			return permission.Allow(req.Suggestions...), nil
		case word == "n" || word == "no":
			return a.deny(ctx)
		case word == "e" || word == "edit":
			input, err := a.edit(ctx, cmp.Or(string(edited), string(req.Input)))
			if err != nil {
				return permission.Decision{}, err
			}
			if input != nil {
				edited = input
				a.say(a.s.style(terminal.Bold, "Edited. This is what would run now:"))
				a.quote(inputText(edited))
			}
		default:
			a.unknown(key, letters)
		}
	}
}

// deny asks for the reason.
func (a *asker) deny(ctx context.Context) (permission.Decision, error) {
	reason, err := a.prompt(ctx, "Why not? The model reads it: ")
	if reason == "" {
		reason = "the user said no"
	}
	return permission.Deny(reason), err
}

// offersAlways reports whether there is something to remember.
func offersAlways(req *permission.Request) bool {
	return len(req.Suggestions) > 0 && !req.SuppressAlwaysAllow
}

// choices is the line that asks, and what can be typed. An edited input can be
// allowed only once, because a remembered rule would be about the original one.
func (a *asker) choices(req *permission.Request, edited bool) (ask, letters string) {
	switch {
	case edited:
		return "Allow it as edited? [y yes, n no, e edit again] ", "y, n or e"
	case offersAlways(req):
		return "Allow? [y once, a always, n no, e edit] ", "y, a, n or e"
	}
	return "Allow? [y once, n no, e edit] ", "y, n or e"
}

// unknown reports that an answer is not one of the choices.
func (a *asker) unknown(answer, want string) {
	text := "Type " + want + "."
	if answer != "" {
		text = a.c.line(strconv.Quote(answer)) + " is not an answer. " + text
	}
	a.say(a.s.style(terminal.Red, text))
}

// prompt asks for one line. Anything typed before that does not count.
func (a *asker) prompt(ctx context.Context, text string) (string, error) {
	a.keys.forget()
	a.s.tell(a.s.style(terminal.Bold, text))
	return a.keys.line(ctx)
}

// say writes a line that belongs to the question.
func (a *asker) say(text string) { a.s.tell(text + "\n") }

// quote shows foreign text, set off from this program's own.
func (a *asker) quote(text string) {
	for line := range strings.Lines(text) {
		a.say("  | " + a.c.judged(strings.TrimSuffix(line, "\n")))
	}
}

// describe shows the whole question, because a user cannot judge a hidden part.
// The permissions that would be remembered come last and stand out most.
func (a *asker) describe(req *permission.Request) {
	input := inputText(req.Input)
	title := req.Title
	if title == "" || repeats(input, title) {
		title = "Claude wants to use " + req.ToolName
	}
	a.say("")
	a.say(a.s.style(terminal.Bold, a.c.judged(title)))
	a.quote(input)
	if !strings.Contains(title, req.ToolName) {
		a.say(a.s.style(terminal.Faint, "  tool: "+a.c.judged(req.ToolName)))
	}
	for _, extra := range []struct{ name, value string }{
		{"agent", req.AgentID}, {"what", req.Description}, {"why asked", req.Reason}, {"path", req.BlockedPath},
	} {
		if extra.value != "" && extra.value != title && !strings.Contains(input, extra.value) {
			a.say(a.s.style(terminal.Faint, "  "+extra.name+": "+a.c.judged(extra.value)))
		}
	}
	if offersAlways(req) {
		for i, u := range req.Suggestions {
			label := `  "always" would `
			if i > 0 {
				label = `             and `
			}
			a.say(a.s.style(terminal.Loud, label+a.c.judged(updateText(u))))
		}
	}
}

// repeats reports whether a title only repeats a member of the input.
func repeats(input, title string) bool {
	for line := range strings.Lines(input) {
		_, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if len(value) > 3 && strings.Contains(title, value) {
			return true
		}
	}
	return false
}

// inputText writes the input of a tool for people: a member a line, texts as
// they are.
func inputText(input json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil || len(members) == 0 {
		return string(input)
	}
	var b strings.Builder
	for _, name := range sortedKeys(members) {
		var text string
		if json.Unmarshal(members[name], &text) != nil {
			text = string(members[name])
		}
		if strings.Contains(text, "\n") { // set in, so that no line looks like a member
			text = "\n    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ")
		}
		fmt.Fprintf(&b, "%s: %s\n", terminal.Line(name), text)
	}
	return b.String()
}
