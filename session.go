package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/internal/mirror"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/scratch"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Session is a conversation with one CLI process. [Connect] starts it, Close
// ends it.
//
// All methods may be called from any goroutine, including from callbacks. The
// message stream has one reader at a time: Run, Ask and Messages are readers,
// and a second one gets ErrBusy. Everything else is allowed at any time, even
// while messages are unread.
//
// A Session owns a goroutine that reads, one that waits for the process, one
// for each running callback, and one for its Trace. The first two are gone
// when Close has returned; all of them are gone when Wait has.
type Session struct {
	opts *Options
	plan *plan
	log  *slog.Logger

	conn  Conn
	cli   program
	odd   oddLines
	peer  *peer.Peer
	inbox *inbox.Inbox
	trace *tracer
	mcp   *mcpHub
	files *scratch.Folder
	// temporary holds the CLI's temporary files, if the user has chosen their place.
	temporary scratch.Folder

	mu           sync.Mutex // guards the parts below that are marked so
	life         lifecycle
	start        handshake
	conversation conversation
	prompts      outgoing
	oneShot      oneShot
	running      callbacks
	store        storage
	activity     *activityLog
	retrying     *message.APIRetry // the last retry that reached the reader of the stream, nil if no call is being retried
}

// lifecycle holds the state of a session and how it ends.
type lifecycle struct {
	outputEnd chan struct{} // closed when the output has ended; then outputErr is set
	outputErr error
	exited    chan struct{} // closed when the process has ended; then exitErr is set
	exitErr   error
	ladderEnd chan struct{} // closed when the stop ladder has ended, if it ran
	done      chan struct{} // closed when the session is over; then cause is set
	cause     error         // returned by Wait

	shutdown    sync.Once   // the stop ladder
	finished    atomic.Bool // one caller is ending the session
	inputClosed atomic.Bool // we have closed stdin ourselves

	// Under the session's lock:
	state     State
	stopCause error // why we ended the session, nil if the end was not ours
	cutOff    bool  // we ended it while the CLI was at work
	aborted   bool  // the program has called Abort, and that has ended it
}

// handshake holds what a starting CLI has reported and shown.
type handshake struct {
	messageSeen atomic.Bool
	warned      sync.Once     // that its capabilities are unknown
	settled     chan struct{} // closed when info is final

	// Under the session's lock:
	confirmed    bool // a request of the CLI proved that it took the handshake
	info         *control.Info
	earlyResult  *message.Result // an error result outside any turn
	toolsChecked bool            // the names in the options were compared with its tools
}

// conversation holds what the CLI has reported about the conversation. The
// session's lock guards all of it.
type conversation struct {
	id       string
	commands []control.Command // as last changed by the CLI, nil if it has not
	inTurn   bool
}

// outgoing holds what a session knows of the prompts it sends.
type outgoing struct {
	held   oneAtATime
	ownIDs map[string]bool // message ids chosen by the user, under the session's lock
}

// oneShot is a session that ends with its only prompt.
type oneShot struct {
	on       bool
	sent     bool      // the prompt was, under the session's lock
	inputEnd sync.Once // the end of stdin
}

// callbacks runs the callbacks of the user, and holds what those that run share.
type callbacks struct {
	opts      *Options
	plan      *plan
	log       *slog.Logger
	trace     *tracer
	mcp       *mcpHub
	sessionID func() string
	diagnose  func(line []byte, err error)
	rewrites  func(ctx context.Context, reply json.RawMessage) error // see [program.checkRewrite]

	race      permissionRace
	deadlines deadlines
	roll      roll
	judged    judgedCalls
}

// storage brings the transcript into a store.
type storage struct {
	mirror    *mirror.Mirror // nil without a store
	barrier   atomic.Uint64  // the entry that the reader of the stream waits for, 0 if none
	notStored error          // the outcome of its last wait; only the reader uses it
}

// State is a stage in the life of a session.
type State int

// The states of a session, in their order.
const (
	StateStarting     State = iota // the process is being started
	StateInitializing              // the handshake was sent
	StateRunning                   // ready
	StateStopped                   // ended by Close, or normally by the CLI itself
	StateFailed                    // ended otherwise; Wait returns the cause
)

