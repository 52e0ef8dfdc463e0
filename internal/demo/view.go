package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
)

// View shows the demo: a line for each thing that happens, with who does it in
// front; with JSON an object for each. It is safe for concurrent use.
type View struct {
	out     io.Writer
	stream  any // what out writes to in the end, which may be a terminal
	json    bool
	secrets *secret.Set
	colour  bool
	pace    time.Duration // between pieces of text, for people to watch

	spending message.Spending

	mu     sync.Mutex
	pieces *secret.Stream
	open   bool // a line of text has no end yet
	called map[string]chan struct{}
}

// NewView returns a view that writes to out. If stream, where that ends up, is a
// terminal, the demo takes its time and has colours, unless env is against it.
func NewView(out io.Writer, stream any, env []string, json bool) *View {
	secrets := secret.FromEnv(env)
	v := &View{
		out: out, stream: stream, json: json, secrets: secrets, colour: terminal.Coloured(env, stream),
		pieces: secret.NewStream(secrets), called: make(map[string]chan struct{}),
	}
	if terminal.Is(stream) && !json {
		v.pace = 12 * time.Millisecond
	}
	return v
}

// say shows one thing.
func (v *View) say(who, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.end()
	if v.json {
		v.emit(who, what)
		return
	}
	text := terminal.Line(v.secrets.Hide(what))
	if columns, ok := terminal.Width(v.stream); ok {
		text = wrap(text, columns-labelWidth, labelWidth)
	}
	v.printf("%s%s\n", v.label(who), text)
}

// printf writes clean text. An output that is lost is its owner's concern, who ends
// the session.
func (v *View) printf(format string, args ...any) { _, _ = fmt.Fprintf(v.out, format, args...) }

// emit writes one thing as a line of JSON, without secrets and without anything that a
// terminal obeys: JSON need not escape all of that.
func (v *View) emit(who, what string) {
	line, _ := jsonx.Marshal(struct {
		Who  string `json:"who"`
		What string `json:"what"`
	}{who, what}) // strings always encode
	_, _ = v.out.Write(append(terminal.JSON(v.secrets.JSON(line)), '\n'))
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
func (v *View) gap() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.json {
		v.printf("\n")
	}
}

// label comes before a line.
func (v *View) label(who string) string {
	text := fmt.Sprintf("%*s  ", labelWidth-2, who)
	if v.colour {
		return terminal.Paint(labelColour(who), text)
	}
	return text
}

func labelColour(who string) string {
	switch who {
	case "you", "claude":
		return terminal.Bold
	case "hook", "tool":
		return terminal.Green
	case "asked", "answer", "interrupt":
		return terminal.Red
	}
	return terminal.Faint
}

// show shows a message; it is for one goroutine at a time. Text comes in pieces;
// with --json it is shown when it is complete.
func (v *View) show(m message.Message) {
	switch m := m.(type) {
	case *message.StreamEvent:
		if m.EventType == message.EventBlockDelta && m.Delta != nil && m.Delta.Type == message.DeltaText && !v.json {
			v.write(m.Delta.Text)
		}
	case *message.Assistant:
		if text := m.Text(); text != "" && v.json {
			v.say("claude", text)
		}
		for _, use := range m.Content.ToolUses() {
			v.say("claude", "calls "+use.Name+"  "+brief.Call(v.secrets.JSON(use.Input)))
			v.announce(use.ID)
		}
	case *message.Result:
		v.spending.Add(m)
		v.say("result", brief.EndingOf(m))
		v.say("cost", brief.Bill(m, &v.spending))
	}
}

// write shows a piece of text.
func (v *View) write(piece string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		v.printf("%s", v.label("claude"))
		v.open = true
	}
	text := terminal.Clean(v.pieces.Next(piece))
	v.printf("%s", strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", labelWidth)))
}

func (v *View) end() {
	if v.open {
		v.printf("%s\n", terminal.Clean(v.pieces.Rest()))
		v.open = false
	}
}

// shown returns the channel that is closed when a tool call was shown.
func (v *View) shown(id string) chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.called[id] == nil {
		v.called[id] = make(chan struct{})
	}
	return v.called[id]
}

// announce notes that a tool call was shown. A CLI may report one twice.
func (v *View) announce(id string) {
	shown := v.shown(id)
	select {
	case <-shown:
	default:
		close(shown)
	}
}

// await waits until a tool call was shown, so that its consequences are shown
// after it: callbacks do not wait for unread messages.
func (v *View) await(ctx context.Context, id string) {
	select {
	case <-v.shown(id):
	case <-ctx.Done():
	case <-time.After(time.Second): // a CLI that tells it later
	}
}
