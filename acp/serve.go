package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// maxSessions is how many sessions a connection may have open.
const maxSessions = 64

// errCancelled is the cause of a prompt's context after session/cancel.
var errCancelled = errors.New("the turn was cancelled")

// Serve speaks the protocol over a connection until the editor closes it or ctx
// ends, and closes rw. All sessions are closed when it returns. The end of the
// connection is not an error.
func Serve(ctx context.Context, rw io.ReadWriteCloser, b Backend) error {
	return (&Endpoint{Backend: b}).Serve(ctx, rw)
}

// Endpoint is Serve with settings. It may serve any number of connections at once,
// and must not be changed meanwhile.
type Endpoint struct {
	// Backend is the agent.
	Backend Backend
	// Admit, if set, is called before each session is begun or opened, for any number of
	// them at once. The editor reads its error, and the session does not begin. Otherwise
	// leave is called once, when the session is closed or could not be opened.
	Admit func() (leave func(), err error)
	// Logger logs what goes wrong on connections, without the content of
	// messages. Nil: nothing is logged.
	Logger *slog.Logger
}

// Serve is like the function of that name.
func (e *Endpoint) Serve(ctx context.Context, rw io.ReadWriteCloser) error {
	log := e.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	agent := e.Backend.backend()
	if e.Admit != nil {
		agent = &admitted{agent, e.Admit}
	}
	return serve(ctx, rw, agent, rpc.Limits{}, log)
}

