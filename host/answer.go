package host

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// Answer is one answer of the model behind an agent: blocks of thinking, text
// and tool calls. The client gets a line for each block, preceded by the
// pieces of the block if it asked for partial messages.
//
//	a, err := t.Answer(ctx)
//	...
//	a.Text(ctx, slices.Values([]string{"I look ", "at it."}))
//	a.Use(ctx, host.Call{Name: "Read", Input: in, Run: read})
//	outputs, err := a.End(ctx) // runs the tools
//
// An Answer must be used by one goroutine only. You must call End; if another
// method failed, End returns that error.
type Answer struct {
	t     *Turn
	id    string
	usage message.Usage
	stop  string
	index int
	calls []*Call
	text  strings.Builder
	first bool
	begun bool                 // the client knows about the answer
	lines []*message.Assistant // not yet in the transcript
	err   error
}

// Answer begins an answer. Answers of one turn wait for each other.
func (t *Turn) Answer(ctx context.Context) (*Answer, error) {
	select {
	case t.answering <- struct{}{}:
	case <-ctx.Done():
		return nil, t.cut(ctx)
	}
	a := &Answer{t: t, id: "msg_" + strings.ReplaceAll(uuid.New(), "-", "")[:24]}
	if err := t.allowAnswer(); err != nil {
		<-t.answering
		return nil, err
	}
	t.mu.Lock()
	a.first = !t.named
	t.named = true
	t.answers++
	t.mu.Unlock()
	if t.s.opts.PartialMessages && t.sub == nil {
		_ = t.s.emit(&message.Status{Status: "requesting", Prompts: t.ids()})
	}
	t.replay()
	return a, nil
}

// allowAnswer refuses an answer in a turn that is over or at its limit.
func (t *Turn) allowAnswer() error {
	if t.isOver() {
		return errInterrupted
	}
	t.mu.Lock()
	limit := t.sub == nil && t.s.opts.MaxTurns > 0 && t.answers >= t.s.opts.MaxTurns
	t.mu.Unlock()
	if err := t.afford(); err != nil {
		return err
	}
	if limit {
		return t.over(ending{
			reason: message.EndMaxTurns, failed: message.ResultErrorMaxTurns,
			err: fmt.Sprintf("Reached maximum number of turns (%d)", t.s.opts.MaxTurns),
		})
	}
	return nil
}

// afford ends the turn of a session that has cost more than it may.
func (t *Turn) afford() error {
	most := t.s.opts.MaxBudgetUSD
	t.mu.Lock()
	cost := t.s.spent() + t.spent
	t.mu.Unlock()
	if most == 0 || cost < most {
		return nil
	}
	return t.over(ending{
		reason: message.EndBudgetExhausted, failed: message.ResultErrorMaxBudget,
		err: fmt.Sprintf("Reached maximum budget ($%v)", most),
	})
}

// SetUsage sets the tokens that the lines of the answer report. It does not
// change what [Turn.Spend] adds up.
func (a *Answer) SetUsage(u message.Usage) { a.usage = u }

// SetStopReason sets why the model stopped. The default is "tool_use" if there
// are tool calls, otherwise "end_turn".
func (a *Answer) SetStopReason(reason string) { a.stop = reason }

// Text adds a block of text, in pieces that are sent as they arrive.
func (a *Answer) Text(ctx context.Context, pieces iter.Seq[string]) error {
	return a.stream(ctx, message.Text(""), pieces,
		func(piece string) *message.Delta { return &message.Delta{Type: message.DeltaText, Text: piece} },
		func(all string) message.Block {
			a.text.WriteString(all)
			return message.Text(all)
		})
}

// Think adds a block of thinking, in pieces that are sent as they arrive.
func (a *Answer) Think(ctx context.Context, pieces iter.Seq[string]) error {
	return a.stream(ctx, &message.ThinkingBlock{}, pieces,
		func(piece string) *message.Delta { return &message.Delta{Type: message.DeltaThinking, Thinking: piece} },
		func(all string) message.Block { return &message.ThinkingBlock{Thinking: all, Signature: "c2lnbmVk"} })
}

// Use adds a tool call. It runs when the answer ends.
func (a *Answer) Use(ctx context.Context, c Call) error {
	if a.err != nil {
		return a.err
	}
	input, err := c.prepare()
	if err != nil {
		a.err = err
		return err
	}
	block := func(in json.RawMessage) *message.ToolUseBlock {
		return &message.ToolUseBlock{ID: c.ID, Name: c.Name, Input: in}
	}
	a.calls = append(a.calls, &c)
	return a.stream(ctx, block(json.RawMessage("{}")), slices.Values([]string{string(input)}),
		func(piece string) *message.Delta {
			return &message.Delta{Type: message.DeltaInputJSON, PartialJSON: piece}
		},
		func(string) message.Block { return block(input) })
}

