package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// session is one client at work with the agent. One goroutine reads, one runs
// turns, each request of the client has its own.
type session struct {
	agent  Agent
	id     string
	opts   Options
	log    *slog.Logger
	reader *ndjson.Reader
	writer *ndjson.Writer
	peer   *peer.Peer
	ctx    context.Context // ends with Serve
	cancel context.CancelCauseFunc
	began  time.Time

	serving sync.WaitGroup // requests of the client
	// background are the agents that work beside the turns.
	background sync.WaitGroup
	input      chan struct{} // closed when the client has closed its side
	wake       chan struct{} // one slot: the queue has changed
	servers    *servers
	mirror     mirror
	hooks      hooks
	rights     rights

	mu         sync.Mutex
	model      string
	schema     json.RawMessage
	queue      []*queued
	announced  chan struct{}   // of the last prompt
	served     <-chan struct{} // of the last request
	places     map[wire.ID]place
	seen       map[string]bool
	aside      message.Content            // messages that asked for no answer
	agents     map[string]bool            // the types that can be started
	denials    []message.PermissionDenial // of subagents, not yet in a result
	inputEnded bool
	forward    bool // the text of subagents
	turn       *Turn
	finishing  <-chan struct{} // the last lines of the last turn are written
	results    int
	lastFailed bool
	does       message.Activity // what the client was told last
	readErr    error
	tasks      tasks
	ledger
}

// errEnded is the cause of a session that the client asked to end.
var errEnded = errors.New("the client ended the session")

func newSession(ctx context.Context, rw io.ReadWriter, agent Agent, opts *Options) *session {
	s := &session{
		agent: agent, began: time.Now(),
		input: make(chan struct{}), wake: make(chan struct{}, 1),
		places: make(map[wire.ID]place),
		seen:   make(map[string]bool), ledger: ledger{usage: make(map[string]message.ModelUsage)},
	}
	if opts != nil {
		s.opts = *opts
	}
	s.log = s.opts.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.id, s.model = cmp.Or(s.opts.SessionID, uuid.New()), cmp.Or(s.opts.Model, "scripted")
	s.schema, s.forward = s.opts.JSONSchema, s.opts.ForwardSubagentText
	s.agents, s.tasks.s, s.hooks.call = s.knownAgents(nil), s, s.call
	s.rights = rights{
		cwd: s.opts.Cwd, bypass: s.opts.AllowBypass, mode: cmp.Or(s.opts.Mode, permission.ModeDefault),
		rules: startRules(&s.opts), folders: s.opts.Init.AdditionalDirectories,
		tell: func(m permission.Mode) { _ = s.emit(&message.Status{PermissionMode: m}) }, // a broken stream ends the session by itself
	}
	s.mirror = mirror{to: s.opts.MirrorTo, cwd: s.opts.Cwd, id: s.id, version: s.opts.Info.CLIVersion, write: s.write}
	if s.opts.Leaf != "" {
		s.mirror.last = map[string]string{s.mirror.file(""): s.opts.Leaf}
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.reader = ndjson.NewReader(rw)
	s.reader.Limit = s.opts.LineLimit
	s.writer = ndjson.NewWriter(rw)
	s.peer = peer.New(peer.Config{
		Writer: s.writer, Handler: dispatcher{s}, Context: s.ctx, Log: s.log, Limits: unlimited(),
		NewID: func(uint64) wire.ID { return wire.ID(`"` + uuid.New() + `"`) }, // as the CLI names its requests
	})
	s.servers = newServers(s)
	return s
}

// unlimited are the bounds of a session: none, as with the CLI. A hook that is
// not called because there is no room cannot object.
func unlimited() peer.Limits {
	return peer.Limits{Queued: math.MaxInt, Pending: math.MaxInt, Running: math.MaxInt}
}

// serve runs turns until there is no more to run.
func (s *session) serve() error {
	defer s.background.Wait()
	defer s.cancel(nil)
	defer func() { s.mirror.end(s.spent()) }()
	defer s.peer.Close(errEnded)
	s.servers.set(s.opts.SDKServers)
	s.peer.Serve(s.reader, s.ended)
	input := s.input
	for {
		if s.ctx.Err() == nil && s.runNext() {
			continue
		}
		select {
		case <-s.ctx.Done():
			return s.verdict(context.Cause(s.ctx))
		default:
		}
		if input == nil && !s.working() {
			return s.verdict(nil)
		}
		select {
		case <-s.wake:
		case <-input:
			input = nil
		case <-s.ctx.Done():
		}
	}
}

// ended is called when the client has closed its side. Requests that came
// before the end are still answered; everyone waiting for the client learns that
// nothing will come.
func (s *session) ended(err error) {
	err = s.lastLine(err)
	s.serving.Wait()
	s.mu.Lock()
	s.readErr, s.inputEnded = err, true
	s.mu.Unlock()
	s.peer.Close(ErrInputClosed)
	close(s.input)
}

// lastLine takes the end of the input as a line if nothing but its line feed is
// missing. Then there was no error.
func (s *session) lastLine(err error) error {
	cut, ok := errors.AsType[*ndjson.TruncatedError](err)
	if !ok || !bytes.HasPrefix(cut.Line, []byte("{")) || !json.Valid(cut.Line) {
		return err
	}
	s.peer.RouteLastLine(cut.Line)
	return nil
}

// verdict returns the error that Serve returns.
func (s *session) verdict(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case cause != nil && !errors.Is(cause, errEnded):
		return cause
	case s.readErr != nil:
		return s.readErr
	case s.lastFailed:
		return ErrFailed
	}
	return nil
}