func serve(ctx context.Context, rw io.ReadWriteCloser, b backend, limits rpc.Limits, log *slog.Logger) error {
	s := &server{backend: b, log: log, sessions: make(map[schema.SessionID]*openSession), held: make(map[schema.SessionID]bool)}
	conn := rpc.New(ctx, rw, s, limits, log)
	s.editor = &editor{conn: conn}
	gone := make(chan struct{})
	go func() { // sessions end as soon as the editor does, not when its requests have
		defer close(gone)
		<-conn.Done()
		s.closeAll()
	}()
	err := conn.Serve(ctx)
	<-gone
	s.closeAll() // one that was being opened
	s.detachedTurns.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Stdio returns the connection of a program that an editor has started: its
// standard input and output. Nothing else may write to standard output. From then
// on SIGPIPE does not end the program: it has sessions to close when its editor
// is gone.
func Stdio() io.ReadWriteCloser {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not Ignore, which the CLIs would inherit
	return stdio{os.Stdin, os.Stdout}
}

type stdio struct {
	io.Reader
	io.Writer
}

func (stdio) Close() error { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

// server is the state of one connection.
type server struct {
	backend backend
	editor  *editor
	log     *slog.Logger

	detachedTurns sync.WaitGroup

	mu          sync.Mutex
	initialized bool
	closed      bool
	opening     int
	held        map[schema.SessionID]bool // being opened, copied, closed or deleted
	sessions    map[schema.SessionID]*openSession
}

// openSession is a session that the editor knows.
type openSession struct {
	agentSession
	turn    context.Context         // of the turn that runs, else nil
	cancel  context.CancelCauseFunc // of the turn that runs, else nil
	cancels int                     // how often the editor has sent session/cancel
	changes queue                   // of mode and options
}

// Notify handles session/cancel. Other notifications are not ours.
func (s *server) Notify(method string, params json.RawMessage) {
	if method != schema.MethodAgentSessionCancel {
		return
	}
	var req schema.CancelNotification
	if jsonx.Unmarshal(params, &req) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.sessions[req.SessionID]
	if open == nil {
		return
	}
	open.cancels++
	if open.cancel != nil {
		open.cancel(errCancelled)
	}
}

// Request returns the work of a request. Everything that must follow the order
// of requests happens here, and the rest in the work.
func (s *server) Request(method string, params json.RawMessage) rpc.Work {
	if method == schema.MethodAgentInitialize {
		return s.initialize(params)
	}
	s.mu.Lock()
	ready := s.initialized
	s.mu.Unlock()
	if !ready {
		return refuse(errorf(schema.ErrorCodeInvalidRequest, "send initialize before %s", method))
	}
	if method == methodFork && !s.backend.Extensions().Forks || method == methodSteer && !s.backend.Extensions().Steering {
		return refuse(unknownMethod(method))
	}
	switch method {
	case schema.MethodAgentAuthenticate:
		return do(params, func(ctx context.Context, req *schema.AuthenticateRequest) (any, error) {
			return &schema.AuthenticateResponse{}, s.backend.Authenticate(ctx, s.editor, req.MethodID)
		})
	case schema.MethodAgentLogout:
		return do(params, func(ctx context.Context, _ *schema.LogoutRequest) (any, error) {
			return &schema.LogoutResponse{}, s.backend.Logout(ctx)
		})
	case schema.MethodAgentSessionNew, schema.MethodAgentSessionLoad, schema.MethodAgentSessionResume, methodFork:
		return s.open(method, params)
	case schema.MethodAgentSessionList:
		return do(params, func(ctx context.Context, req *schema.ListSessionsRequest) (any, error) {
			return s.backend.List(ctx, req)
		})
	case schema.MethodAgentSessionDelete:
		return do(params, func(ctx context.Context, req *schema.DeleteSessionRequest) (any, error) {
			return &schema.DeleteSessionResponse{}, s.hold(req.SessionID, func() error {
				if err := s.close(req.SessionID); err != nil {
					return err
				}
				return s.backend.Delete(ctx, req.SessionID)
			})
		})
	case schema.MethodAgentSessionClose:
		return do(params, func(_ context.Context, req *schema.CloseSessionRequest) (any, error) {
			if _, err := s.session(req.SessionID); err != nil {
				return nil, err
			}
			return &schema.CloseSessionResponse{}, s.hold(req.SessionID, func() error { return s.close(req.SessionID) })
		})
	case schema.MethodAgentSessionPrompt:
		work, _ := s.prompt(params)
		return work
	case methodSteer:
		return s.steer(params)
	case schema.MethodAgentSessionSetMode:
		req, err := decode[schema.SetSessionModeRequest](params)
		if err != nil {
			return refuse(err)
		}
		return s.change(req.SessionID, func(ctx context.Context, open agentSession) (any, error) {
			return &schema.SetSessionModeResponse{}, open.SetMode(ctx, req.ModeID)
		})
	case schema.MethodAgentSessionSetConfigOption:
		req, err := decode[schema.SetSessionConfigOptionRequest](params)
		if err != nil {
			return refuse(err)
		}
		return s.change(req.SessionID, func(ctx context.Context, open agentSession) (any, error) {
			options, err := open.SetConfig(ctx, req)
			return &schema.SetSessionConfigOptionResponse{ConfigOptions: options}, err
		})
	}
	return refuse(unknownMethod(method))
}

func unknownMethod(method string) *schema.Error {
	e := errorf(schema.ErrorCodeMethodNotFound, "there is no method %q in this agent", method)
	e.Data, _ = jsonx.Marshal(map[string]string{"method": method})
	return e
}

// turnRuns refuses what needs a session without a turn.
func turnRuns() *schema.Error {
	return errorf(schema.ErrorCodeInvalidRequest, "a turn of this session is running: wait for its end, or send session/cancel")
}

// isHeld refuses what must not happen beside another request.
func isHeld() *schema.Error {
	return errorf(schema.ErrorCodeInvalidRequest, "another request is opening, copying, closing or deleting this session: wait for its answer")
}

// isBusy reports whether a turn of a session runs.
func (s *server) isBusy(id schema.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.sessions[id]
	return open != nil && open.cancel != nil
}

// refuse returns work that fails.
func refuse(err error) rpc.Work {
	return func(context.Context) (any, func(), error) { return nil, nil, err }
}

// do returns work that decodes its parameters first.
func do[T any](params json.RawMessage, work func(context.Context, *T) (any, error)) rpc.Work {
	return func(ctx context.Context) (any, func(), error) {
		req, err := decode[T](params)
		if err != nil {
			return nil, nil, err
		}
		result, err := work(ctx, req)
		return result, nil, err
	}
}

func decode[T any](params json.RawMessage) (*T, error) {
	req := new(T)
	if params == nil {
		params = json.RawMessage("{}")
	}
	if err := jsonx.Unmarshal(params, req); err != nil {
		return nil, errorf(schema.ErrorCodeInvalidParams, "the parameters cannot be read: %v", err)
	}
	return req, nil
}

// initialize introduces the two sides. The agent answers with its own version,
// whatever the editor has asked for: an editor that does not speak it closes the
// connection.
func (s *server) initialize(params json.RawMessage) rpc.Work {
	var req schema.InitializeRequest
	err := jsonx.Unmarshal(params, &req)
	if !jsonx.Present(jsonx.Member(params, "protocolVersion")) || err != nil && !jsonx.Mismatch(err) {
		return refuse(errorf(schema.ErrorCodeInvalidParams, "initialize needs a protocolVersion; this agent speaks %d", schema.Version))
	}
	s.mu.Lock()
	twice := s.initialized
	if !twice {
		s.initialized, s.editor.init = true, req
	}
	s.mu.Unlock()
	if twice {
		return refuse(errorf(schema.ErrorCodeInvalidRequest, "the connection is initialized already"))
	}
	return func(ctx context.Context) (any, func(), error) {
		resp, err := s.backend.Initialize(ctx, s.editor)
		if err != nil {
			s.mu.Lock()
			s.initialized = false // the editor may try again
			s.mu.Unlock()
			return nil, nil, err
		}
		resp.ProtocolVersion = schema.Version
		s.backend.Extensions().offer(resp)
		return resp, nil, nil
	}
}

// session returns an open session.
func (s *server) session(id schema.SessionID) (*openSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.sessions[id]; open != nil {
		return open, nil
	}
	return nil, notFound(id)
}

func notFound(id schema.SessionID) *schema.Error {
	e := errorf(schema.ErrorCodeResourceNotFound, "there is no such session: begin one with session/new, or open one of session/list with session/load")
	e.Data, _ = jsonx.Marshal(map[string]schema.SessionID{"sessionId": id})
	return e
}

// change makes changes of a session one after the other, in the order of
// requests: the last one the editor sent is the one that stays.
func (s *server) change(id schema.SessionID, work func(context.Context, agentSession) (any, error)) rpc.Work {
	open, err := s.session(id)
	if err != nil {
		return refuse(err)
	}
	turn := open.changes.join()
	return func(ctx context.Context) (any, func(), error) {
		defer turn.leave()
		if err := turn.wait(ctx); err != nil {
			return nil, nil, err
		}
		result, err := work(ctx, open.agentSession)
		return result, nil, err
	}
}

// prompt reserves the turn in the order of requests, so that a cancel which
// follows finds it. It reports whether it could; if not, the work fails.
func (s *server) prompt(params json.RawMessage) (work rpc.Work, reserved bool) {
	req, err := decode[schema.PromptRequest](params)
	if err != nil {
		return refuse(err), false
	}
	turn, cancel := context.WithCancelCause(context.Background())
	s.mu.Lock()
	open := s.sessions[req.SessionID]
	busy := open != nil && open.cancel != nil
	held := s.held[req.SessionID]
	if open != nil && !busy && !held {
		open.turn, open.cancel = turn, cancel
	}
	s.mu.Unlock()
	if open == nil {
		cancel(nil)
		return refuse(notFound(req.SessionID)), false
	}
	if busy {
		cancel(nil)
		return refuse(turnRuns()), false
	}
	if held {
		cancel(nil)
		return refuse(isHeld()), false
	}
	return func(ctx context.Context) (any, func(), error) {
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			open.turn, open.cancel = nil, nil
			cancel(nil)
		}()
		resp, err := open.Prompt(turn, req)
		if err != nil && turn.Err() != nil {
			if _, own := errors.AsType[*schema.Error](err); !own {
				return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}, nil, nil
			}
		}
		return resp, nil, err
	}, true
}

