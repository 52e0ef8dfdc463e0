package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// Turn is one turn of the conversation, from its prompts to its result. Its
// methods may be called from several goroutines, but answers are given one
// after another. It must not be used after Agent.Turn has returned.
type Turn struct {
	s       *session
	prompts []*queued
	sub     *subagent // nil: the main conversation
	id      string    // the hooks' name for the prompt
	began   time.Time
	ctx     context.Context // ends when the client interrupts
	cancel  context.CancelCauseFunc

	answering chan struct{} // one slot: an answer is being given
	repeating atomic.Bool   // a call is made that a process before has deferred

	mu        sync.Mutex
	ending    ending
	takenIn   []*queued // prompts that came while the turn ran
	answers   int       // model calls
	lines     int       // user lines, each of which the CLI counts as a turn
	named     bool      // the first answer has named the prompts
	replayed  bool      // the prompts were echoed
	objected  bool      // a Stop hook made the agent continue
	text      string
	stop      string
	notes     []string
	denials   []message.PermissionDenial
	deferred  *message.ToolUseBlock
	usage     message.Usage
	before    message.Usage // without the last answer
	spent     float64
	structure json.RawMessage
	edits     []func(*message.Result)
}

// ending is why a turn ended before its agent was done.
type ending struct {
	reason message.TerminalReason
	text   string // of the result
	failed string // the subtype of an error result
	err    string
}

// errInterrupted is the cause of the context of an interrupted turn.
var errInterrupted = fmt.Errorf("%w: interrupted by the client", ErrOver)

func newTurn(s *session, prompts []*queued) *Turn {
	t := &Turn{s: s, prompts: prompts, id: uuid.New(), began: time.Now(), answering: make(chan struct{}, 1)}
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	return t
}

// Prompts returns the user messages that the turn answers: usually one, more
// if several were waiting.
func (t *Turn) Prompts() []*message.User {
	all := make([]*message.User, len(t.prompts))
	for i, q := range t.prompts {
		all[i] = q.User
	}
	return all
}

// Text returns the user's words, with one line break between messages.
func (t *Turn) Text() string {
	var texts []string
	for _, q := range t.prompts {
		texts = append(texts, q.User.Text())
	}
	return strings.Join(texts, "\n")
}

// Notes returns the texts that hooks want the agent to know, in order.
func (t *Turn) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.notes...)
}

// Model returns the model that the client has chosen.
func (t *Turn) Model() string {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.s.model
}

// SessionID returns the id of the conversation.
func (t *Turn) SessionID() string { return t.s.id }

// JSONSchema returns the schema that a structured answer must fit, or nil if
// none is wanted; see [Turn.SetStructuredOutput].
func (t *Turn) JSONSchema() json.RawMessage {
	if t.sub != nil {
		return nil // the answer is not a subagent's to give
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.s.schema
}

// SetStructuredOutput sets the structured answer of the result.
func (t *Turn) SetStructuredOutput(answer json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.structure = answer
}

// Spend adds tokens and costs to those of the result.
func (t *Turn) Spend(u message.Usage, costUSD float64) {
	if t.sub != nil {
		t.sub.spend(u)
		t.s.spend(u, costUSD)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = t.usage
	t.usage.InputTokens += u.InputTokens
	t.usage.OutputTokens += u.OutputTokens
	t.usage.CacheCreationInputTokens += u.CacheCreationInputTokens
	t.usage.CacheReadInputTokens += u.CacheReadInputTokens
	t.spent += costUSD
}

// EditResult registers a function that changes the result before it is sent.
func (t *Turn) EditResult(edit func(*message.Result)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edits = append(t.edits, edit)
}

// Emit sends any message. A message without an id gets one, and the session's.
// Assistant and user lines sent by a subagent name the subagent. The text of a
// subagent in the foreground is not sent unless the client wants it.
func (t *Turn) Emit(m message.Message) error {
	if t.sub != nil {
		sent := t.sub.sign(m, t.s.forwards())
		t.s.mirror.message(m, t.sub.ID)
		if !sent {
			return nil
		}
	}
	return t.s.emit(m)
}

// EmitRaw sends a line of JSON unchanged.
func (t *Turn) EmitRaw(line json.RawMessage) error {
	return t.s.write(append([]byte(nil), line...))
}

// SayAsUser adds a line in the user's voice to the conversation, which the client
// sees. The CLI does this when it wants something from the model by itself.
func (t *Turn) SayAsUser(text string) error {
	return t.say(&message.User{Content: message.Content{message.Text(text)}, IsSynthetic: true})
}

// over ends the turn for a reason; the first one counts.
func (t *Turn) over(e ending) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending == (ending{}) {
		t.ending = e
	}
	return fmt.Errorf("%w: %s", ErrOver, t.ending.reason)
}

func (t *Turn) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ending != (ending{})
}