// String returns the state in one word.
func (s State) String() string {
	names := [...]string{"starting", "initializing", "running", "stopped", "failed"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return names[s]
}

// open starts the CLI and the reader. The session is not yet usable.
func open(ctx context.Context, o *Options, use use) (*Session, error) {
	o = o.clone()
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.warn()
	if err := findStored(ctx, o); err != nil {
		return nil, err
	}
	p, err := newPlan(o, use.onePrompt)
	if err != nil {
		return nil, err
	}
	if p.oneWay {
		if err := checkInstalled(o, p); err != nil {
			return nil, err
		}
	}
	if !use.onePrompt {
		p.askForEchoes(o, use)
	}
	if err := p.awaitHandshake(o, use); err != nil {
		return nil, err
	}
	s := newSession(o, p, use)
	s.trace = newTracer(o.Trace, o.Logger) // its goroutine ends with the session
	s.odd.trace, s.running.trace = s.trace, s.trace
	s.trace.starting(ctx, p, s.conversation.id)
	if err := s.launch(ctx); err != nil {
		s.trace.end(err)
		s.trace.settleAtEnd()
		return nil, err
	}
	ctx = context.WithValue(ctx, sessionKey{}, s)
	ctx = permission.WithHome(ctx, restore.Home(s.plan.env))
	s.mcp = newMCPHub(ctx, s, p.inside)
	s.running.mcp = s.mcp
	w := ndjson.NewWriter(s.conn)
	w.OnWrite = s.trace.writes()
	w.OnBroken = s.inputBroken
	s.peer = peer.New(peer.Config{
		Writer:        w,
		Handler:       dispatcher{s},
		Limits:        peer.Limits{Queued: o.Limits.Queued, Pending: o.Limits.Pending, Running: o.Limits.Callbacks},
		Context:       ctx,
		Log:           o.Logger,
		OnLine:        s.trace.reads(),
		Classify:      wire.Classify,
		HoldUntilOpen: !p.oneWay,
		Cancels:       s.cli.readsCancels,
		OnSettled:     s.settled,
		EchoesReplies: p.echoes || o.ReplayUserMessages,
	})
	if s.store.mirror != nil {
		s.store.mirror.Start()
	}
	go s.watch()
	s.read()
	return s, nil
}

// newSession returns a session that is not connected yet.
func newSession(o *Options, p *plan, use use) *Session {
	s := &Session{
		opts: o, plan: p, files: new(scratch.Folder), log: o.Logger,
		inbox: inbox.New(o.Limits.Unread),
		life: lifecycle{
			outputEnd: make(chan struct{}),
			exited:    make(chan struct{}),
			ladderEnd: make(chan struct{}),
			done:      make(chan struct{}),
		},
		start:        handshake{settled: make(chan struct{})},
		conversation: conversation{id: p.sessionID},
		oneShot:      oneShot{on: use.onePrompt},
		activity:     newActivityLog(),
	}
	if s.conversation.id == "" && !o.ForkSession {
		s.conversation.id = o.Resume
	}
	s.prompts.held.always = p.silent
	s.inbox.HideEchoes, s.inbox.HideStates = p.echoes, !o.readsStates()
	s.cli = program{opts: o, plan: p, log: o.Logger, info: s.Info, settled: s.start.settled}
	s.odd = oddLines{log: o.Logger, starting: s.starting, hidden: sync.OnceValue(func() *secret.Set {
		secrets := secret.FromEnv(p.env)
		secrets.AddValues(p.secrets()...)
		return secrets
	})}
	s.running = callbacks{opts: o, plan: p, log: o.Logger, sessionID: s.ID, diagnose: s.odd.diagnose, rewrites: s.cli.checkRewrite}
	s.running.deadlines.expire = s.running.expire
	return s
}

// launch prepares everything the CLI needs and starts it. Nothing is left after
// an error.
func (s *Session) launch(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			_ = s.removeFiles()
			_ = s.lastFlush() // nothing to flush, but it returns the lease
		}
	}()
	if err := errors.Join(s.plan.writeMCPConfig(s.files), s.plan.writeSettings(s.files)); err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	if s.store.mirror, err = openMirror(ctx, s); err != nil {
		return err
	}
	if s.strict() {
		s.inbox.Mark = s.store.mirror.Count
	}
	if err := errors.Join(s.restore(ctx), s.plan.countAgents(ctx, s.opts)); err != nil {
		return err
	}
	s.conn, err = startCLI(ctx, s.opts, s.plan)
	return err
}

