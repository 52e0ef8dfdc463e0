package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Trace is a set of functions that report what happens in a session, in the
// manner of net/http/httptrace. Any may be nil. They are called one at a time
// and in order, in their own goroutine: a slow one delays the others but not
// the session. Beyond 64 MiB of frames not yet seen, frames are left out. A
// panic is logged.
type Trace struct {
	// StateChanged is called for each change of Session.State.
	StateChanged func(from, to State)
	// FrameRead and FrameWritten see every line, without its line feed. They
	// must not change it.
	FrameRead    func(line []byte)
	FrameWritten func(line []byte)
	// CallbackStarted and CallbackDone are called before and after each hook,
	// permission or other callback. CallbackDone comes before everything that
	// the answer leads to.
	CallbackStarted func(TraceCallback)
	CallbackDone    func(TraceCallback)
	// RequestDone is called for each control operation that ended.
	RequestDone func(TraceRequest)
	// Diagnostic is called for problems that are not fatal: lines that are not
	// frames, fields of an unexpected kind, frames left out.
	Diagnostic func(Diagnostic)
	// Ended is called when the session is over, with the error of Wait, or with
	// the error of a CLI that could not be started. Only callbacks that still
	// run report something after it.
	Ended func(err error)

	// Starting, PromptSending and CallbackContext are called synchronously, in
	// the goroutine of the event they report, which waits for them.

	// Starting is called for each CLI that is about to be started, with the
	// context of Connect, Ask or Query. It may change start.Env. The Trace that
	// it returns observes this session; nil: this Trace does.
	Starting func(ctx context.Context, start *TraceStart) *Trace
	// PromptSending is called before a prompt is sent, with the context of Run,
	// Send or the like. The function that it returns, if not nil, is called if
	// the prompt could not be sent.
	PromptSending func(ctx context.Context, id string) (failed func(error))
	// CallbackContext is called before each callback and returns the context
	// that the callback runs with. It must be derived from ctx. By then the
	// other functions have seen all earlier events, unless they take longer
	// than a tenth of a second.
	CallbackContext func(ctx context.Context, c TraceCallback) context.Context

	// SkipPartialMessages keeps the pieces of answers away from FrameRead: most
	// lines of a session are such pieces, and without this each costs a call.
	SkipPartialMessages bool
	// CloseWait is how long Close, and the end of Ask and Query, wait until the
	// functions have seen everything that happened. 0: not at all.
	CloseWait time.Duration
}

// TraceStart is a CLI that is about to be started.
type TraceStart struct {
	// SessionID is the id of the session, empty if the CLI will choose it.
	SessionID string
	// Env is the whole environment of the CLI.
	Env []string
	// Secrets are texts that the CLI knows and others should not, as in
	// [Launch]. They do not include the secrets in Env.
	Secrets []string
}

// Redactor returns a Redactor for the secrets of the session, including those in
// Env.
func (s *TraceStart) Redactor() *Redactor {
	set := secret.FromEnv(s.Env)
	set.AddValues(s.Secrets...)
	return &Redactor{set}
}

// Redactor replaces the secrets that a session knows of, and anything in the form
// of a secret, such as an API key. It is immutable: goroutines may share it.
type Redactor struct{ secrets *secret.Set }

// Text returns at most limit bytes of a text. It never shows part of a secret, even
// of one that crosses the cut.
func (r *Redactor) Text(text string, limit int) string { return r.secrets.Head([]byte(text), limit) }

// JSON is Text for JSON, which may be broken: it also hides members by their names,
// such as "password".
func (r *Redactor) JSON(line []byte, limit int) string { return r.secrets.HeadJSON(line, limit) }

// TraceCallback is one call to user code.
type TraceCallback struct {
	Subtype   string // of the CLI's request: "hook_callback", "can_use_tool" …
	Name      string // the hook's event, the tool's name …
	RequestID string
	ToolUseID string        // the tool call it belongs to, if it belongs to one
	Duration  time.Duration // set once it is done
	Err       error         // why it failed
	// Reply is the answer to the CLI, set once it is done; nil if it failed.
	Reply json.RawMessage
}

// TraceRequest is one control operation.
type TraceRequest struct {
	Context   context.Context // the caller's, for its values; never nil
	Op        string
	RequestID string
	Duration  time.Duration
	Err       error
}

// Diagnostic is something odd that did not end the session.
type Diagnostic struct {
	Err   error
	Line  []byte // the line, or its head when it was dropped; may be nil
	Count int    // diagnostics so far, this one included
}

// traceBound is how many bytes of frames may wait for a slow Trace.
const traceBound = 64 << 20

// contextBound is how long a callback waits for a slow Trace.
const contextBound = 100 * time.Millisecond

