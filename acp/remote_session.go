package acp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// reaching limits requests that nobody waits for.
const reaching = 30 * time.Second

// remoteSession is a conversation of a server behind a session of an editor. One
// goroutine follows it.
type remoteSession struct {
	id      schema.SessionID
	editor  *editor
	server  RemoteServer
	preset  api.PresetInfo
	log     *slog.Logger
	after   int64  // the event to follow it from
	ignores bool   // MCP servers of the editor
	like    string // the conversation whose commands it shows when it is opened: for a copy, the original
	knows   bool   // the editor knows what was copied, or does not want to see it

	machine    *translate.Machine // of the follower
	text       remoteText         // of the follower
	compaction remoteCompaction   // of the follower
	asks       asks

	following sync.Once
	listers   sync.WaitGroup  // of slash commands
	ctx       context.Context // ends with the session
	end       context.CancelFunc
	done      chan struct{} // closed when the follower has left

	mu          sync.Mutex
	mode, model string
	title       string
	commands    []api.Command         // that the editor knows
	lists       []string              // the conversations whose commands are to be listed
	listing     bool                  // a goroutine lists commands
	own         map[string]*ownPrompt // that have not ended
	turn        *remoteTurn           // that runs, else nil
	moved       chan struct{}         // closed when an own prompt has come further; nil: no one waits
	prompts     openPrompts
	failed      error // why nothing is followed any more
}

// ownPrompt is a prompt of this editor, or a message that steers one.
type ownPrompt struct {
	id    string
	state api.PromptState
	sent  bool           // the server has it
	asked chan struct{}  // closed when the server has answered whether it takes it
	ended chan remoteEnd // has room for one
}

func newOwnPrompt() *ownPrompt {
	return &ownPrompt{id: uuid.New(), state: api.PromptQueued, asked: make(chan struct{}), ended: make(chan remoteEnd, 1)}
}

// runs reports whether its turn runs, or waits for a person.
func (p *ownPrompt) runs() bool { return p.state == api.PromptRunning || p.state == api.PromptWaiting }

// remoteEnd is how a prompt ended. The zero value is the end of a message that steers
// nothing: it was refused or taken back.
type remoteEnd struct {
	turn    *api.Turn
	err     error
	earlier []*api.Turn // of the same prompt of the editor, which have used something too
}

// open returns a session that is not followed yet.
func (r *Remote) open(e *editor, info *api.ServerInfo, own api.Conversation, servers bool) *remoteSession {
	s := &remoteSession{
		id: schema.SessionID(own.ID), editor: e, server: r.Server, log: r.Logger, after: own.LastSeq, ignores: servers, like: own.ID,
		machine: newMachine(e, own.Dir), done: make(chan struct{}), mode: own.Mode, model: own.Model, title: own.Title, own: make(map[string]*ownPrompt),
		prompts: openPrompts{user: info.User.Name, foreign: own.Shared || own.Owner != info.User.Name},
	}
	if i := slices.IndexFunc(info.Presets, func(p api.PresetInfo) bool { return p.Name == own.Preset }); i >= 0 {
		s.preset = info.Presets[i]
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.asks = asks{session: s, open: make(map[string]context.CancelFunc), left: make(map[string]asking)}
	return s
}

func (s *remoteSession) ID() schema.SessionID { return s.id }

func (s *remoteSession) chosen() remoteChoices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return remoteChoices{&s.preset, s.mode, s.model}
}

func (s *remoteSession) Modes() *schema.SessionModeState { return s.chosen().state() }

func (s *remoteSession) Config() []schema.SessionConfigOption { return s.chosen().options() }

// Opened lists the commands and begins to follow the conversation.
func (s *remoteSession) Opened(ctx context.Context) {
	if s.ignores {
		s.send(ctx, schema.SessionUpdate{AgentMessageChunk: &schema.ContentChunk{
			Content: translate.TextBlock("The MCP servers of this editor are not used: the conversation runs on a server, which has its own."),
		}})
	}
	s.showCommands(s.like)
	s.follow()
}

func (s *remoteSession) send(ctx context.Context, updates ...schema.SessionUpdate) {
	for _, up := range updates {
		if err := s.editor.Update(ctx, s.id, up); err != nil {
			s.log.Debug("acp: an update was not written", "session", s.id, "error", err)
			return
		}
	}
}

// replay shows what was said until now.
func (s *remoteSession) replay(ctx context.Context) error {
	return s.show(ctx, 0, s.after, true)
}