// startCLI starts the CLI as the options and the plan demand.
func startCLI(ctx context.Context, o *Options, p *plan) (Conn, error) {
	transport := o.Transport
	if transport == nil {
		transport = child{}
	}
	conn, err := transport.Start(ctx, &Launch{
		Path: o.CLIPath, Args: p.args, Env: p.env, Files: p.files, Secrets: p.secrets(), Dir: o.Cwd, Stderr: o.Stderr, Logger: o.Logger,
	})
	if err != nil {
		return nil, startFailure(ctx, o.CLIPath, err)
	}
	if conn == nil {
		return nil, &StartError{Reason: ErrSpawn, Err: errors.New("the Transport returned no connection")}
	}
	return conn, nil
}

type sessionKey struct{}

// SessionFrom returns the session that a callback was called for, or nil if
// ctx is not a callback's context. The session may still be starting; its
// operations then wait for the handshake.
func SessionFrom(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// Done returns a channel that is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.life.done }

// Wait blocks until the session is over and its callbacks have returned. It
// returns nil if the session was closed or the CLI ended normally, and
// otherwise the cause, such as a [*ProcessError] or ErrSlow.
func (s *Session) Wait() error {
	<-s.life.done
	s.peer.Wait()
	s.trace.wait()
	return s.life.cause
}

// State returns the session's current state.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life.state
}

// ID returns the id of the session on disk. It changes when the conversation is
// reset, for example by the prompt "/clear". It is empty until the CLI reports
// it: before the first turn of a session that was continued or forked, and from
// a [message.ConversationReset] to the next [message.Init].
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.id
}

// PID returns the process id of the CLI, even when it has ended. It is 0 if the
// transport does not tell which process of this system the CLI is.
func (s *Session) PID() int { return s.conn.PID() }

// Info returns the CLI's description of itself from the handshake: models,
// commands, agents, account. It is never nil, but it is empty if an old CLI
// sent nothing.
func (s *Session) Info() *control.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start.info == nil {
		return new(control.Info)
	}
	return s.start.info
}

// setState moves on to a later state and ignores an earlier one.
func (s *Session) setState(to State) {
	s.mu.Lock()
	from := s.life.state
	moved := to > from && from < StateStopped
	if moved {
		s.life.state = to
	}
	s.mu.Unlock()
	if moved {
		s.trace.state(from, to)
		s.log.Debug("session state", "from", from.String(), "to", to.String())
	}
}

// dispatcher is the engine's view of the session: where frames go.
type dispatcher struct{ *Session }

var _ peer.Handler = dispatcher{}

// Message takes a frame from the reader.
func (d dispatcher) Message(f wire.Frame) {
	if f.Type == wire.TypeMirror && d.store.mirror != nil {
		d.store.mirror.Put(f.Line)
		return
	}
	if f.Type == "result" && d.wasCutOff() {
		// Whatever the result reports, the CLI did not get to the end of its
		// work.
		d.log.Debug("result of a turn that was cut off dropped")
		return
	}
	d.note(f)
	effect, err := d.inbox.Put(f)
	if effect.Dropping {
		d.log.Warn("messages are not read: partial ones are dropped", "dropped", d.inbox.Dropped())
		d.trace.diagnostic(Diagnostic{Err: errDropping})
	}
	if effect.StartsAbandoned {
		resume := d.halt()
		go func() { // an abandoned prompt began anyway
			defer resume()
			d.interruptQuietly()
		}()
	}
	if f.Type == "result" {
		d.sendHeld()
	}
	if err != nil {
		d.log.Warn("messages are not read: the session ends", "dropped", d.inbox.Dropped())
		d.shutdown(ErrSlow)
	}
	switch f.Type {
	case "system", "result", "command_lifecycle":
		d.noteActivity()
	}
	d.endInput()
}