// tracer calls a Trace outside the paths it observes. A nil tracer does
// nothing.
type tracer struct {
	trace *Trace
	log   *slog.Logger
	wake  chan struct{}

	mu      sync.Mutex
	done    chan struct{} // closed when run has returned
	queue   []traced
	bytes   int
	skipped int
	open    int // callbacks and operations whose end is still to be reported
	ended   bool
	over    bool // run returns
}

type traced struct {
	call func()
	size int
}

func newTracer(t *Trace, log *slog.Logger) *tracer {
	if t == nil {
		return nil
	}
	tr := &tracer{trace: t, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go tr.run(tr.done)
	return tr
}

// starting announces a CLI about to be started, and adopts the outcome of the
// user's function: the Trace of this session, and the environment.
func (tr *tracer) starting(ctx context.Context, p *plan, id string) {
	if tr == nil || tr.trace.Starting == nil {
		return
	}
	start := &TraceStart{SessionID: id, Env: slices.Clone(p.env), Secrets: p.secrets()}
	tr.tell(traced{call: func() {
		if own := tr.trace.Starting(ctx, start); own != nil {
			tr.trace = own
		}
		p.env = start.Env
	}})
}

// prompt announces a prompt and returns the function to call if it is not sent.
func (tr *tracer) prompt(ctx context.Context, id string) (failed func(error)) {
	if tr == nil || tr.trace.PromptSending == nil {
		return func(error) {}
	}
	var theirs func(error)
	tr.tell(traced{call: func() { theirs = tr.trace.PromptSending(ctx, id) }})
	if theirs == nil {
		return func(error) {}
	}
	return func(err error) { tr.tell(traced{call: func() { theirs(err) }}) }
}

// context returns the context for a callback.
func (tr *tracer) context(ctx context.Context, c TraceCallback) context.Context {
	if tr == nil || tr.trace.CallbackContext == nil {
		return ctx // before anything is captured: an unobserved callback allocates nothing here
	}
	var own context.Context
	tr.settle(contextBound)
	tr.tell(traced{call: func() { own = tr.trace.CallbackContext(ctx, c) }})
	if own == nil {
		return ctx
	}
	return own
}

// add queues a call. Frames have a size and may be left out. Messages may be read
// after the end of the session, and their problems are reported then.
func (tr *tracer) add(size int, call func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if size > 0 && tr.bytes+size > traceBound {
		tr.skipped++
		return
	}
	tr.queue = append(tr.queue, traced{call, size})
	tr.bytes += size
	if tr.over {
		tr.over, tr.done = false, make(chan struct{})
		go tr.run(tr.done)
	}
	tr.signal()
}

func (tr *tracer) signal() {
	select {
	case tr.wake <- struct{}{}:
	default:
	}
}

// begin announces an event whose end will be reported: the tracer waits for it.
func (tr *tracer) begin() {
	if tr != nil {
		tr.mu.Lock()
		tr.open++
		tr.mu.Unlock()
	}
}

// close reports the end of an event that begin announced.
func (tr *tracer) close(call func()) {
	if call != nil {
		tr.add(0, call)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.open--
	tr.signal()
}

// end lets run return once it has reported everything queued and still open.
// The session has ended because of cause.
func (tr *tracer) end(cause error) {
	if tr == nil {
		return
	}
	if f := tr.trace.Ended; f != nil {
		tr.add(0, func() { f(cause) })
	}
	tr.mu.Lock()
	skipped := tr.skipped
	tr.mu.Unlock()
	if skipped > 0 {
		tr.diagnostic(Diagnostic{Err: fmt.Errorf("%d frames were left out of the trace", skipped)})
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ended = true
	tr.signal()
}

// settleAtEnd is settle for the end of a session, as long as the user allows.
func (tr *tracer) settleAtEnd() {
	if tr != nil && tr.trace.CloseWait > 0 {
		tr.settle(tr.trace.CloseWait)
	}
}

// settle waits until everything that has happened so far is reported, for at most
// bound.
func (tr *tracer) settle(bound time.Duration) {
	told := make(chan struct{})
	tr.add(0, func() { close(told) })
	waited(told, bound)
}

// wait blocks until everything is reported.
func (tr *tracer) wait() {
	if tr == nil {
		return
	}
	tr.mu.Lock()
	done := tr.done
	tr.mu.Unlock()
	<-done
}

// run reports queued events until the end. A user's function that ends its
// goroutine is followed by another run.
func (tr *tracer) run(done chan struct{}) {
	over := false
	defer func() {
		if over {
			close(done)
		} else {
			go tr.run(done)
		}
	}()
	for {
		t, ok, end := tr.next()
		switch {
		case ok:
			tr.tell(t)
		case end:
			over = true
			return
		default:
			<-tr.wake
		}
	}
}

func (tr *tracer) next() (t traced, ok, end bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) == 0 {
		tr.queue = nil
		tr.over = tr.ended && tr.open == 0
		return traced{}, false, tr.over
	}
	t, tr.queue[0] = tr.queue[0], traced{}
	tr.queue = tr.queue[1:]
	tr.bytes -= t.size
	return t, true, false
}

// tell calls a user's function and contains its panic.
func (tr *tracer) tell(t traced) {
	defer func() {
		if v := recover(); v != nil {
			tr.log.Error("panic in a Trace function", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	t.call()
}

func (tr *tracer) state(from, to State) {
	if tr != nil && tr.trace.StateChanged != nil {
		tr.add(0, func() { tr.trace.StateChanged(from, to) })
	}
}

// reads returns the function that sees lines read, nil if there is none.
func (tr *tracer) reads() func([]byte) {
	if tr == nil {
		return nil
	}
	see := tr.frames(tr.trace.FrameRead)
	if see == nil || !tr.trace.SkipPartialMessages {
		return see
	}
	return func(line []byte) {
		if !wire.IsPartialMessage(line) {
			see(line)
		}
	}
}

// writes returns the function that sees lines written, nil if there is none.
func (tr *tracer) writes() func([]byte) {
	if tr == nil {
		return nil
	}
	return tr.frames(tr.trace.FrameWritten)
}

func (tr *tracer) frames(f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	return func(line []byte) { tr.add(len(line), func() { f(line) }) }
}

// callbackStarted is followed by callbackDone.
func (tr *tracer) callbackStarted(c TraceCallback) {
	tr.begin()
	if tr != nil && tr.trace.CallbackStarted != nil {
		tr.add(0, func() { tr.trace.CallbackStarted(c) })
	}
}

func (tr *tracer) callbackDone(c TraceCallback) {
	if tr == nil {
		return
	}
	var call func()
	if f := tr.trace.CallbackDone; f != nil {
		call = func() { f(c) }
	}
	tr.close(call)
}

// requestDone follows begin.
func (tr *tracer) requestDone(r TraceRequest) {
	if tr == nil {
		return
	}
	var call func()
	if f := tr.trace.RequestDone; f != nil {
		call = func() { f(r) }
	}
	tr.close(call)
}

func (tr *tracer) diagnostic(d Diagnostic) {
	if tr != nil && tr.trace.Diagnostic != nil {
		tr.add(len(d.Line), func() { tr.trace.Diagnostic(d) })
	}
}

const (
	// maxHead is how much of a bad line is logged.
	maxHead = 200
	// headWindow is how much of it is first searched for secrets, so that
	// cutting cannot expose one.
	headWindow = 4 << 10
	// maxStray bounds the output that is not JSON in a start error.
	maxStray = 4 << 10
)

// oddLines reports the lines of the CLI that cannot be read, and keeps those of
// its start.
type oddLines struct {
	log      *slog.Logger
	trace    *tracer
	hidden   func() *secret.Set // the secrets that this session knows of
	starting func() bool        // see [Session.starting]

	mu    sync.Mutex
	count int
	stray []string // the end of the output that is not JSON
}

// diagnose reports a line that is not a frame, or a frame that is odd.
func (l *oddLines) diagnose(line []byte, err error) {
	l.mu.Lock()
	l.count++
	n := l.count
	l.mu.Unlock()
	if l.log.Enabled(context.Background(), slog.LevelError) {
		l.log.Error("bad line from the CLI", "error", err, "count", n, "bytes", len(line), "head", l.head(line, maxHead))
	}
	if _, missing := errors.AsType[*wire.MissingError](err); !missing && l.starting() {
		l.keep(line)
	}
	l.trace.diagnostic(Diagnostic{Err: err, Line: line, Count: n})
}

// head returns the beginning of a line that cannot be read, without secrets, at
// most n bytes.
func (l *oddLines) head(line []byte, n int) string {
	hide := l.hidden()
	cut := min(len(line), headWindow+hide.Longest())
	// With a quote behind it, an unterminated value is found as well.
	text := strings.TrimSuffix(hide.Hide(string(line[:cut])+`"`), `"`)
	if len(text) > n {
		text = text[:n] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// keep keeps the end of a starting CLI's output that is not JSON: mostly
// it gives the reason why the CLI does not start.
func (l *oddLines) keep(line []byte) {
	text := l.head(line, maxStray/4)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stray = append(l.stray, text)
	size := 0
	for i := len(l.stray) - 1; i >= 0; i-- {
		if size += len(l.stray[i]) + 1; size > maxStray {
			l.stray = append([]string(nil), l.stray[i+1:]...)
			break
		}
	}
}