// take shows an event.
func (s *remoteSession) take(e *api.Event) {
	ctx := s.ctx
	switch e.Type {
	case api.EventMessage:
		s.send(ctx, s.said(e.Message, false)...)
	case api.EventPartial:
		s.send(ctx, s.text.partial(e.Partial)...)
	case api.EventDelta:
		s.send(ctx, s.text.delta(e.Delta)...)
	case api.EventCompaction:
		s.send(ctx, s.compaction.add(s.machine, e.Compaction)...)
	case api.EventConversation:
		now := *e.Changed
		now.Title = cmp.Or(now.Title, string(s.id)) // as a conversation without a title is shown
		s.send(ctx, s.changed(&now)...)
	case api.EventPrompt:
		s.prompted(e.Prompt)
		s.asks.askLeft(e.Prompt)
		if e.Prompt.State == api.PromptRunning {
			s.showCommands(string(s.id))
		}
	case api.EventTurn:
		s.text.ended()
		s.mu.Lock()
		others := s.prompts.others(e.Turn.Prompt)
		s.mu.Unlock()
		if !others {
			s.send(ctx, s.compaction.ended(s.machine)...)
		}
		s.send(ctx, s.settled()...)
		s.finish(e.Turn.Prompt, remoteEnd{turn: e.Turn})
		s.showCommands(string(s.id))
	case api.EventApproval:
		if e.Approval.State == api.ApprovalPending {
			s.asks.ask(e.Approval.ID)
		} else {
			s.asks.withdraw(e.Approval.ID)
			s.send(ctx, s.planned(e.Approval)...)
		}
	case api.EventSynced:
		s.asks.askOpen()
	}
}

// said returns the updates of a line of the transcript. In a replay, own prompts are
// shown too.
func (s *remoteSession) said(line []byte, replayed bool) []schema.SessionUpdate {
	m, _ := message.Decode(line) // what cannot be read is not shown
	if m == nil || message.SubagentOf(m) != (message.Subagent{}) || string(jsonx.Member(line, "isMeta")) == "true" {
		return nil
	}
	if s.knows && jsonx.Member(line, "forkedFrom") != nil {
		return nil // the lines of a copy reach its events one by one after it was made
	}
	if user, ok := m.(*message.User); ok && string(jsonx.Member(line, "isCompactSummary")) == "true" {
		return s.machine.Summary(user)
	}
	switch m := m.(type) {
	case *message.LocalCommandOutput:
		return []schema.SessionUpdate{textUpdate(m.UUID, api.BlockText, m.Content)}
	case *message.CompactBoundary:
		return s.compaction.stored(s.machine, m)
	case *message.Informational:
		if replayed {
			return s.machine.Replay(m.UUID, m)
		}
	case *message.Assistant:
		// Texts are shown by their own machine, which knows what was live.
		s.machine.Add(&message.StreamEvent{EventType: message.EventMessageStart, MessageID: m.ID, Model: m.Model})
		texts := s.text.stored(m)
		if translate.Synthetic(m) {
			texts = nil // the machine shows it
		}
		return append(texts, s.machine.Add(m)...)
	case *message.User:
		if m.ToolUseResult == nil {
			m.ToolUseResult = jsonx.Member(line, "toolUseResult") // as transcripts call it
		}
		id := m.Head().UUID
		s.mu.Lock()
		_, own := s.own[id]
		s.mu.Unlock()
		var out []schema.SessionUpdate
		switch {
		case m.ToolResults() != nil && !replayed:
			out = s.machine.Add(m)
		case !own || replayed:
			out = s.machine.Replay(id, m)
		}
		return append(out, s.text.answered(m)...)
	}
	return s.machine.Add(m)
}

// changed shows what another has chosen.
func (s *remoteSession) changed(c *api.Changed) (out []schema.SessionUpdate) {
	s.mu.Lock()
	mode, chosen, title := s.mode != c.Mode, s.mode != c.Mode || s.model != c.Model, s.title != c.Title
	s.mode, s.model, s.title = c.Mode, c.Model, c.Title
	s.mu.Unlock()
	if mode {
		out = append(out, schema.SessionUpdate{CurrentModeUpdate: &schema.CurrentModeUpdate{CurrentModeID: s.chosen().state().CurrentModeID}})
	}
	if chosen {
		out = append(out, schema.SessionUpdate{ConfigOptionUpdate: &schema.ConfigOptionUpdate{ConfigOptions: s.Config()}})
	}
	if title {
		out = append(out, schema.SessionUpdate{SessionInfoUpdate: &schema.SessionInfoUpdate{Title: &c.Title}})
	}
	return out
}

