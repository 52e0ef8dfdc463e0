package acp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// stopping is how long a cancelled turn may take to report its end. After that
// its context is cancelled, which ends the turn without a report.
const stopping = 5 * time.Second

// insisting is how long an interrupt may take to work before it is repeated. An
// interrupt that overtakes its prompt reaches an idle CLI, which ignores it.
const insisting = 200 * time.Millisecond

// localSession is a CLI behind a session of an editor. One goroutine at a time
// reads what the CLI says: the one that runs a prompt or, between prompts, the idle
// reader.
type localSession struct {
	asker
	id      schema.SessionID
	editor  *editor
	cli     *claude.Session
	history *history.History
	log     *slog.Logger

	announced announced          // what the reader has shown
	reading   sync.Mutex         // held by the reader
	machine   *translate.Machine // of the reader
	mu        sync.Mutex
	choices   choices
	echoes    echoes
	steering  steering
	begun     chan struct{}      // closed when steering opens; nil: no message waits for that
	wake      context.CancelFunc // ends the wait for what is left; nil: the prompt is not answered
	sends     queue              // of messages that steer
	title     string
	// prompting keeps the idle reader away: the editor may prompt before Opened
	// has begun to read.
	prompting bool
	stopIdle  context.CancelFunc // nil: no idle reader
	idled     chan struct{}      // closed when the idle reader has left
	closed    bool
	asks      sync.WaitGroup // questions that may still be written; none is added once closed
}

func (s *localSession) ID() schema.SessionID { return s.id }

func (s *localSession) Modes() *schema.SessionModeState { return s.chosen().modes() }

func (s *localSession) Config() []schema.SessionConfigOption { return s.chosen().options() }

func (s *localSession) chosen() choices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choices
}

// Opened lists the commands and begins to read.
func (s *localSession) Opened(ctx context.Context) {
	s.send(ctx, translate.Commands(s.cli.Commands()))
	s.startIdle()
}

func (s *localSession) send(ctx context.Context, updates ...schema.SessionUpdate) {
	for _, up := range updates {
		if err := s.editor.Update(ctx, s.id, up); err != nil {
			s.log.Debug("acp: an update was not written", "session", s.id, "error", err)
			return
		}
	}
}

// ask is the permission callback: it puts a question to the editor once the call
// is shown there.
func (s *localSession) ask(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return permission.Decision{}, claude.ErrClosed
	}
	s.asks.Add(1)
	s.mu.Unlock()
	defer s.asks.Done()
	s.announced.wait(ctx, req.ToolUseID)
	return s.decide(ctx, req)
}

// startIdle reads what the CLI says between prompts, such as the turns that
// background work starts.
func (s *localSession) startIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.prompting || s.stopIdle != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	idled := make(chan struct{})
	s.stopIdle, s.idled = cancel, idled
	go func() {
		defer close(idled)
		s.reading.Lock()
		defer s.reading.Unlock()
		for msg, err := range s.cli.Messages(ctx) {
			if err != nil {
				return
			}
			s.show(ctx, msg)
		}
	}()
}

// endIdle returns when the idle reader has left.
func (s *localSession) endIdle() {
	s.mu.Lock()
	stop, idled := s.stopIdle, s.idled
	s.stopIdle = nil
	s.mu.Unlock()
	if stop != nil {
		stop()
		<-idled
	}
}

// beginPrompt makes the caller the reader.
func (s *localSession) beginPrompt() {
	s.mu.Lock()
	s.prompting = true
	s.mu.Unlock()
	s.endIdle()
	s.reading.Lock()
}

func (s *localSession) endPrompt() {
	s.reading.Unlock()
	s.mu.Lock()
	s.prompting = false
	s.mu.Unlock()
	s.startIdle()
}

// show sends the updates of a message.
func (s *localSession) show(ctx context.Context, msg message.Message) {
	s.send(context.WithoutCancel(ctx), s.machine.Add(msg)...)
	s.announced.note(msg)
	mode := permission.Mode("")
	settled := false
	switch msg := msg.(type) {
	case *message.Status:
		mode = msg.PermissionMode
	case *message.Init:
		mode = msg.PermissionMode
	case *message.Result:
		settled = true
	case *message.ElicitationComplete:
		if err := s.editor.Elicited(context.WithoutCancel(ctx), schema.ElicitationID(msg.ElicitationID)); err != nil {
			s.log.Debug("acp: the end of an elicitation was not written", "session", s.id, "error", err)
		}
	}
	s.mu.Lock()
	if settled {
		s.echoes.settle()
	}
	changed := mode != "" && s.echoes.news(mode) && mode != s.choices.mode
	if changed {
		s.choices.mode = mode
	}
	now := s.choices
	s.mu.Unlock()
	if changed {
		s.send(ctx, schema.SessionUpdate{CurrentModeUpdate: &schema.CurrentModeUpdate{CurrentModeID: schema.SessionModeID(mode)}},
			schema.SessionUpdate{ConfigOptionUpdate: &schema.ConfigOptionUpdate{ConfigOptions: now.options()}})
	}
}

