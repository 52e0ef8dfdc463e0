package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// message takes a frame of the conversation.
func (b *builder) message(f *Frame, w wire.Frame) {
	m, err := message.DecodeAs(w.Type, w.Subtype, w.Line)
	if m == nil {
		f.Kind, f.Error = KindBroken, "message cannot be read: "+err.Error()
		return
	}
	if err != nil {
		b.problem(f.Line, err.Error())
	}
	f.Kind = KindSystem
	f.Summary = strings.ReplaceAll(cmp.Or(w.Subtype, w.Type, "a line without a type"), "_", " ")
	switch m := m.(type) {
	case *message.User:
		b.user(f, m)
	case *message.Assistant:
		b.assistant(f, m)
	case *message.StreamEvent:
		f.Kind = KindStream
		b.open(f)
		f.Summary = joined(string(m.EventType), quoted(m.Text()))
		b.noteFirstWord(f)
		b.streamed(f, m)
		if m.ParentToolUseID == "" {
			b.clock.word(f.AtMS)
		}
	case *message.Result:
		b.result(f, m)
	case *message.Init:
		b.open(f)
		b.init(f, m)
	case *message.Error:
		f.Error = f.Summary
	default:
		b.notice(f, m)
	}
	b.look(f, messageDocument(f, m))
	b.note(f, unknownBlocks(m))
}

// unknownBlocks names the blocks of a message that no decoder knows.
func unknownBlocks(m message.Message) []string {
	switch m := m.(type) {
	case *message.Assistant:
		return blocksOf("assistant.message.content", m.Content)
	case *message.User:
		return blocksOf("user.message.content", m.Content)
	case *message.StreamEvent:
		if m.ContentBlock != nil {
			return blocksOf("stream_event.event.content_block", message.Content{m.ContentBlock})
		}
	}
	return nil
}

func blocksOf(name string, content message.Content) (names []string) {
	for _, b := range content {
		at := name + "[" + b.BlockType() + "]"
		switch b := b.(type) {
		case *message.UnknownBlock:
			names = append(names, at)
		case *message.ToolResultBlock:
			names = append(names, blocksOf(at+".content", b.Content)...)
		}
	}
	return names
}

// open begins a turn if none runs.
func (b *builder) open(f *Frame) {
	if b.turn != nil {
		return
	}
	b.clock = modelClock{from: f.AtMS}
	b.turn = &Turn{Number: len(b.rep.Turns) + 1, FromLine: f.Line, FromMS: f.AtMS, Items: []*Item{}}
	b.rep.Turns = append(b.rep.Turns, b.turn)
}

// noteFirstWord notes the first word of the model in a turn.
func (b *builder) noteFirstWord(f *Frame) {
	if b.turn.FirstWordMS == nil {
		waited := f.AtMS - b.turn.FromMS
		b.turn.FirstWordMS = &waited
	}
}

func (b *builder) init(f *Frame, m *message.Init) {
	f.Summary = joined("init", m.Model, m.Cwd)
	s := &b.rep.Summary
	s.Version = cmp.Or(m.Version, s.Version)
	s.Model = cmp.Or(m.Model, s.Model)
	b.models.add(m.Model)
	s.Cwd = cmp.Or(m.Cwd, s.Cwd)
	s.SessionID = cmp.Or(m.SessionID, s.SessionID)
}

func (b *builder) user(f *Frame, m *message.User) {
	results := m.ToolResults()
	switch {
	case f.Dir == claudetest.DirIn:
		f.Kind = KindPrompt
		b.open(f)
		b.add(f, &Item{Kind: ItemPrompt, Text: m.Text()})
		b.prompt = cmp.Or(b.prompt, show.Short(m.Text()))
	case len(results) > 0:
		f.Kind = KindTool
		b.open(f)
		if m.ParentToolUseID == "" {
			b.clock.ready(f.AtMS)
		}
	default:
		// A change of the model is reported to the conversation outside of turns.
		if text := m.Text(); text != "" && !m.IsReplay && b.turn != nil {
			b.add(f, &Item{Kind: ItemNotice, Text: text, Agent: b.agent(m)})
		}
	}
	f.Summary = show.Short(m.Text())
	for _, r := range results {
		t := b.tools[r.ToolUseID]
		text := r.Content.Text()
		if t == nil {
			b.problem(f.Line, "result of the tool call "+r.ToolUseID+", which nobody made")
			f.Summary = joined("result:", show.Short(text))
			continue
		}
		t.Done, t.IsError, t.Output = true, r.IsError, text
		t.EndMS, t.EndLine = f.AtMS, f.Line
		f.Summary = joined(t.Name+":", show.Short(text))
		b.ended[f.Line] = append(b.ended[f.Line], t)
	}
}