// runNext runs the next turn, false if nothing waits.
func (s *session) runNext() bool {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.mu.Unlock()
		return false
	}
	n := 1
	// Prompts with ids that waited for a turn together share the next one.
	for n < len(s.queue) && (merges(s.queue[0]) && merges(s.queue[n]) || s.queue[0].isNotification() && s.queue[n].isNotification()) {
		n++
	}
	prompts := s.queue[:n]
	s.queue = slices.Clone(s.queue[n:])
	t := newTurn(s, prompts)
	if prompts[0].interrupted {
		t.interrupt()
	}
	s.turn = t
	s.mu.Unlock()
	if prompts[0].isNotification() { // only the last is answered
		for _, q := range prompts[:n-1] {
			s.acknowledge(q)
		}
	}
	s.run(t)
	return true
}

// emit writes a message and repeats it in the transcript.
func (s *session) emit(m message.Message) error {
	err := s.emitOnly(m)
	if message.SubagentOf(m).ToolUseID == "" { // Turn.Emit has repeated the others
		s.mirror.message(m, "")
	}
	return err
}

// emitOnly writes a message, with what every message of the session carries.
func (s *session) emitOnly(m message.Message) error {
	h := m.Head()
	if len(h.Raw) == 0 {
		if h.UUID == "" {
			h.UUID = uuid.New()
		}
		if h.SessionID == "" {
			h.SessionID = s.id
		}
	}
	line, err := jsonx.Marshal(m)
	if err != nil {
		return fmt.Errorf("host: encode message: %w", err)
	}
	return s.write(line)
}

// write writes a line. A stream that cannot be written ends the session, and
// the end of the session ends the wait for a client that does not read.
func (s *session) write(line []byte) error {
	err := s.writer.Write(s.ctx, line)
	if errors.Is(err, ndjson.ErrBroken) {
		s.cancel(err)
	}
	return err
}

// call asks the client.
func (s *session) call(ctx context.Context, c peer.Call) (json.RawMessage, error) {
	reply, err := s.peer.Call(ctx, c)
	return reply.Payload, err
}

// state reports the activity of the session to the client, if it has changed
// and the client wants to know.
func (s *session) state(to message.Activity) {
	s.mu.Lock()
	changed := s.does != to
	s.does = to
	s.mu.Unlock()
	if changed && s.opts.StateEvents {
		_ = s.emit(&message.SessionState{State: to, HostOnly: true})
	}
}

// dispatcher is the session as the engine sees it.
type dispatcher struct{ *session }

var _ peer.Handler = dispatcher{}