// open begins or opens a session.
func (s *server) open(method string, params json.RawMessage) rpc.Work {
	return func(ctx context.Context) (any, func(), error) {
		if err := s.reserve(); err != nil {
			return nil, nil, err
		}
		session, err := s.begin(ctx, method, params)
		s.unreserve()
		if err != nil {
			return nil, nil, err
		}
		opened := func() { session.Opened(context.WithoutCancel(ctx)) }
		switch method {
		case schema.MethodAgentSessionNew, methodFork:
			return &schema.NewSessionResponse{SessionID: session.ID(), Modes: session.Modes(), ConfigOptions: session.Config()}, opened, nil
		case schema.MethodAgentSessionLoad:
			return &schema.LoadSessionResponse{Modes: session.Modes(), ConfigOptions: session.Config()}, opened, nil
		}
		return &schema.ResumeSessionResponse{Modes: session.Modes(), ConfigOptions: session.Config()}, opened, nil
	}
}

// begin asks the back-end for a session and keeps it. One that is open already is closed
// first, unless a turn runs in it.
func (s *server) begin(ctx context.Context, method string, params json.RawMessage) (agentSession, error) {
	switch method {
	case schema.MethodAgentSessionNew:
		req, err := decode[schema.NewSessionRequest](params)
		if err = errors.Join(err, checkPaths(req, func() (string, []string) { return req.Cwd, req.AdditionalDirectories })); err != nil {
			return nil, err
		}
		session, err := s.backend.New(ctx, s.editor, req)
		if err != nil {
			return nil, err
		}
		return session, s.add(session)
	case schema.MethodAgentSessionLoad:
		req, err := decode[schema.LoadSessionRequest](params)
		if err = errors.Join(err, checkPaths(req, func() (string, []string) { return req.Cwd, req.AdditionalDirectories })); err != nil {
			return nil, err
		}
		return s.reopen(req.SessionID, func() (agentSession, error) { return s.backend.Load(ctx, s.editor, req) })
	case methodFork:
		return s.fork(ctx, params)
	}
	req, err := decode[schema.ResumeSessionRequest](params)
	if err = errors.Join(err, checkPaths(req, func() (string, []string) { return req.Cwd, req.AdditionalDirectories })); err != nil {
		return nil, err
	}
	return s.reopen(req.SessionID, func() (agentSession, error) { return s.backend.Resume(ctx, s.editor, req) })
}

