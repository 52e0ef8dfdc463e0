package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
)

// renderer shows a turn as it goes: the text of the answer as it is written, the
// tools that are called, the cost at the end. It is for one goroutine.
type renderer struct {
	c        *console
	s        *screen
	progress *progress
	verdicts *verdicts
	spending message.Spending

	silent bool // the answer is not text: show the rest only
	quiet  bool // show the answer only

	pieces  *secret.Stream // the text that is being written
	writing string         // the id of the answer that pieces are of
	shown   bool           // pieces of the current block were shown
	calls   message.ToolCalls
	began   map[string]time.Time // of tool calls, by id
}

func newRenderer(c *console, s *screen, v *verdicts) *renderer {
	return &renderer{c: c, s: s, progress: newProgress(), verdicts: v, pieces: secret.NewStream(c.secrets), began: make(map[string]time.Time)}
}

// show shows one message.
func (r *renderer) show(m message.Message) {
	r.progress.add(m)
	r.verdicts.add(m)
	switch m := m.(type) {
	case *message.StreamEvent:
		r.showPiece(m)
	case *message.Assistant:
		r.showText(m)
	case *message.APIRetry:
		r.note(terminal.Red, fmt.Sprintf("the API failed (%s), attempt %d of %d", brief.Ending(string(m.Error)), m.Attempt, m.MaxRetries))
	case *message.Result:
		r.showEnd(m)
	}
	for _, call := range r.calls.Add(m) {
		r.showCall(call)
	}
	r.progress.tools(r.calls.Running(), func(call *message.ToolCall) string { return brief.Call(r.c.secrets.JSON(call.Use.Input)) })
}

// showPiece shows a piece of text. Subagents do not send any.
func (r *renderer) showPiece(e *message.StreamEvent) {
	switch {
	case r.silent:
	case e.EventType == message.EventMessageStart:
		r.abandon()
		r.writing = e.MessageID
	case e.EventType == message.EventBlockDelta && e.Delta != nil && e.Delta.Type == message.DeltaText:
		r.s.answer(terminal.Clean(r.pieces.Next(e.Delta.Text)))
		r.shown = true
	case e.EventType == message.EventBlockStop:
		r.endPieces()
	}
}

func (r *renderer) endPieces() {
	r.s.answer(terminal.Clean(r.pieces.Rest()))
	r.s.endAnswer()
}

// abandon marks the shown pieces as parts of an answer that the CLI gave up, as
// it does when the connection breaks: the complete answer will be another.
func (r *renderer) abandon() {
	if r.shown {
		r.shown = false
		r.endPieces()
		r.note(terminal.Red, "the answer broke off there, and begins anew")
	}
}

// showText shows the text of a line, unless its pieces were.
func (r *renderer) showText(a *message.Assistant) {
	text := a.Text()
	if text == "" || a.ParentToolUseID != "" || r.silent {
		return
	}
	if r.shown && r.writing == a.ID {
		r.shown = false
		return
	}
	r.abandon()
	if a.Error != "" || a.IsAPIErrorMessage { // the CLI wrote it, and it is not an answer
		r.note(terminal.Red, text)
		return
	}
	r.s.answer(r.c.clean(text))
	r.s.endAnswer()
}

// showCall shows a tool call that has begun or ended. On a terminal the live line
// shows the running calls, so a call gets one line, when it ends; and whatever a
// question has shown is not shown again.
func (r *renderer) showCall(call *message.ToolCall) {
	name := call.Use.Name
	if call.Agent.Type != "" {
		name = call.Agent.Type + ": " + name
	}
	about := strings.TrimSuffix("  "+brief.Call(r.c.secrets.JSON(call.Use.Input)), "  {}")
	if call.Result == nil {
		r.began[call.Use.ID] = time.Now()
		if !r.s.live {
			r.note(terminal.Bold, "> "+name+about)
		}
		return
	}
	word, style := r.verdicts.of(call.Result)
	text := "< " + name + " " + word
	if r.s.live && !r.verdicts.wasAsked(call.Use.ID) {
		text = "< " + name + about + "  " + word
	}
	if began, ok := r.began[call.Use.ID]; ok && word != "denied" {
		text += ", " + brief.Seconds(time.Since(began))
	}
	if call.Result.IsError && word != "interrupted" {
		text += ": " + brief.FirstLine(r.c.secrets.Hide(call.Result.Content.Text()))
	}
	r.note(style, text)
}

// note shows our own line, which may hold text of others.
func (r *renderer) note(style, text string) {
	if !r.quiet {
		r.s.note(r.s.style(style, r.c.line(text)))
	}
}

// showEnd shows what a turn took.
func (r *renderer) showEnd(m *message.Result) {
	r.s.endAnswer()
	r.spending.Add(m)
	r.note(terminal.Faint, brief.Bill(m, &r.spending))
}