// stream sends one block. If the turn is interrupted in the middle, the part
// that exists is sent, marked as aborted.
func (a *Answer) stream(ctx context.Context, empty message.Block, pieces iter.Seq[string],
	delta func(string) *message.Delta, whole func(string) message.Block) error {
	if a.err != nil {
		return a.err
	}
	a.event(&message.StreamEvent{EventType: message.EventBlockStart, Index: a.index, ContentBlock: empty})
	var all strings.Builder
	for piece := range pieces {
		if ctx.Err() != nil {
			break
		}
		all.WriteString(piece)
		a.event(&message.StreamEvent{EventType: message.EventBlockDelta, Index: a.index, Delta: delta(piece)})
	}
	aborted := ctx.Err() != nil
	if !aborted || all.Len() > 0 {
		a.err = a.line(whole(all.String()), aborted)
	}
	if aborted {
		a.err = a.t.cut(ctx)
	}
	a.event(&message.StreamEvent{EventType: message.EventBlockStop, Index: a.index})
	a.index++
	return a.err
}

// line sends a block as the line of an assistant.
func (a *Answer) line(b message.Block, aborted bool) error {
	m := &message.Assistant{
		ID: a.id, Model: a.t.Model(), Content: message.Content{b}, Usage: a.usage,
		Aborted: aborted, Timestamp: time.Now().UTC(),
	}
	if a.index == 0 {
		m.Prompts = a.prompts()
	}
	use, ok := b.(*message.ToolUseBlock)
	if sub := a.t.sub; sub != nil {
		return a.t.sub.say(m, use, a.usage)
	}
	if ok {
		if server, tool, mcp := splitMCP(use.Name); mcp {
			m.ToolUseMeta = []message.ToolUseMeta{{ID: use.ID, DisplayName: displayName(use.Name), ServerDisplayName: server, ToolName: tool}}
		}
	}
	// In the transcript the lines say why the model stopped, on the stream they
	// do not: the CLI writes them when the answer is complete.
	a.lines = append(a.lines, m)
	return a.t.s.emitOnly(m)
}

// prompts are named by the first answer of a turn only.
func (a *Answer) prompts() []string {
	if !a.first || a.t.sub != nil {
		return nil
	}
	return a.t.ids()
}

// event sends a piece of the answer, after its beginning.
func (a *Answer) event(e *message.StreamEvent) {
	if !a.t.s.opts.PartialMessages || a.t.sub != nil {
		return // a subagent is not streamed
	}
	if !a.begun {
		a.begun = true
		a.event(&message.StreamEvent{EventType: message.EventMessageStart, Model: a.t.Model(), Usage: &a.usage, Prompts: a.prompts()})
	}
	e.MessageID = a.id
	_ = a.t.s.emit(e) // a broken stream ends the session by itself
}

// End ends the answer, runs its tool calls and returns their outputs in order.
// An error for which errors.Is(err, ErrOver) holds means that the turn is
// over.
//
// Tools may give their own answers: the next answer can begin while they run.
func (a *Answer) End(ctx context.Context) ([]ToolOutput, error) {
	a.end()
	if a.err == nil {
		a.err = a.t.afford()
	}
	if a.err != nil && len(a.calls) > 0 {
		a.t.mu.Lock()
		a.t.stop = "" // the calls did not run
		a.t.mu.Unlock()
	}
	if a.err != nil || len(a.calls) == 0 {
		return nil, a.err
	}
	return a.t.use(ctx, a.calls)
}

// end completes the answer and lets the next one begin.
func (a *Answer) end() {
	defer func() { <-a.t.answering }()
	reason := a.stop
	switch {
	case a.err != nil:
		reason = ""
	case reason == "" && len(a.calls) > 0:
		reason = "tool_use"
	case reason == "":
		reason = "end_turn"
	}
	for _, m := range a.lines {
		m.StopReason = reason
		a.t.s.mirror.message(m, "")
	}
	a.event(&message.StreamEvent{EventType: message.EventMessageDelta, Delta: &message.Delta{StopReason: reason}, Usage: &a.usage})
	a.event(&message.StreamEvent{EventType: message.EventMessageStop})
	a.t.mu.Lock()
	a.t.text, a.t.stop = a.text.String(), reason
	a.t.mu.Unlock()
}

// Say answers with a text.
func (t *Turn) Say(ctx context.Context, text string) error {
	a, err := t.Answer(ctx)
	if err != nil {
		return err
	}
	_ = a.Text(ctx, slices.Values([]string{text})) // End has the error
	_, err = a.End(ctx)
	return err
}

// UseTool answers with one tool call, runs it and returns its output.
func (t *Turn) UseTool(ctx context.Context, name string, input any, run RunFunc) (ToolOutput, error) {
	a, err := t.Answer(ctx)
	if err != nil {
		return ToolOutput{}, err
	}
	_ = a.Use(ctx, Call{Name: name, Input: input, Run: run})
	outputs, err := a.End(ctx)
	if len(outputs) == 0 {
		return ToolOutput{}, err
	}
	return outputs[0], err
}