// interrupted ends the turn on behalf of the client, with the line that the
// model would read.
func (t *Turn) interrupted(tools bool) error {
	if t.isOver() {
		return errInterrupted
	}
	if t.sub != nil {
		_ = t.over(ending{reason: message.EndAbortedStreaming})
		return errInterrupted
	}
	e := ending{reason: message.EndAbortedStreaming, failed: message.ResultErrorExecution}
	text := "[Request interrupted by user]"
	if tools {
		e.reason, text = message.EndAbortedTools, "[Request interrupted by user for tool use]"
	}
	e.err = string(e.reason)
	_ = t.over(e)
	_ = t.say(&message.User{Content: message.Content{message.Text(text)}})
	return errInterrupted
}

// say sends a user line.
func (t *Turn) say(m *message.User) error {
	t.mu.Lock()
	t.lines++
	t.mu.Unlock()
	m.Timestamp = time.Now().UTC()
	if t.sub != nil {
		t.sub.name(m)
	}
	return t.s.emit(m)
}

func (t *Turn) note(texts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, texts...)
}

// ids are those of the prompts that have one.
func (t *Turn) ids() []string {
	var ids []string
	for _, q := range t.prompts {
		if q.UUID != "" && !q.ownPrompt() {
			ids = append(ids, q.UUID)
		}
	}
	return ids
}

// play runs the turn up to its result.
func (t *Turn) play(ctx context.Context) error {
	s := t.s
	s.servers.ready(ctx)
	notices, blocked, err := t.submit(ctx)
	if err := s.emit(s.initMessage(t.ids())); err != nil {
		return err
	}
	if err != nil && ctx.Err() != nil { // while a hook was asked
		t.EditResult(func(r *message.Result) { r.NumTurns = 0 })
		return t.cut(ctx)
	}
	for _, n := range notices {
		_ = s.emit(n)
	}
	if err != nil || blocked {
		return err
	}
	s.mirror.prompts(t)
	s.mirror.context(t.Notes())
	if t.prompts[0].isNotification() || t.Unfinished() != nil {
		return t.converse(ctx)
	}
	if !asksModel(t.prompts[0].User) {
		return t.setAside()
	}
	s.mu.Lock()
	aside := s.aside
	s.aside = nil
	s.mu.Unlock()
	if text := aside.Text(); text != "" {
		t.note(text)
	}
	return t.converse(ctx)
}

// converse lets the agent answer until no hook objects.
func (t *Turn) converse(ctx context.Context) error {
	for {
		err := t.guarded(ctx, t.s.agent)
		if ctx.Err() != nil && !t.isOver() {
			return t.cut(ctx)
		}
		if err != nil || t.isOver() {
			return err
		}
		again, err := t.stopping(ctx)
		if !again {
			return err
		}
	}
}

// cut ends a turn whose context has ended.
func (t *Turn) cut(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return t.interrupted(false)
	}
	return context.Cause(ctx)
}

// setAside keeps a message that asks for no answer for the next turn.
func (t *Turn) setAside() error {
	t.s.mu.Lock()
	t.s.aside = append(t.s.aside, t.prompts[0].Content...)
	t.s.mu.Unlock()
	t.EditResult(func(r *message.Result) { r.NumTurns = 0 })
	return nil
}

