package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		a.say(a.s.style(faint, "(the question is no longer open)"))
	}
	return answer, err
}

func (a *asker) ask(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	if questions, err := req.Questions(); err == nil {
		return a.answer(ctx, req, questions)
	}
	a.describe(req)
	always := len(req.Suggestions) > 0 && !req.SuppressAlwaysAllow
	choices := "y once, "
	if always {
		choices += "a always, "
	}
	choices += "n no, e edit"
	for {
		key, err := a.prompt(ctx, "Allow? ["+choices+"] ")
		if err != nil {
			return permission.Decision{}, err
		}
		switch strings.ToLower(key) {
		case "y", "yes", "once":
			return permission.Allow(), nil
		case "a", "always":
			if always {
				return permission.Allow(req.Suggestions...), nil
			}
		case "n", "no":
			reason, err := a.prompt(ctx, "Why not? The model reads it: ")
			if reason == "" {
				reason = "the user said no"
			}
			return permission.Deny(reason), err
		case "e", "edit":
			input, err := a.edit(ctx, req.Input)
			if err != nil {
				return permission.Decision{}, err
			}
			if input != nil {
				return permission.AllowWith(input), nil
			}
		}
	}
}

// prompt asks for one line. What was typed before does not count.
func (a *asker) prompt(ctx context.Context, text string) (string, error) {
	a.keys.forget()
	a.s.tell(a.s.style(bold, text))
	return a.keys.line(ctx)
}

// say writes a line that belongs to the question.
func (a *asker) say(text string) { a.s.tell(text + "\n") }

// quote shows text of others, set off from what this program says.
func (a *asker) quote(text string) {
	for line := range strings.Lines(text) {
		a.say("  | " + a.c.judged(strings.TrimSuffix(line, "\n")))
	}
}

// describe says what is asked, in full: what is not shown cannot be allowed.
func (a *asker) describe(req *permission.Request) {
	title := req.Title
	if title == "" {
		title = "Claude wants to use " + req.ToolName
	}
	a.say("")
	a.say(a.s.style(bold, a.c.judged(title)))
	for _, extra := range []struct{ name, value string }{
		{"tool", req.ToolName}, {"agent", req.AgentID}, {"what", req.Description}, {"why asked", req.Reason}, {"path", req.BlockedPath},
	} {
		if extra.value != "" && extra.value != title {
			a.say(a.s.style(faint, "  "+extra.name+": "+a.c.judged(extra.value)))
		}
	}
	a.quote(inputText(req.Input))
	for _, u := range req.Suggestions {
		if !req.SuppressAlwaysAllow {
			a.say(a.s.style(faint, "  always: "+a.c.judged(updateText(u))))
		}
	}
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

// updateText says what would be remembered, and where.
func updateText(u permission.Update) string {
	var what []string
	for _, rule := range u.Rules {
		what = append(what, string(u.Behavior)+" "+rule.String())
	}
	if u.Mode != "" {
		what = append(what, "permission mode "+string(u.Mode))
	}
	for _, dir := range u.Directories {
		what = append(what, "work in "+dir)
	}
	if len(what) == 0 {
		return string(u.Raw)
	}
	return strings.Join(what, ", ") + " (" + string(u.Destination) + ")"
}