// Prompt runs a turn.
func (s *localSession) Prompt(ctx context.Context, req *schema.PromptRequest) (*schema.PromptResponse, error) {
	blocks, err := contentOf(req.Prompt)
	if err != nil {
		return nil, err
	}
	s.beginPrompt()
	defer s.endPrompt()
	if ctx.Err() != nil {
		return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}, nil
	}
	turn, leave := context.WithCancel(context.WithoutCancel(ctx))
	interrupted := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		s.cancelSteering()
		if errors.Is(context.Cause(ctx), rpc.ErrClosed) {
			return // the session is closed with its editor; an interrupt would answer the open questions
		}
		s.interrupt(turn, leave)
	})
	defer func() {
		leave()
		if !keep() {
			<-interrupted // no interrupt may reach the next turn
		}
	}()
	defer s.endSteering()
	var result *message.Result
	var spent spending // of the results that answer the prompt and messages that steered it
	var problem message.AssistantError
	take := func(msg message.Message) (over bool) {
		s.show(turn, msg)
		switch msg := msg.(type) {
		case *message.Assistant:
			if msg.Error != "" && msg.ParentToolUseID == "" {
				problem = msg.Error
			}
		case *message.Result:
			spent = spent.with(msg)
			result = msg
		}
		return s.noteSteered(msg)
	}
	var runErr error
	sent := false
	for msg, err := range s.cli.RunMessage(turn, message.NewUser(blocks...)) {
		if err != nil {
			runErr = err
			break
		}
		if !sent {
			sent = true
			s.openSteering(ctx)
		}
		take(msg)
	}
	if result != nil {
		s.readSteered(turn, take)
	}
	s.retitle(turn)
	if ctx.Err() != nil && (s.cancelSteering() || result == nil || result.Failed()) {
		return cancelled(result, spent), nil
	}
	return responseOf(result, spent, problem, runErr)
}

// readSteered continues to read after the prompt is answered, until the messages that
// steered the turn are answered as well. A cancelled turn reports its end to it, unless
// it takes too long and is abandoned.
func (s *localSession) readSteered(turn context.Context, take func(message.Message) (over bool)) {
	ctx, cancel, more := s.steered(turn)
	if !more {
		return
	}
	defer cancel()
	for msg, err := range s.cli.Messages(ctx) {
		if err != nil || take(msg) {
			return
		}
	}
}

// interrupt stops a turn, and repeats the interrupt until the turn has ended. A turn
// that does not report its end in time is abandoned.
func (s *localSession) interrupt(turn context.Context, leave context.CancelFunc) {
	bounded, cancel := context.WithTimeout(turn, stopping)
	defer cancel()
	defer leave()
	before := s.sends.join() // messages that steered before the cancel must reach the CLI first
	err := before.wait(bounded)
	before.leave()
	if err != nil {
		return
	}
	again := time.NewTicker(insisting)
	defer again.Stop()
	for {
		if _, err := s.cli.InterruptAll(bounded); err != nil {
			return
		}
		select {
		case <-again.C:
		case <-bounded.Done(): // the turn has ended, or takes too long
			return
		}
	}
}

// retitle shows the title of the session when it has changed.
func (s *localSession) retitle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	info, err := s.history.Info(ctx, string(s.id))
	if err != nil || info.Title == s.title {
		return
	}
	s.title = info.Title
	s.send(ctx, schema.SessionUpdate{SessionInfoUpdate: &schema.SessionInfoUpdate{Title: &info.Title, UpdatedAt: new(info.Modified.UTC().Format(time.RFC3339Nano))}})
}

// SetMode changes the permission mode.
func (s *localSession) SetMode(ctx context.Context, mode schema.SessionModeID) error {
	options, err := s.change(ctx, configMode, raw(mode))
	if err == nil {
		s.send(ctx, schema.SessionUpdate{ConfigOptionUpdate: &schema.ConfigOptionUpdate{ConfigOptions: options}})
	}
	return err
}

// SetConfig changes an option.
func (s *localSession) SetConfig(ctx context.Context, req *schema.SetSessionConfigOptionRequest) ([]schema.SessionConfigOption, error) {
	options, err := s.change(ctx, req.ConfigID, req.Value)
	if err == nil && req.ConfigID == configMode {
		s.send(ctx, schema.SessionUpdate{CurrentModeUpdate: &schema.CurrentModeUpdate{CurrentModeID: schema.SessionModeID(s.chosen().mode)}})
	}
	return options, err
}

// change checks a choice, keeps it and tells the CLI. If the CLI refuses, the
// choice is taken back.
func (s *localSession) change(ctx context.Context, id schema.SessionConfigID, value []byte) ([]schema.SessionConfigOption, error) {
	s.mu.Lock()
	before := s.choices
	after, err := before.with(id, value)
	if err == nil {
		s.choices = after
		if id == configMode && after.mode != before.mode {
			s.echoes.expect(after.mode)
		}
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := s.apply(ctx, id, after); err != nil {
		s.mu.Lock()
		s.choices = s.choices.without(after, before)
		s.mu.Unlock()
		return nil, errorf(schema.ErrorCodeInternalError, "the CLI refused: %v", err)
	}
	return s.chosen().options(), nil
}

func (s *localSession) apply(ctx context.Context, id schema.SessionConfigID, c choices) error {
	switch id {
	case configMode:
		return s.cli.SetPermissionMode(ctx, c.mode)
	case configModel:
		model := c.model
		if model == "default" {
			model = ""
		}
		return s.cli.SetModel(ctx, model)
	case configEffort:
		var level any
		if c.effort != "" {
			level = c.effort
		}
		return s.cli.Settings().Set(ctx, map[string]any{"effortLevel": level})
	}
	thinking := claude.Thinking{Mode: claude.ThinkingAdaptive}
	if !c.thinking {
		thinking.Mode = claude.ThinkingDisabled
	}
	return s.cli.SetThinking(ctx, thinking)
}

// Close ends the CLI.
func (s *localSession) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.cli.Close()
	s.endIdle()
	s.asks.Wait() // a question that ends without an answer is written as such
	return err
}