// errDropping is the diagnostic for partial messages that are not read.
var errDropping = errors.New("messages are not read in time: partial ones are dropped")

// note keeps what the session itself needs of a frame.
func (s *Session) note(f wire.Frame) {
	if !s.start.messageSeen.Load() {
		s.start.messageSeen.Store(true)
	}
	switch f.Type {
	case "system", "conversation_reset", "result":
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Type == "system" && f.Subtype == "init":
		s.conversation.inTurn, s.start.earlyResult = true, nil
		s.start.toolsChecked = s.start.toolsChecked || checkTools(s.opts, f.Line)
		if id := f.Text("session_id"); id != "" {
			s.conversation.id = id
		}
	case f.Type == "system" && f.Subtype == "commands_changed":
		m, err := message.DecodeAs(f.Type, f.Subtype, f.Line)
		if changed, ok := m.(*message.CommandsChanged); ok && err == nil {
			s.conversation.commands = changed.Commands
		}
	case f.Type == "conversation_reset":
		s.conversation.id = "" // its new_conversation_id is not the new one's id: the next init has that
	case f.Type == "result":
		if !s.conversation.inTurn && len(f.Prompts()) == 0 {
			s.start.earlyResult = failedResult(f)
		}
		s.conversation.inTurn = false
	}
}

// failedResult decodes a result that is an error: a CLI that cannot start gives
// its reason in one before it exits.
func failedResult(f wire.Frame) *message.Result {
	m, _ := message.DecodeAs(f.Type, f.Subtype, f.Line)
	if r, ok := m.(*message.Result); ok && r.Failed() {
		return r
	}
	return nil
}

// Fault takes a line that is not a frame.
func (d dispatcher) Fault(line []byte, err error) {
	if d.store.mirror != nil && wire.IsMirror(line) {
		d.store.mirror.Lose(err)
	}
	d.odd.diagnose(line, err)
}

// endInput closes stdin of a one-shot session once nothing needs it any more:
// the prompt has its result, no turn and no background agent runs, and no
// request awaits an answer. It is called after every event that can make that
// true.
func (s *Session) endInput() {
	if !s.oneShot.on || s.plan.oneWay {
		return
	}
	s.mu.Lock()
	open := s.oneShot.sent && !s.life.cutOff // otherwise the stop ladder owns it
	s.mu.Unlock()
	if !open || s.inbox.NeedsControl() || s.peer.Unanswered() > 0 {
		return
	}
	s.oneShot.inputEnd.Do(func() { go s.closeInput() })
}

// Activity describes the work of a session. The session is idle if everything
// but Since is zero.
type Activity struct {
	// Turn reports that a turn runs.
	Turn bool
	// Replaying reports that the CLI is continuing what a resumed session left
	// unfinished, such as a tool call that a hook deferred. The result names no
	// prompt.
	Replaying bool
	// Queued counts the prompts whose turn has not begun.
	Queued int
	// Callbacks counts the requests of the CLI that are not yet answered:
	// permissions, hooks, and messages to MCP servers in this process.
	Callbacks int
	// Agents counts the background agents and workflows that are working, or
	// that the CLI has yet to answer.
	Agents int
	// Shells counts the shell commands running in the background.
	Shells int
	// Since is when the session last became idle or stopped being idle.
	Since time.Time
}

// Idle reports whether the session has nothing to do.
func (a Activity) Idle() bool {
	a.Since = time.Time{}
	return a == Activity{}
}

// Activity returns the current activity of the session.
func (s *Session) Activity() Activity {
	return s.activity.look(s)
}