func (b *builder) assistant(f *Frame, m *message.Assistant) {
	f.Kind = KindAssistant
	b.open(f)
	b.noteFirstWord(f)
	if m.ParentToolUseID == "" {
		b.clock.word(f.AtMS)
	}
	b.models.add(m.Model)
	agent := b.agent(m)
	if m.Model != "<synthetic>" && m.Usage.InputTokens+m.Usage.CacheReadInputTokens+m.Usage.CacheCreationInputTokens+m.Usage.OutputTokens > 0 {
		b.calls.heard(b.turn, f, m.ID, agent, m.Model, m.Usage)
	}
	var said []string
	for _, block := range m.Content {
		it := &Item{Agent: agent}
		switch block := block.(type) {
		case *message.TextBlock:
			it.Kind, it.Text = ItemText, block.Text
			said = append(said, block.Text)
		case *message.ThinkingBlock:
			it.Kind, it.Text = ItemThinking, block.Thinking
			said = append(said, "thinks: "+block.Thinking)
		case *message.ToolUseBlock:
			if b.tools[block.ID] != nil { // repeated, as after a resume
				continue
			}
			t := &Tool{ID: block.ID, Name: block.Name, Input: block.Input, StartMS: f.AtMS, Turn: b.turn.Number}
			b.tools[block.ID] = t
			it.Kind, it.Tool = ItemTool, t
			said = append(said, joined("calls", block.Name, show.Short(show.Subject(block.Input))))
		case *message.UnknownBlock:
			it.Kind, it.Text = ItemNotice, "a block of the unknown type "+block.Type
		default:
			it.Kind, it.Text = ItemNotice, block.BlockType()
		}
		b.add(f, it)
	}
	f.Summary = show.Short(strings.Join(said, " "))
	if m.Error != "" {
		f.Error = string(m.Error)
	}
}

// agent names the subagent of a message, "" for the main conversation.
func (b *builder) agent(m message.Message) string {
	who := message.SubagentOf(m)
	if who.ToolUseID == "" {
		return ""
	}
	if name := joined(who.Type, quoted(who.Description)); name != "" {
		b.agents[who.ToolUseID] = name
	}
	return cmp.Or(b.agents[who.ToolUseID], "subagent")
}

func (b *builder) result(f *Frame, m *message.Result) {
	f.Kind = KindResult
	b.open(f)
	b.spending.Add(m)
	t := b.turn
	t.Ended, t.Failed = true, m.Failed()
	t.Outcome = cmp.Or(string(m.TerminalReason), m.Subtype)
	t.stopped = m.Interrupted()
	t.Answer = cmp.Or(m.Text, strings.Join(m.Errors, "\n"))
	t.CostUSD, t.Tokens, t.AgentTurns = b.spending.TurnUSD, tokensOf(m.Usage), m.NumTurns
	t.ToLine, t.ToMS = f.Line, f.AtMS
	t.Model = b.clock.spans
	f.Turn = t.Number
	f.Summary = fmt.Sprintf("%s, %s, %s", brief.Ending(t.Outcome), show.Plural(m.NumTurns, "agentic turn"), show.Money(t.CostUSD))
	if t.Failed {
		f.Error = cmp.Or(show.Short(t.Answer), brief.Ending(t.Outcome))
		if t.interrupted() {
			f.Error = "interrupted"
		}
	}
	b.turn = nil
}

// notice takes the other messages of the CLI.
func (b *builder) notice(f *Frame, m message.Message) {
	switch m := m.(type) {
	case *message.APIRetry:
		f.Error = "the API call failed and is tried again"
		f.Summary = fmt.Sprintf("%s, attempt %d of %d", brief.Ending(string(m.Error)), m.Attempt, m.MaxRetries)
		b.retries = append(b.retries, f)
	case *message.PermissionDenied:
		f.Error = joined("denied", m.ToolName)
	case *message.SessionTitle:
		b.title = cmp.Or(m.Title, b.title)
	case *message.Unknown:
		b.note(f, []string{cmp.Or(m.Type, "a line without a type")})
	case *message.System:
		b.note(f, []string{"system/" + m.Subtype})
	case *message.Status, *message.SessionState, *message.CommandLifecycle, *message.ToolProgress, *message.ThinkingTokens:
		return // of passing interest
	}
	if b.turn != nil {
		b.add(f, &Item{Kind: ItemNotice, Text: cmp.Or(f.Error, f.Summary)})
	}
}