// Message takes a frame that is not a control frame. The CLI ignores all but user
// messages.
func (d dispatcher) Message(f wire.Frame) {
	if f.Type != "user" {
		return
	}
	m, err := prompt(f)
	if err != nil {
		d.cancel(fmt.Errorf("%w: %w", ErrLine, err))
		return
	}
	d.enqueue(m)
}

// prompt reads a user message: the nested form, or the flat one of older
// peers.
func prompt(f wire.Frame) (*message.User, error) {
	if body := f.Member("message"); len(body) > 0 || len(f.Member("content")) == 0 {
		var b struct {
			Role string `json:"role"`
		}
		_ = jsonx.Unmarshal(body, &b) // what is not an object has no role
		if b.Role != "user" {
			return nil, fmt.Errorf("message role %q, want \"user\"", b.Role)
		}
	}
	m, err := message.DecodeAs(f.Type, f.Subtype, f.Line)
	if m == nil {
		return nil, err
	}
	return m.(*message.User), nil
}

// enqueue adds a prompt to the queue. One with an id that was used before is
// dropped silently, as the CLI does.
func (s *session) enqueue(m *message.User) {
	s.mu.Lock()
	if m.UUID != "" && s.seen[m.UUID] {
		s.mu.Unlock()
		return
	}
	s.seen[m.UUID] = true
	q := &queued{User: m, during: s.turn != nil, announced: make(chan struct{}), served: s.served}
	before := s.announced
	s.announced = q.announced
	s.queue = append(s.queue, q)
	s.mu.Unlock()
	// Off the reader, which may not wait, but in order.
	s.serving.Go(func() {
		defer close(q.announced)
		s.await(before)
		s.await(q.served)
		s.finished()
		s.state(message.ActivityRunning) // the CLI reports this before it queues the prompt
		s.lifecycle(q, message.CommandQueued)
	})
	s.wakeRunner()
}

func (s *session) lifecycle(q *queued, state message.CommandState) {
	if q.UUID != "" {
		_ = s.emit(&message.CommandLifecycle{CommandUUID: q.UUID, State: state})
	}
}

// Accept counts a request, so that the end of the input waits for its answer,
// and gives it its place in the order.
func (d dispatcher) Accept(req wire.Request) (aside bool) {
	d.serving.Add(1)
	if d.opts.Operations[req.Subtype] != nil || req.Subtype == "rewind_files" {
		return false // may take its time
	}
	p := d.enter()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places[req.ID] = p
	return false
}

// place is that of a request in the order in which the client wrote: requests
// are served one after another, and a prompt waits for those before it, as
// with a CLI that reads line by line.
type place struct {
	before <-chan struct{} // nil: the first
	done   chan struct{}
}

// enter takes the next place.
func (s *session) enter() place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := place{before: s.served, done: make(chan struct{})}
	s.served = p.done
	return p
}

// wait waits for the request's turn and returns what ends it.
func (s *session) wait(id wire.ID) (leave func()) {
	s.mu.Lock()
	p, ok := s.places[id]
	delete(s.places, id)
	s.mu.Unlock()
	if !ok {
		return func() {}
	}
	return s.inOrder(p)
}

func (s *session) inOrder(p place) (leave func()) {
	s.await(p.before)
	s.finished()
	return func() { close(p.done) }
}

// finished waits for the last lines of a turn that has its result.
func (s *session) finished() {
	s.mu.Lock()
	finishing := s.finishing
	s.mu.Unlock()
	s.await(finishing)
}

// await waits for something that comes before, which is nothing if it is nil,
// but not beyond the end of the session.
func (s *session) await(before <-chan struct{}) {
	if before == nil {
		return
	}
	select {
	case <-before:
	case <-s.ctx.Done():
	}
}