// replay echoes the prompts, once, if the client wants it. The CLI does so when
// it begins to answer.
func (t *Turn) replay() {
	t.mu.Lock()
	done := t.replayed || !t.s.opts.ReplayUserMessages || t.sub != nil
	t.replayed = true
	t.mu.Unlock()
	if done {
		return
	}
	for _, q := range t.prompts {
		echo := message.User{Header: message.Header{UUID: q.UUID}, Content: q.Content, Plain: q.Plain, IsReplay: true, Timestamp: time.Now().UTC()}
		_ = t.s.emit(&echo)
	}
}

// guarded calls an agent. A panic is its error.
func (t *Turn) guarded(ctx context.Context, agent Agent) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.s.log.Error("panic in the agent", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("the agent panicked: %v", v)
		}
	}()
	return agent.Turn(ctx, t)
}

// submit asks the hooks about the prompt. Their notices are sent after init.
func (t *Turn) submit(ctx context.Context) (notices []message.Message, blocked bool, err error) {
	out, err := t.fire(ctx, hookCall{
		event: hook.EventUserPromptSubmit,
		extra: struct {
			Prompt string `json:"prompt"`
		}{t.Text()},
	})
	if err != nil && ctx.Err() != nil {
		return nil, false, err
	}
	notices = out.notices
	t.note(out.Context...)
	text := ""
	end := &message.PromptSubmitOutcome{Kind: "no_verdict", NoVerdictKind: "callback_timed_out"}
	switch {
	case out.closed != "":
		text = out.closed
	case out.Blocked:
		end = &message.PromptSubmitOutcome{Kind: "blocked_by_hook", Reason: out.Reason}
		text = "UserPromptSubmit operation blocked by hook:\n" + out.Reason + "\n\nOriginal prompt: " + t.Text()
	case out.Stopped:
		end = &message.PromptSubmitOutcome{Kind: "stopped_by_hook", PromptKept: true, Reason: out.StopReason}
		text = "Operation stopped by hook: " + out.StopReason
	default:
		return notices, false, nil
	}
	notices = append(notices, &message.Informational{Content: text, Level: message.LevelWarning, PreventContinuation: true, PromptSubmitOutcome: end})
	_ = t.over(ending{text: text, reason: ""})
	t.EditResult(func(r *message.Result) { r.NumTurns, r.TerminalReason, r.StopReason = 0, "", "" })
	return notices, true, nil
}

// stopping asks the Stop hooks; if again is true, the agent has to continue.
func (t *Turn) stopping(ctx context.Context) (again bool, err error) {
	t.mu.Lock()
	extra := struct {
		Active     bool              `json:"stop_hook_active"`
		Transcript *string           `json:"agent_transcript_path,omitzero"`
		Last       string            `json:"last_assistant_message"`
		Tasks      []hookTask        `json:"background_tasks"`
		Crons      []json.RawMessage `json:"session_crons"`
	}{Active: t.objected, Last: t.text}
	t.mu.Unlock()
	extra.Tasks = t.s.tasks.running()
	call := hookCall{event: hook.EventStop}
	if t.sub != nil {
		call.event, call.subject = hook.EventSubagentStop, t.sub.Type
		extra.Transcript = new(string) // nothing is written down
	}
	call.extra = extra
	out, err := t.fire(ctx, call)
	if ctx.Err() != nil {
		return false, t.cut(ctx)
	}
	if err != nil {
		return false, err
	}
	for _, n := range out.notices {
		_ = t.s.emit(n)
	}
	switch {
	case out.Stopped:
		return false, t.over(ending{reason: message.EndStopHookPrevented, text: extra.Last})
	case out.Blocked:
		t.note(out.Reason)
	case len(out.Context) > 0:
		t.note(out.Context...)
	default:
		return false, nil
	}
	t.mu.Lock()
	t.objected = true
	t.mu.Unlock()
	return true, nil
}

// interrupt ends the turn for the client.
func (t *Turn) interrupt() { t.cancel(errInterrupted) }

// Subagent returns the subagent that this turn belongs to, or the zero value
// for the main conversation.
func (t *Turn) Subagent() message.Subagent {
	if t.sub == nil {
		return message.Subagent{}
	}
	return t.sub.Subagent
}

func (t *Turn) lastText() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}