// prompted notes how a prompt stands.
func (s *remoteSession) prompted(p *api.Prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts.note(p)
	own := s.own[p.ID]
	if own == nil {
		return
	}
	own.state = p.State
	s.wake()
	if p.State == api.PromptStuck {
		delete(s.own, p.ID)
		own.ended <- remoteEnd{err: errorf(schema.ErrorCodeInternalError, "the conversation is stuck: %s; retry on the server, or delete the prompt there", p.Error)}
	}
}

// settled shows the state after a turn: the mode, and how full the context is.
func (s *remoteSession) settled() []schema.SessionUpdate {
	ctx, cancel := context.WithTimeout(s.ctx, reaching)
	defer cancel()
	own, err := s.server.Conversation(ctx, string(s.id))
	if err != nil {
		return nil
	}
	out := s.modeOf(own.Mode)
	if own.Context != nil {
		out = append(out, schema.SessionUpdate{UsageUpdate: &schema.UsageUpdate{
			Used: own.Context.Tokens, Size: own.Context.Window, Cost: &schema.Cost{Amount: own.CostUSD, Currency: "USD"},
		}})
	}
	return out
}

// Prompt sends a prompt and waits for the end of its turn, and of the messages that
// steered it. An editor that is gone leaves the turn to the server.
func (s *remoteSession) Prompt(ctx context.Context, req *schema.PromptRequest) (*schema.PromptResponse, error) {
	content, err := remoteContent(req.Prompt)
	if err != nil {
		return nil, err
	}
	s.follow()
	own := newOwnPrompt()
	turn := &remoteTurn{prompts: []*ownPrompt{own}}
	s.mu.Lock()
	failed := s.failed
	if failed == nil {
		s.own[own.id], s.turn = own, turn
	}
	s.mu.Unlock()
	if failed != nil {
		return nil, errorf(schema.ErrorCodeInternalError, "the conversation is not followed any more: %v; open the session again with session/load", failed)
	}
	defer s.endTurn(turn)
	sending, stop := outlive(ctx)
	_, err = s.server.Send(sending, string(s.id), api.NewPrompt{ID: own.id, Content: content})
	stop()
	if _, refused := errors.AsType[*api.Problem](err); err != nil && (refused || ctx.Err() == nil) {
		return nil, problem(err)
	}
	s.mu.Lock()
	own.sent = err == nil
	s.mu.Unlock()
	end, ok := s.await(ctx, turn)
	if ok {
		return promptResponse(end)
	}
	if !errors.Is(context.Cause(ctx), rpc.ErrClosed) {
		end = s.cancel(context.WithoutCancel(ctx), turn, end)
	}
	return cancelledResponse(end), nil
}

// remoteContent is a prompt in the words of the server.
func remoteContent(prompt []schema.ContentBlock) ([]byte, error) {
	blocks, err := contentOf(prompt)
	if err != nil {
		return nil, err
	}
	return jsonx.Marshal(message.Content(blocks))
}

// outlive returns a context for a prompt that is on its way to the server: cut off, it
// might run there although it was cancelled. It ends a while after a cancel, and at once
// when the editor is gone.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), rpc.ErrClosed) {
			patience := time.NewTimer(reaching)
			defer patience.Stop()
			select {
			case <-patience.C:
			case <-sending.Done():
			}
		}
		cancel()
	})
	return sending, func() { stop(); cancel() }
}

// hasBegun reports whether a prompt was not taken back because it has begun.
func hasBegun(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Type == "/problems/begun"
}

// SetMode changes the permission mode for everybody in the conversation.
func (s *remoteSession) SetMode(ctx context.Context, mode schema.SessionModeID) error {
	_, err := s.SetConfig(ctx, &schema.SetSessionConfigOptionRequest{ConfigID: configMode, Value: raw(mode)})
	return err
}

// SetConfig changes the mode or the model for everybody in the conversation.
func (s *remoteSession) SetConfig(ctx context.Context, req *schema.SetSessionConfigOptionRequest) ([]schema.SessionConfigOption, error) {
	change, err := s.chosen().change(req.ConfigID, jsonx.Text(req.Value))
	if err != nil {
		return nil, err
	}
	now, err := s.server.Change(ctx, string(s.id), change)
	if err != nil {
		return nil, problem(err)
	}
	s.send(ctx, s.changed(&api.Changed{Title: now.Title, Mode: now.Mode, Model: now.Model})...)
	return s.Config(), nil
}

// Close stops to follow the conversation, which continues without the editor.
func (s *remoteSession) Close() error {
	s.mu.Lock()
	s.end() // no list begins behind it
	s.mu.Unlock()
	s.following.Do(func() { close(s.done) })
	<-s.done
	s.listers.Wait()
	s.asks.wait()
	return nil
}
