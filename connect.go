package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Connect starts a CLI and returns a session that is ready for use. ctx bounds
// only the start; the callbacks' contexts carry its values. Close the session
// when you are done.
//
// The error is an [*OptionError] if the options cannot be used, a
// [*StartError] if the CLI could not be started, or the error of ctx. No
// process is left after an error.
func Connect(ctx context.Context, opts *Options) (*Session, error) {
	return connect(ctx, opts, use{})
}

// connect starts a CLI and performs the handshake. If the CLI exits because it
// does not know a flag that the session can do without, it is started once
// more.
func connect(ctx context.Context, opts *Options, use use) (*Session, error) {
	for {
		s, err := open(ctx, opts, use)
		if err != nil {
			return nil, err
		}
		if s.plan.oneWay {
			return s, nil
		}
		if err = (opening{s}).handshake(ctx); err == nil {
			return s, nil
		}
		flag := opening{s}.refusedFlag()
		if flag == "" {
			return nil, err
		}
		use.without = append(use.without, flag)
	}
}

// opening is the session until its CLI has shown that it runs, or why it does
// not.
type opening struct{ *Session }

// handshake introduces us to the CLI and waits until the CLI has answered, or
// has shown by a request of its own that it took the introduction.
func (s opening) handshake(ctx context.Context) error {
	s.setState(StateInitializing)
	answered := make(chan error, 1)
	go func() { answered <- s.initialize() }()
	var timeout, probe <-chan time.Time
	if d := s.opts.Timeouts.Initialize; d != NoTimeout {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	if s.opts.Transport == nil {
		t := time.NewTimer(probeAfter)
		defer t.Stop()
		probe = t.C
	}
	var err error
	select {
	case err = <-answered:
	case <-probe:
		err = s.probed(ctx, answered, timeout)
	case <-timeout:
		err = s.unanswered()
	case <-ctx.Done():
		err = fmt.Errorf("claude: connect: %w", context.Cause(ctx))
	}
	close(s.start.settled)
	if err == nil {
		err = s.checkFeatures(ctx)
	}
	if err != nil {
		s.shutdown(fmt.Errorf("%w: %w", peer.ErrNotOpened, err))
		_ = s.Close() // the start failed already; what is left is logged
	}
	return err
}

// probed keeps waiting while a silent CLI is asked for its version.
func (s opening) probed(ctx context.Context, answered <-chan error, timeout <-chan time.Time) error {
	asking, cancel := context.WithCancel(ctx)
	probe, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		probe <- s.cli.probe(asking)
	}()
	defer func() { cancel(); <-ended }()
	for {
		select {
		case err := <-answered:
			return err
		case version := <-probe:
			if tooOld(version, firstInitialize) && !s.isConfirmed() { // what it does outranks its number
				return s.startError(ErrUnsupportedVersion, fmt.Errorf("found version %s, %s is needed", version, firstInitialize))
			}
		case <-timeout:
			return s.unanswered()
		case <-ctx.Done():
			return fmt.Errorf("claude: connect: %w", context.Cause(ctx))
		}
	}
}

// isConfirmed reports whether a request of the CLI has shown that it took the
// handshake.
func (s opening) isConfirmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start.confirmed
}

// unanswered returns the error for a handshake without a reply.
func (s opening) unanswered() error {
	if s.isConfirmed() {
		s.lacksCapabilities("it was not answered, but confirmed by a request")
		return nil
	}
	return s.startError(ErrInitializeTimeout, fmt.Errorf("no reply within %v", s.opts.Timeouts.Initialize))
}

// initialize sends initialize and takes its reply, whenever it comes: a late
// error still fails the session.
func (s opening) initialize() error {
	s.trace.begin()
	begin := time.Now()
	reply, err := s.peer.Call(context.Background(), peer.Call{Subtype: "initialize", Payload: s.plan.init, BeforeOpen: true})
	s.trace.requestDone(TraceRequest{Context: context.Background(), Op: "initialize", RequestID: reply.ID.String(), Duration: time.Since(begin), Err: err})
	if err == nil {
		s.initialized(reply)
		return nil
	}
	if refused, ok := errors.AsType[*peer.RefusedError](err); ok {
		err := s.startError(ErrInitializeRefused, refused.Reply)
		s.shutdown(fmt.Errorf("%w: %w", peer.ErrNotOpened, err))
		return err
	}
	<-s.life.done
	return s.exitedEarly(err)
}

