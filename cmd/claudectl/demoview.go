package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
)

// demoView shows the demo: a line for each thing that happens, with who does it in
// front; with --json an object for each. It is safe for concurrent use.
type demoView struct {
	c      *console
	colour bool
	pace   time.Duration // between pieces of text, for people to watch

	spending message.Spending

	mu     sync.Mutex
	pieces *secret.Stream
	open   bool // a line of text has no end yet
	called map[string]chan struct{}
}

func newDemoView(c *console) *demoView {
	v := &demoView{c: c, colour: coloured(c, c.stdout.stream), pieces: secret.NewStream(c.secrets), called: make(map[string]chan struct{})}
	if terminal.Is(c.stdout.stream) && !c.json {
		v.pace = 12 * time.Millisecond
	}
	return v
}

// say shows one thing.
func (v *demoView) say(who, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.end()
	if v.c.json {
		_ = v.c.emit(struct {
			Who  string `json:"who"`
			What string `json:"what"`
		}{who, what})
		return
	}
	text := v.c.line(what)
	if columns, ok := terminal.Width(v.c.stdout.stream); ok {
		text = wrap(text, columns-labelWidth, labelWidth)
	}
	v.c.printf("%s%s\n", v.label(who), text)
}

// labelWidth is how many columns are in front of a text.
const labelWidth = 12

// wrap breaks a line between words, so that no part is wider than width unless a
// word is, and indents what follows.
func wrap(text string, width, indent int) string {
	var lines []string
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if line != "" && utf8.RuneCountInString(line+strings.TrimRight(word, " ")) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = ""
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}

// gap leaves a line free, before something new.
func (v *demoView) gap() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.c.json {
		v.c.printf("\n")
	}
}

// label comes before a line.
func (v *demoView) label(who string) string {
	text := fmt.Sprintf("%*s  ", labelWidth-2, who)
	if v.colour {
		return paint(labelColour(who), text)
	}
	return text
}

func labelColour(who string) string {
	switch who {
	case "you", "claude":
		return bold
	case "hook", "tool":
		return green
	case "asked", "answer", "interrupt":
		return red
	}
	return faint
}

// show shows a message; it is for one goroutine at a time. Text comes in pieces;
// with --json it is shown when it is complete.
func (v *demoView) show(m message.Message) {
	switch m := m.(type) {
	case *message.StreamEvent:
		if m.EventType == message.EventBlockDelta && m.Delta != nil && m.Delta.Type == message.DeltaText && !v.c.json {
			v.write(m.Delta.Text)
		}
	case *message.Assistant:
		if text := m.Text(); text != "" && v.c.json {
			v.say("claude", text)
		}
		for _, use := range m.Content.ToolUses() {
			v.say("claude", "calls "+use.Name+"  "+brief(v.c.secrets.JSON(use.Input)))
			v.announce(use.ID)
		}
	case *message.Result:
		v.spending.Add(m)
		v.say("result", inspect.EndingOf(m))
		v.say("cost", bill(m, &v.spending))
	}
}

// write shows a piece of text.
func (v *demoView) write(piece string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		v.c.printf("%s", v.label("claude"))
		v.open = true
	}
	text := terminal.Clean(v.pieces.Next(piece))
	v.c.printf("%s", strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", labelWidth)))
}

func (v *demoView) end() {
	if v.open {
		v.c.printf("%s\n", terminal.Clean(v.pieces.Rest()))
		v.open = false
	}
}

// shown returns the channel that is closed when a tool call was shown.
func (v *demoView) shown(id string) chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.called[id] == nil {
		v.called[id] = make(chan struct{})
	}
	return v.called[id]
}

// announce says that a tool call was shown. A CLI may report one twice.
func (v *demoView) announce(id string) {
	shown := v.shown(id)
	select {
	case <-shown:
	default:
		close(shown)
	}
}

// await waits until a tool call was shown, so that what it leads to comes after:
// callbacks are not held up by messages that nobody has read yet.
func (v *demoView) await(ctx context.Context, id string) {
	select {
	case <-v.shown(id):
	case <-ctx.Done():
	case <-time.After(time.Second): // a CLI that tells it later
	}
}
