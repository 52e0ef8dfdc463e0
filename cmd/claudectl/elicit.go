package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/form"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// elicit is a control.ElicitationFunc: it puts the question of an MCP server to
// a person.
func (a *asker) elicit(ctx context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
	return alone(ctx, a, control.Cancel(), func() (control.ElicitationAnswer, error) {
		a.say("")
		a.say(a.s.style(terminal.Bold, a.c.line("The MCP server "+e.ServerName+" asks")))
		a.quote(e.Message)
		if e.Mode == control.ElicitationURL {
			return a.visit(ctx, e.URL)
		}
		return a.fill(ctx, e)
	})
}

// visit shows an address, whole: without the secrets in it, it would lead
// nowhere. The host stands alone too, because an address can hide it.
func (a *asker) visit(ctx context.Context, address string) (control.ElicitationAnswer, error) {
	a.say("  address: " + terminal.Line(address))
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		a.say(a.s.style(terminal.Faint, "  host: "+terminal.Line(u.Host)))
	}
	yes, err := a.confirm(ctx, "Open it in a browser, then say whether to continue. [y yes, n no] ")
	if err != nil || !yes {
		return control.Decline(), err
	}
	return control.Accept(nil), nil
}

// fill asks for the fields of a form, if the person wants to answer at all: the
// server gets the text they type.
func (a *asker) fill(ctx context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
	yes, err := a.confirm(ctx, "Answer? The server reads it. [y yes, n no] ")
	if err != nil || !yes {
		return control.Decline(), err
	}
	fields, err := form.Fields(e.RequestedSchema, e.PropertyOrder)
	if err != nil {
		return control.Decline(), err
	}
	content := make(map[string]any)
	for i := range fields {
		value, err := a.askField(ctx, &field{fields[i]})
		if err != nil {
			return control.Decline(), err
		}
		if value != nil {
			content[fields[i].Name] = value
		}
	}
	return control.Accept(content), nil
}

// askField asks for one field until the input fits it. It returns nil for a field
// that is left out.
func (a *asker) askField(ctx context.Context, f *field) (any, error) {
	a.say(a.s.style(terminal.Bold, a.c.line(f.heading())))
	for n, o := range f.Options() {
		a.option(n, o.Title, "")
	}
	for {
		text, err := a.prompt(ctx, f.how())
		if err != nil {
			return nil, err
		}
		switch {
		case text == "" && len(f.Default) > 0:
			return f.Default, nil
		case text == "" && !f.Required:
			return nil, nil
		case text == "":
			a.say(a.s.style(terminal.Red, "The server needs this one."))
			continue
		}
		value, err := f.read(text)
		if err == nil {
			return value, nil
		}
		a.say(a.s.style(terminal.Red, a.c.line("That does not fit: "+err.Error())))
	}
}

// confirm asks for yes or no.
func (a *asker) confirm(ctx context.Context, text string) (bool, error) {
	for {
		key, err := a.prompt(ctx, text)
		if err != nil {
			return false, err
		}
		if yes, ok := yesOrNo(key); ok {
			return yes, nil
		}
		a.unknown(key, "y or n")
	}
}

// yesOrNo reads an answer, if it is one of the two.
func yesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return true, true
	case "n", "no", "false":
		return false, true
	}
	return false, false
}
