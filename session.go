package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/message"
)

// Session is a conversation with one CLI process. [Connect] starts it, Close
// ends it.
//
// All methods may be called from any goroutine, also from callbacks. The
// message stream has one reader at a time: Run, Ask and Messages are readers
// and give ErrBusy to a second one; everything else is allowed at any time,
// also while messages are unread.
//
// A Session owns a goroutine that reads, one that waits for the process, one
// for each callback that runs, and one for its Trace. All but callbacks that
// ignore their context are gone when Close has returned.
type Session struct {
	opts  *Options
	plan  *plan
	conn  Conn
	peer  *peer.Peer
	inbox *inbox.Inbox
	trace *tracer
	log   *slog.Logger

	exited chan struct{} // closed when the process has ended; then exit is set
	exit   error
	done   chan struct{} // closed when the session is over; then cause is set
	cause  error         // what Wait returns

	closing sync.Once
	final   sync.Once // one-shot use: the end of stdin
	oneShot bool

	mu        sync.Mutex
	state     State
	confirmed bool // a request of the CLI proved that the handshake took
	info      *control.Info
	id        string
	stopped   error           // why we ended the session, nil if we did not
	inTurn    bool
	early     *message.Result // an error result outside any turn
	faults    int
	prompted  bool            // one-shot use: the prompt was sent
	ownIDs    map[string]bool // message ids chosen by the user
}

// State is where a session is in its life.
type State int