// initialized reads the reply leniently: older CLIs report less, or other
// things.
func (s opening) initialized(reply wire.Response) {
	info := new(control.Info)
	if err := jsonx.Unmarshal(reply.Payload, info); err != nil {
		info = new(control.Info)
	}
	if why := uncapable(reply.Payload); why != "" {
		s.lacksCapabilities(why)
	}
	s.mu.Lock()
	s.start.info = info
	s.mu.Unlock()
	s.inbox.Ready()
	s.setState(StateRunning)
	s.peer.Open()
}

// uncapable explains why a reply to initialize leaves the CLI's capabilities
// unknown; "" if it does not.
func uncapable(reply []byte) string {
	named := jsonx.Member(reply, "capabilities")
	switch {
	case len(reply) == 0:
		return "the reply is empty"
	case reply[0] != '{':
		return "the reply is not an object"
	case !jsonx.Present(named):
		return "the reply names none"
	case named[0] != '{' && jsonx.Unmarshal(named, new([]string)) != nil:
		return "the reply has them in another form"
	}
	return ""
}

// lacksCapabilities warns, once, that the CLI's capabilities are unknown.
func (s opening) lacksCapabilities(why string) {
	s.start.warned.Do(func() {
		s.log.Warn("initialize: the capabilities of the CLI are unknown, features may be limited", "reason", why)
	})
}

// exitedEarly returns the error for a CLI that exited before its reply.
func (s opening) exitedEarly(err error) error {
	exit, ok := errors.AsType[*ProcessError](s.life.cause)
	if !ok {
		if s.life.cause != nil {
			err = s.life.cause
		}
		return s.startError(ErrExited, err)
	}
	if err := s.refused(exit); err != nil {
		return err
	}
	return s.startError(ErrExited, exit)
}

// refused explains the exit of a CLI that would not start with these options.
// It returns nil for any other exit.
func (s opening) refused(exit *ProcessError) error {
	if err := s.unknownFlag(exit); err != nil {
		return err
	}
	if s.opts.Resume != "" && saidNoSession(exit) {
		failed := s.startError(ErrNoSession, exit)
		failed.Nearby = s.nearby()
		return failed
	}
	return nil
}

// saidNoSession reports whether the CLI complained about the id of a session:
// on stderr, newer ones also in an early result.
func saidNoSession(exit *ProcessError) bool {
	const complaint = "No conversation found with session ID"
	return strings.Contains(exit.Stderr, complaint) ||
		exit.Result != nil && slices.ContainsFunc(exit.Result.Errors, func(text string) bool { return strings.Contains(text, complaint) })
}

// unknownFlag explains the exit of a CLI that does not know one of its flags: one
// that this package sets means that the CLI is too old, one of ExtraArgs is the
// user's. It returns nil for any other exit.
func (s opening) unknownFlag(exit *ProcessError) error {
	flag, said := s.flagComplaint(exit)
	switch {
	case said == "":
		return nil
	case hasFlag(s.opts.ExtraArgs, flag):
		return &OptionError{"ExtraArgs", "the CLI does not know " + flag + ": " + strings.TrimSpace(said)}
	case flag == awaitFlag && s.opts.resumes() && s.opts.mustBeAsked("") != nil:
		return s.opts.unguarded(s.opts.mustBeAsked(""), s.cli.version(context.Background()))
	case hasFlag(s.plan.args, flag):
		return s.startError(ErrUnsupportedVersion, fmt.Errorf("%s does not know %s, %s does: %w", s.foundVersion(context.Background()), flag, flagSince(flag), exit))
	}
	return nil
}

// flagComplaint finds the flag that a CLI did not know and the complaint about it; ""
// if the CLI exited for another reason.
func (s opening) flagComplaint(exit *ProcessError) (flag, said string) {
	if s.start.messageSeen.Load() { // a CLI that has said something has taken its flags
		return "", ""
	}
	for _, said := range []string{exit.Stderr, s.strayOutput()} {
		if flag, unknown := unknownOption(said); unknown {
			return flag, said
		}
	}
	return "", ""
}

