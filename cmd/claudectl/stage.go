package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
)

// stage shows the demo: a line for each thing that happens, with who does it in
// front; with --json an object for each. It is safe for concurrent use.
type stage struct {
	c      *console
	colour bool
	pace   time.Duration // between pieces of text, for people to watch

	mu     sync.Mutex
	pieces *secret.Stream
	open   bool // a line of text has no end yet
	called map[string]chan struct{}
}

func newStage(c *console) *stage {
	st := &stage{c: c, colour: coloured(c, c.stdout.stream), pieces: secret.NewStream(c.secrets), called: make(map[string]chan struct{})}
	if terminal.Is(c.stdout.stream) && !c.json {
		st.pace = 12 * time.Millisecond
	}
	return st
}

// say shows one thing.
func (st *stage) say(who, what string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.end()
	if st.c.json {
		_ = st.c.emit(struct {
			Who  string `json:"who"`
			What string `json:"what"`
		}{who, what})
		return
	}
	st.c.printf("%s%s\n", st.label(who), st.c.line(what))
}

// gap leaves a line free, before something new.
func (st *stage) gap() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.c.json {
		st.c.printf("\n")
	}
}

// label is what stands in front of a line.
func (st *stage) label(who string) string {
	text := fmt.Sprintf("%10s  ", who)
	if st.colour {
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

// show shows a message; it is for one goroutine at a time. Text comes in pieces; with --json it is shown when it is
// complete.
func (st *stage) show(m message.Message) {
	switch m := m.(type) {
	case *message.StreamEvent:
		if m.EventType == message.EventBlockDelta && m.Delta != nil && m.Delta.Type == message.DeltaText && !st.c.json {
			st.write(m.Delta.Text)
		}
	case *message.Assistant:
		if text := m.Text(); text != "" && st.c.json {
			st.say("claude", text)
		}
		for _, use := range m.Content.ToolUses() {
			st.say("claude", "calls "+use.Name+"  "+brief(st.c.secrets.JSON(use.Input)))
			st.announce(use.ID)
		}
	case *message.Result:
		st.say("result", ending(m))
		st.say("cost", bill(m))
	}
}

// write shows a piece of text.
func (st *stage) write(piece string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.open {
		st.c.printf("%s", st.label("claude"))
		st.open = true
	}
	text := terminal.Clean(st.pieces.Next(piece))
	st.c.printf("%s", strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 12)))
}

func (st *stage) end() {
	if st.open {
		st.c.printf("%s\n", terminal.Clean(st.pieces.Rest()))
		st.open = false
	}
}

// moment returns the channel that is closed when a tool call was shown.
func (st *stage) moment(id string) chan struct{} {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.called[id] == nil {
		st.called[id] = make(chan struct{})
	}
	return st.called[id]
}

// announce says that a tool call was shown. A CLI may tell of one twice.
func (st *stage) announce(id string) {
	moment := st.moment(id)
	select {
	case <-moment:
	default:
		close(moment)
	}
}

// await waits until a tool call was shown, so that what it leads to comes after:
// callbacks are not held up by messages that nobody has read yet.
func (st *stage) await(ctx context.Context, id string) {
	select {
	case <-st.moment(id):
	case <-ctx.Done():
	case <-time.After(time.Second): // a CLI that tells it later
	}
}

// ending says how a turn ended.
func ending(m *message.Result) string {
	if m.TerminalReason != "" {
		return string(m.TerminalReason)
	}
	return m.Subtype
}