// Fault takes a line that is not a frame. A line that is not JSON ends the
// session, as it ends the CLI; a line over the limit, which would be missed, also
// does. JSON that is not an object is ignored, as is an unreadable reply. A
// control request without a request counts as invalid JSON; one without an id is
// served.
func (d dispatcher) Fault(line []byte, err error) {
	if missing, ok := errors.AsType[*wire.MissingError](err); ok {
		f, _ := wire.Parse(line)
		switch {
		case f.Type != wire.TypeRequest:
		case !jsonx.Present(f.Member("request")):
			d.cancel(fmt.Errorf("%w: %w", ErrLine, err))
		case missing.Field == "request_id":
			d.nameless(f)
		}
		return
	}
	_, long := errors.AsType[*ndjson.TooLongError](err)
	if !long && jsonx.Valid(line) && string(line) != "null" {
		d.log.Warn("line ignored", "error", err)
		return
	}
	d.cancel(fmt.Errorf("%w: %w", ErrLine, err))
}

// wakeRunner wakes the goroutine that runs turns.
func (s *session) wakeRunner() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// working reports whether an agent is at work in the background, or has ended
// and is not yet answered.
func (s *session) working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks.atWork() || slices.ContainsFunc(s.queue, (*queued).isNotification)
}

// acknowledge gives the end of a subagent a silent turn of its own. Another
// subagent, which ended after it, is answered in the turn that follows, and there
// the agent learns about both.
func (s *session) acknowledge(q *queued) {
	t := newTurn(s, []*queued{q})
	defer t.cancel(nil)
	s.state(message.ActivityRunning)
	_ = s.emit(s.initMessage(nil))
	r := t.result(nil)
	r.NumTurns, r.TerminalReason, r.StopReason = 0, "", ""
	_ = s.emit(r)
}

// run plays a whole turn.
func (s *session) run(t *Turn) {
	defer t.cancel(nil)
	for _, q := range t.prompts {
		s.await(q.announced)
	}
	s.state(message.ActivityRunning)
	for _, q := range t.prompts {
		s.lifecycle(q, message.CommandStarted)
	}
	err := t.play(t.ctx)
	if s.ctx.Err() != nil { // ended from outside: no result
		return
	}
	t.replay()
	final := message.CommandCompleted
	r := t.result(err)
	switch r.TerminalReason {
	case message.EndAbortedStreaming, message.EndAbortedTools, message.EndBudgetExhausted, message.EndStructuredOutputAttempts:
		final = message.CommandCancelled
	}
	// What the client does upon the result comes after the last line about it.
	finished := make(chan struct{})
	defer close(finished)
	s.mu.Lock()
	s.turn, s.finishing = nil, finished
	s.lastFailed = r.Failed()
	ended := s.inputEnded
	s.mu.Unlock()
	if ended { // nothing is said at the end before everything is
		s.tasks.await()
	}
	for _, q := range t.others() { // the CLI reports this before the result
		s.lifecycle(q, final)
	}
	_ = s.emit(r)
	s.mirror.result(t)
	for _, q := range t.prompts {
		s.lifecycle(q, final)
	}
	if !s.working() {
		s.state(message.ActivityIdle)
	}
}

// finish begins the turn that is unfinished. The client's hooks are known.
func (s *session) finish() {
	u := s.opts.Unfinished
	if u == nil {
		return
	}
	announced := make(chan struct{})
	close(announced)
	id := u.Prompt
	if u.Deferred {
		id = uuid.New()
	}
	s.mu.Lock()
	s.opts.Unfinished = nil // initialize may come again
	s.seen[u.Prompt] = true
	s.queue = append(s.queue, &queued{
		User:      &message.User{Header: message.Header{UUID: id}, Content: u.Content},
		continues: u, announced: announced,
	})
	s.mu.Unlock()
	s.wakeRunner()
}

// forwards reports whether the client wants the text of subagents.
func (s *session) forwards() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forward
}

// agentTypes are the types of agents that can be started.
func (s *session) agentTypes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.agents))
}

// knownAgents returns the agents of the CLI, of the host's options and of the
// client.
func (s *session) knownAgents(defined []string) map[string]bool {
	known := make(map[string]bool)
	for _, a := range s.opts.Info.Agents {
		known[a.Name] = true
	}
	for _, name := range slices.Concat(builtInAgents, s.opts.Init.Agents, defined) {
		known[name] = true
	}
	return known
}