// unknownOption finds the flag in the CLI's complaint about one.
func unknownOption(stderr string) (flag string, ok bool) {
	for _, mark := range []string{"unknown option", "unknown flag", "invalid option"} {
		_, rest, found := strings.Cut(stderr, mark)
		if !found {
			continue
		}
		fields := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" '\"`:=\n\r\t", r) })
		for _, flag := range fields {
			if flag != "--" { // between getopt's words and the flag
				return flag, true
			}
		}
		return "", true
	}
	return "", false
}

// hasFlag reports whether a flag is on a command line, with or without a value.
func hasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == flag
	})
}

func (s opening) startError(reason, err error) *StartError {
	output := strings.TrimSpace(strings.TrimSpace(s.conn.StderrTail()) + "\n" + s.strayOutput())
	s.mu.Lock()
	defer s.mu.Unlock()
	if output == "" && s.start.earlyResult != nil {
		output = strings.Join(s.start.earlyResult.Errors, "\n")
	}
	return &StartError{Reason: reason, Path: s.opts.CLIPath, Output: output, Err: err}
}

// use describes the purpose of a session.
type use struct {
	onePrompt bool
	without   []string // flags that the CLI has turned out not to know
}

// echoFlag makes the CLI repeat each prompt under its id when it takes it.
const echoFlag = "--replay-user-messages"

// The versions in which the CLI learnt to echo prompts, and to name in a result
// the prompts it answers. In between, only echoes tell which answer belongs to
// which prompt.
var (
	sinceEchoes = since{"1.0.85", "1.0.128"}
	sinceNames  = since{"2.1.0", "2.1.325"}
)

// askForEchoes adds the flag for a CLI that does not name prompts in its
// results. The flag has to be on the command line before the CLI can be asked
// for its version, so the installed version must tell; if that is unknown, the
// flag is added too, because a newer CLI merely writes one more line for each
// prompt. The program behind a user's Transport is unknown and gets exactly
// what Options ask for.
func (p *plan) askForEchoes(o *Options, use use) {
	if o.Transport != nil || o.ReplayUserMessages || hasFlag(p.args, echoFlag) {
		return
	}
	version := installedVersion(o.CLIPath, p.env)
	p.silent = sinceEchoes.missing(version) || slices.Contains(use.without, echoFlag)
	if p.silent || sinceNames.known(version) {
		return
	}
	p.echoes = true
	p.args = slices.Insert(p.args, 0, echoFlag)
	p.dispensable = append(p.dispensable, echoFlag)
}

// refusedFlag returns the dispensable flag that made the CLI exit because it
// does not know it; "" if the exit had another cause.
func (s opening) refusedFlag() string {
	exit, ok := errors.AsType[*ProcessError](s.life.cause)
	if !ok {
		return ""
	}
	flag, _ := s.flagComplaint(exit)
	if !slices.Contains(s.plan.dispensable, flag) {
		return ""
	}
	return flag
}

// A resumed session may start to work before any prompt: if a hook has deferred
// a tool call, the CLI makes that call as soon as it has read the session. Hooks
// and MCP servers of this process come with the handshake, so a CLI that does
// not wait for it makes the call without them.

// awaitFlag makes the CLI wait for the handshake before it does anything.
const awaitFlag = "--await-initialize"

// The versions in which the CLI learnt to wait, and to defer a call. A CLI that
// cannot defer has nothing to continue.
var (
	sinceAwait = since{"2.1.260", "2.1.265"}
	sinceDefer = since{has: "2.1.89"}
)

// awaitHandshake makes a CLI that resumes a session wait for the handshake. A CLI
// too old for that is refused if a hook could be bypassed. If its version is
// unknown, it gets the flag, and the exit of one that is too old shows.
func (p *plan) awaitHandshake(o *Options, use use) error {
	if !o.resumes() || p.oneWay || hasFlag(p.args, awaitFlag) {
		return nil
	}
	version := ""
	if o.Transport == nil {
		version = installedVersion(o.CLIPath, p.env)
	}
	if sinceAwait.missing(version) || slices.Contains(use.without, awaitFlag) {
		if h := o.mustBeAsked(version); h != nil {
			return o.unguarded(h, version)
		}
		return nil
	}
	p.args = slices.Insert(p.args, 0, awaitFlag)
	if o.mustBeAsked(version) == nil {
		p.dispensable = append(p.dispensable, awaitFlag)
	}
	return nil
}