// checkPaths refuses relative paths: they would be those of this program.
func checkPaths[T any](req *T, paths func() (cwd string, more []string)) error {
	if req == nil {
		return nil
	}
	cwd, more := paths()
	if !filepath.IsAbs(cwd) {
		return relative("cwd", "cwd must be an absolute path", cwd)
	}
	for _, dir := range more {
		if !filepath.IsAbs(dir) {
			return relative("additionalDirectories", "additionalDirectories must be absolute paths", dir)
		}
	}
	return nil
}

func relative(member, text, path string) *schema.Error {
	e := errorf(schema.ErrorCodeInvalidParams, "%s", text)
	e.Data, _ = jsonx.Marshal(map[string]string{member: path})
	return e
}

// reopen closes a session, if it is open and idle, and opens it.
func (s *server) reopen(id schema.SessionID, begin func() (agentSession, error)) (session agentSession, err error) {
	err = s.hold(id, func() error {
		if s.isBusy(id) {
			return turnRuns()
		}
		if err := s.close(id); err != nil {
			return err
		}
		if session, err = begin(); err != nil {
			return err
		}
		return s.add(session)
	})
	return session, err
}

// hold does what only one request at a time may do with a session: two that open
// it would start two CLIs on the same conversation.
func (s *server) hold(id schema.SessionID, work func() error) error {
	s.mu.Lock()
	held := s.held[id]
	s.held[id] = true
	s.mu.Unlock()
	if held {
		return isHeld()
	}
	defer func() {
		s.mu.Lock()
		delete(s.held, id)
		s.mu.Unlock()
	}()
	return work()
}

func (s *server) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening+len(s.sessions) >= maxSessions {
		return errorf(schema.ErrorCodeInvalidRequest, "%d sessions are open, which is the limit: close one with session/close", maxSessions)
	}
	s.opening++
	return nil
}

func (s *server) unreserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
}

// add keeps a session that was opened, or closes it if it came too late.
func (s *server) add(session agentSession) error {
	s.mu.Lock()
	_, twice := s.sessions[session.ID()]
	late := s.closed
	if !late && !twice {
		s.sessions[session.ID()] = &openSession{agentSession: session}
	}
	s.mu.Unlock()
	if late || twice {
		session.Close()
		return errorf(schema.ErrorCodeInvalidRequest, "the session is open already")
	}
	return nil
}

// close ends a session; one that is not open is left alone.
func (s *server) close(id schema.SessionID) error {
	s.mu.Lock()
	open := s.sessions[id]
	delete(s.sessions, id)
	if open != nil && open.cancel != nil {
		open.cancel(errCancelled)
	}
	s.mu.Unlock()
	if open == nil {
		return nil
	}
	return open.Close()
}

// closeAll ends all sessions at once.
func (s *server) closeAll() {
	s.mu.Lock()
	s.closed = true
	all := s.sessions
	s.sessions = make(map[schema.SessionID]*openSession)
	s.mu.Unlock()
	var wait sync.WaitGroup
	for id, open := range all {
		wait.Go(func() {
			if err := open.Close(); err != nil {
				s.log.Warn("acp: a session did not close", "session", id, "error", err)
			}
		})
	}
	wait.Wait()
}