// The states of a session, in their order.
const (
	StateStarting     State = iota // the process is being started
	StateInitializing              // the handshake was sent
	StateRunning                   // ready
	StateStopped                   // ended by Close, or by the CLI itself in good order
	StateFailed                    // ended otherwise; Wait says why
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
func open(ctx context.Context, o *Options, oneShot bool) (*Session, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.clone()
	o.warn()
	p := newPlan(o, oneShot)
	transport := o.Transport
	if transport == nil {
		transport = child{}
	}
	conn, err := transport.Start(ctx, &Launch{
		Path: o.CLIPath, Args: p.args, Env: p.env, Dir: o.Cwd, Stderr: o.Stderr, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	s := &Session{
		opts: o, plan: p, conn: conn, oneShot: oneShot, log: o.Logger,
		inbox:  inbox.New(o.Limits.Unread),
		trace:  newTracer(o.Trace),
		exited: make(chan struct{}),
		done:   make(chan struct{}),
		id:     p.sessionID,
	}
	if s.id == "" && !o.ForkSession {
		s.id = o.Resume
	}
	w := ndjson.NewWriter(conn)
	w.Wrote = s.trace.writes()
	s.peer = peer.New(peer.Config{
		Writer:  w,
		Handler: dispatcher{s},
		Limits:  peer.Limits{Queued: o.Limits.Queued, Pending: o.Limits.Pending, Running: o.Limits.Callbacks},
		Context: context.WithValue(ctx, sessionKey{}, s),
		Log:     o.Logger,
		Read:    s.trace.reads(),
		Held:    !p.oneWay,
	})
	go s.watch()
	go s.serve()
	return s, nil
}

type sessionKey struct{}

// SessionFrom returns the session that a callback was called for, nil if ctx
// is not that of a callback. The session may still be starting: its operations
// then wait for the handshake.
func SessionFrom(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// watch waits for the process.
func (s *Session) watch() {
	s.exit = s.conn.Wait()
	close(s.exited)
}

// serve reads until the CLI's output ends, then brings the session to its end.
func (s *Session) serve() {
	r := ndjson.NewReader(s.conn)
	r.Limit = s.opts.Limits.Line
	r.Long = func(size int) { s.log.Warn("a line has no end yet", "bytes", size) }
	err := s.peer.Serve(r)
	s.reap()
	s.finish(err)
}

// stopBound is how long a process may be past its last bound before the
// session gives up on it: only a Conn of the user's can be.
const stopBound = 20 * time.Second

// reap makes sure that the process ends after its output has.
func (s *Session) reap() {
	if waited(s.exited, s.opts.Timeouts.Close) {
		return
	}
	s.log.Warn("the CLI closed its output but still runs")
	if err := s.conn.Stop(); err != nil {
		s.log.Error("the CLI could not be stopped", "error", err)
	}
	waited(s.exited, stopBound)
}

// waited waits for a channel to be closed, at most d unless d is NoTimeout.
func waited(c <-chan struct{}, d time.Duration) bool {
	if d == NoTimeout {
		<-c
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// finish settles how the session ended and tells everybody who waits.
func (s *Session) finish(readErr error) {
	cause, stream := s.judge(readErr)
	s.cause = cause
	if cause != nil {
		s.setState(StateFailed)
		s.log.Error("session failed", "error", cause)
	} else {
		s.setState(StateStopped)
	}
	s.inbox.Close(stream)
	if errors.Is(stream, io.EOF) {
		stream = new(ProcessError) // exit code 0, but too early for a pending call
	}
	s.peer.Close(stream)
	s.trace.end()
	close(s.done)
}

// judge returns what Wait says, nil for an orderly end, and what readers of
// the stream get, io.EOF for an orderly end that was not ours.
func (s *Session) judge(readErr error) (cause, stream error) {
	s.mu.Lock()
	stopped, early := s.stopped, s.early
	s.mu.Unlock()
	if stopped != nil {
		if errors.Is(stopped, ErrClosed) {
			return nil, ErrClosed
		}
		return stopped, stopped
	}
	var exit *ProcessError
	select {
	case <-s.exited:
		exit = exitFailure(s.exit)
	default:
		exit = &ProcessError{ExitCode: -1, Err: errors.New("still running after it was stopped")}
	}
	if exit == nil && readErr == nil && early == nil {
		return nil, io.EOF
	}
	if exit == nil {
		exit = &ProcessError{Stderr: stderrTail(s.conn)}
	}
	exit.Result = early
	exit.Err = errors.Join(exit.Err, readErr)
	return exit, exit
}

// shutdown ends the session because of cause. It does not wait.
func (s *Session) shutdown(cause error) {
	s.closing.Do(func() {
		s.mu.Lock()
		s.stopped = cause
		idle := s.state >= StateRunning
		s.mu.Unlock()
		idle = idle && !s.inbox.Busy()
		s.peer.Close(cause)
		go s.descend(idle)
	})
}

// descend is the stop ladder: the end of stdin, patience, then Stop. When work
// still runs the CLI would finish it first, so there is no patience then.
func (s *Session) descend(idle bool) {
	if err := s.conn.CloseWrite(); err != nil {
		s.log.Debug("closing stdin", "error", err)
	}
	if idle && waited(s.exited, s.opts.Timeouts.Close) {
		return
	}
	if err := s.conn.Stop(); err != nil {
		s.log.Error("the CLI could not be stopped", "error", err)
	}
}

// Close ends the session and its process and returns when both are gone, in
// bounded time. Callbacks are cancelled but not waited for. Close may be
// called again, at the same time, and from callbacks; it returns an error only
// when the process could not be ended.
func (s *Session) Close() error {
	s.shutdown(ErrClosed)
	grace := s.opts.Timeouts.Close
	if grace != NoTimeout {
		grace += stopBound
	}
	if !waited(s.done, grace) {
		return errors.New("claude: the CLI could not be ended")
	}
	return nil
}

// Done returns a channel that is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.done }

// Wait blocks until the session is over and its callbacks have returned. It
// returns nil when the session was closed or the CLI ended in good order, and
// otherwise the cause, such as a [*ProcessError] or ErrSlow.
func (s *Session) Wait() error {
	<-s.done
	s.peer.Wait()
	s.trace.wait()
	return s.cause
}

// State returns where the session is in its life.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// ID returns the id of the session on disk. It changes when the conversation
// is reset, as by the prompt "/clear". It is empty before the first turn of a
// session that was continued or forked.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Info returns what the CLI said of itself in the handshake: models, commands,
// agents, account. It is never nil, but empty when an old CLI said nothing.
func (s *Session) Info() *control.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info == nil {
		return new(control.Info)
	}
	return s.info
}

// setState moves on to a later state; an earlier one is ignored.
func (s *Session) setState(to State) {
	s.mu.Lock()
	from := s.state
	moved := to > from && from < StateStopped
	if moved {
		s.state = to
	}
	s.mu.Unlock()
	if moved {
		s.trace.state(from, to)
		s.log.Debug("session state", "from", from.String(), "to", to.String())
	}
}