// WaitIdle waits until the session has nothing to do: no turn runs, no prompt
// waits, no callback is unanswered, and nothing works in the background. It
// returns early with the error of ctx, or with the error of Wait when the session
// is over; that is ErrClosed if it was closed or ended normally.
//
// Messages may still be unread then. A new prompt, or the end of a background
// command, can end the idleness at any time.
func (s *Session) WaitIdle(ctx context.Context) error {
	for {
		now, changed := s.activity.watch(s)
		select {
		case <-s.life.done:
			if s.life.cause != nil {
				return s.life.cause
			}
			return ErrClosed
		default:
		}
		if now.Idle() {
			return nil
		}
		select {
		case <-changed:
		case <-s.life.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// doing returns the current activity, without the time.
func (s *Session) doing() Activity {
	a := s.inbox.Activity()
	s.prompts.held.mu.Lock()
	held := len(s.prompts.held.waiting)
	s.prompts.held.mu.Unlock()
	return Activity{
		Turn: a.Turn, Replaying: a.Replaying, Queued: a.Queued + held,
		Callbacks: s.peer.Unanswered(), Agents: a.Agents, Shells: a.Shells,
	}
}

// noteActivity is called, from any goroutine, after every event that may change
// what a session is doing.
func (s *Session) noteActivity() {
	if s.activity.look(s).Idle() {
		s.peer.Rest()
	}
}

// activityLog records when a session became idle or busy, and wakes waiters.
type activityLog struct {
	mu      sync.Mutex
	idle    bool
	since   time.Time
	changed chan struct{} // closed when idle changes; nil without waiters
}

func newActivityLog() *activityLog {
	return &activityLog{idle: true, since: time.Now()}
}

// look records the current activity, and returns it. Looks are serialised, so
// that an older one cannot come last.
func (l *activityLog) look(s *Session) Activity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.note(s)
}

// watch is look with a channel that is closed when the session becomes idle or
// busy.
func (l *activityLog) watch(s *Session) (Activity, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.note(s)
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return a, l.changed
}

// note is look with the lock held.
func (l *activityLog) note(s *Session) Activity {
	a := s.doing()
	if idle := a.Idle(); idle != l.idle {
		l.idle, l.since = idle, time.Now()
		if l.changed != nil {
			close(l.changed)
			l.changed = nil
		}
	}
	a.Since = l.since
	return a
}

// settled is called when a request of the CLI awaits nothing more.
func (s *Session) settled() {
	s.noteActivity()
	s.endInput()
}

// Accept sees the CLI's requests as they arrive. Some requests only come from a
// CLI that has taken our handshake, and confirm it; ordinary messages never do.
func (d dispatcher) Accept(req wire.Request) (aside bool) {
	d.noteActivity()
	if d.store.mirror != nil {
		d.store.mirror.Hurry() // what it asks about, and may do next, is on its way to the store
	}
	switch req.Subtype {
	case "mcp_message":
		d.mcp.accept(req)
		if d.plan.resumes {
			return false // the servers were on the command line, too
		}
	case "hook_callback":
		aside = d.running.roll.accept(d.plan.chain, req)
	case "can_use_tool":
	default:
		return false
	}
	d.mu.Lock()
	first := d.life.state < StateRunning && !d.start.confirmed
	d.start.confirmed = d.start.confirmed || first
	d.mu.Unlock()
	if first {
		d.log.Debug("handshake confirmed by a request", "subtype", req.Subtype)
		d.inbox.Ready()
		d.setState(StateRunning)
		d.peer.Open()
	}
	return aside
}

// Request answers a request of the CLI outside the reader's goroutine.
func (d dispatcher) Request(ctx context.Context, in *peer.Incoming) {
	if cb := d.running.callback(in); cb != nil {
		d.running.invoke(ctx, in, cb)
		return
	}
	d.log.Warn("request of an unknown kind refused", "subtype", in.Subtype, "request_id", in.ID.String())
	in.Fail(&wire.ReplyError{
		Message: "Unsupported control request subtype: " + in.Subtype,
		Code:    "unsupported_request",
	})
}

// Refuse answers a request for which there is no room, as if its callback had
// failed.
func (d dispatcher) Refuse(in *peer.Incoming) {
	if cb := d.running.callback(in); cb != nil {
		d.running.failed(in, cb, errCapacity)
	}
}

// starting reports whether the CLI has not yet shown that it runs: by the
// handshake, or by a message if there is none.
func (s *Session) starting() bool {
	if s.plan.oneWay {
		return !s.start.messageSeen.Load()
	}
	return s.State() < StateRunning
}
