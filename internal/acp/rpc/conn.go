package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
)

var (
	// ErrCancelled is the cause of a request's context when the other side has
	// withdrawn the request.
	ErrCancelled = errors.New("request cancelled by the other side")
	// ErrClosed is the error of calls after the connection has ended, and the
	// cause of the contexts of requests that it ended.
	ErrClosed = errors.New("the connection has ended")
	// ErrBusy is the error of a call when too many others wait for their answer.
	ErrBusy = errors.New("too many calls wait for an answer")
)

// Work does what a request asks for. Its context ends when the request is
// withdrawn and when the connection ends. The result is sent as JSON. after, if
// not nil, runs when the answer is written.
type Work func(ctx context.Context) (result any, after func(), err error)

// Handler receives what the other side says. Its methods are called by the
// reader, one at a time, and must return at once.
type Handler interface {
	// Request returns the work of a request, which runs beside the reader.
	Request(method string, params json.RawMessage) Work
	// Notify takes a notification.
	Notify(method string, params json.RawMessage)
}

// Limits bound what the other side can cost. A zero field has its default.
type Limits struct {
	Line    int // bytes of a line: 64 MiB
	Running int // requests of the other side at once: 64
	Pending int // calls that wait for an answer: 256
}

func (l Limits) orDefaults() Limits {
	if l.Line == 0 {
		l.Line = ndjson.DefaultLimit
	}
	if l.Running == 0 {
		l.Running = 64
	}
	if l.Pending == 0 {
		l.Pending = 256
	}
	return l
}

// parting is how long a connection that ended waits for the work that it ended.
const parting = 15 * time.Second

// notice is how long the other side may take to read that a call is withdrawn, or
// one of many refusals.
const notice = 5 * time.Second

// Conn is a connection. Its methods may be called from any goroutine. Serve
// reads until the stream ends; calls before that wait for it.
type Conn struct {
	rw      io.ReadWriteCloser
	handler Handler
	limits  Limits
	log     *slog.Logger
	writer  *ndjson.Writer
	ctx     context.Context // ends with the connection
	end     context.CancelCauseFunc
	works   sync.WaitGroup
	slots   chan struct{} // one for each request until its answer is written
	refused chan struct{} // one for each refusal until it is written

	mu      sync.Mutex
	lastID  int64
	pending map[int64]chan<- frame             // our calls
	running map[string]context.CancelCauseFunc // their requests
}

// New returns a connection over rw, whose requests handler gets. Values of ctx
// are those of the requests' contexts; its end is not.
func New(ctx context.Context, rw io.ReadWriteCloser, handler Handler, limits Limits, log *slog.Logger) *Conn {
	c := &Conn{
		rw: rw, handler: handler, limits: limits.orDefaults(), log: log, writer: ndjson.NewWriter(rw),
		pending: make(map[int64]chan<- frame), running: make(map[string]context.CancelCauseFunc),
	}
	c.slots, c.refused = make(chan struct{}, c.limits.Running), make(chan struct{}, c.limits.Running)
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	c.writer.OnBroken = func(err error) {
		c.log.Warn("acp: the output is broken", "error", err)
		c.end(ErrClosed)
	}
	return c
}

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Context returns a context that ends with the connection, with the cause ErrClosed.
func (c *Conn) Context() context.Context { return c.ctx }

// Serve reads until the stream or ctx ends or the stream cannot be written any
// more, then ends all requests, closes the stream and waits for the work to
// return. The end of the stream, in either direction, is not an error. If a Read of the stream cannot be interrupted by Close, the goroutine
// that reads stays until it returns.
func (c *Conn) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- c.read() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.ctx.Done(): // nothing can be answered any more
	}
	c.end(ErrClosed)
	c.rw.Close()
	done := make(chan struct{})
	go func() { c.works.Wait(); close(done) }()
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		return errors.Join(err, fmt.Errorf("requests did not end within %v of the connection", parting))
	}
	return err
}

// read handles lines until the stream ends.
func (c *Conn) read() error {
	lines := ndjson.NewReader(c.rw)
	lines.Limit = c.limits.Line
	for {
		line, err := lines.Next()
		if tooLong, ok := errors.AsType[*ndjson.TooLongError](err); ok {
			c.reject(broken(tooLong.Head), failure(schema.ErrorCodeInvalidRequest,
				fmt.Sprintf("the message has %d bytes, at most %d are accepted", tooLong.Size, c.limits.Line)))
			continue
		}
		if cut, ok := errors.AsType[*ndjson.TruncatedError](err); ok {
			if cut.Line != nil {
				c.handle(cut.Line) // it may lack only its line feed
			}
			return nil
		}
		if errors.Is(err, io.EOF) || c.ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		c.handle(line)
	}
}

func (c *Conn) handle(line []byte) {
	f, problem := parse(line)
	switch {
	case problem != nil:
		c.log.Warn("acp: a line cannot be read", "bytes", len(line), "problem", problem.Message)
		c.reject(f, problem)
	case !f.isCall:
		c.deliver(f)
	case f.id == nil && f.method == schema.MethodCancelRequest:
		c.cancel(f.params)
	case f.id == nil:
		c.handler.Notify(f.method, f.params)
	default:
		c.request(f)
	}
}

// request starts the work of a request.
func (c *Conn) request(f frame) {
	key := string(f.id)
	select {
	case c.slots <- struct{}{}:
	default:
		c.refuse(f.id, failure(schema.ErrorCodeInvalidRequest,
			fmt.Sprintf("%d requests are running, which is the limit: wait for one of them", c.limits.Running)))
		return
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	_, twice := c.running[key]
	if !twice {
		c.running[key] = cancel
	}
	c.mu.Unlock()
	if twice {
		cancel(nil)
		<-c.slots
		c.refuse(f.id, failure(schema.ErrorCodeInvalidRequest, "a request with this id is running: give each request its own id"))
		return
	}
	work := c.handler.Request(f.method, f.params)
	c.works.Go(func() {
		defer func() { <-c.slots }()
		result, after, err := c.run(ctx, work)
		c.mu.Lock()
		delete(c.running, key)
		c.mu.Unlock()
		c.answer(ctx, f.id, result, err)
		cancel(nil)
		if after != nil && err == nil {
			after()
		}
	})
}

// run does the work; a panic is an error of this request alone.
func (c *Conn) run(ctx context.Context, work Work) (result any, after func(), err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("acp: a request panicked", "panic", p)
			result, after, err = nil, nil, failure(schema.ErrorCodeInternalError, "the agent failed unexpectedly")
		}
	}()
	return work(ctx)
}

func (c *Conn) answer(ctx context.Context, id json.RawMessage, result any, err error) {
	r := response{JSONRPC: "2.0", ID: id}
	if err == nil {
		var encodeErr error
		if r.Result, encodeErr = jsonx.Marshal(result); encodeErr != nil {
			err = fmt.Errorf("the answer cannot be encoded: %w", encodeErr)
		}
	}
	if err != nil {
		r.Result, r.Error = nil, errorOf(ctx, err)
	}
	c.write(c.ctx, r)
}

// errorOf returns the error to send.
func errorOf(ctx context.Context, err error) *schema.Error {
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return e
	}
	if errors.Is(context.Cause(ctx), ErrCancelled) {
		return failure(schema.ErrorCodeRequestCancelled, "the request was cancelled")
	}
	return failure(schema.ErrorCodeInternalError, err.Error())
}

// reject handles what cannot be read. If it seems to answer a call, that call
// fails: an error with its id would look like the answer to a request of the
// other side, and the call would wait for ever.
func (c *Conn) reject(f frame, problem *schema.Error) {
	if !f.isCall && f.id != nil && c.deliver(frame{id: f.id, failure: problem}) {
		return
	}
	c.refuse(f.id, problem)
}

// refuse answers what could not be handled. Without an id the answer has
// the id null, as JSON-RPC wants it.
func (c *Conn) refuse(id json.RawMessage, e *schema.Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	// The reader does not wait for a peer that is slow to read, unless it sends
	// more nonsense than it takes refusals. Then the connection ends: a reader
	// that waits does not see that the peer is gone.
	select {
	case c.refused <- struct{}{}:
	default:
		timer := time.NewTimer(notice)
		defer timer.Stop()
		select {
		case c.refused <- struct{}{}:
		case <-timer.C:
			c.log.Warn("acp: the other side does not read its refusals", "waited", notice)
			c.end(ErrClosed)
			return
		case <-c.ctx.Done():
			return
		}
	}
	c.works.Go(func() {
		defer func() { <-c.refused }()
		c.write(c.ctx, response{JSONRPC: "2.0", ID: id, Error: e})
	})
}

func (c *Conn) cancel(params json.RawMessage) {
	id := jsonx.Member(params, "requestId")
	c.mu.Lock()
	cancel := c.running[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(ErrCancelled)
	}
}

// deliver hands a response to the call that waits for it, and reports whether
// there is one.
func (c *Conn) deliver(f frame) bool {
	var id int64
	if jsonx.Unmarshal(f.id, &id) != nil {
		return false
	}
	c.mu.Lock()
	waiter := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if waiter == nil {
		c.log.Debug("acp: a response that nothing waits for", "id", id)
		return false
	}
	waiter <- f // has room for one
	return true
}

// Call sends a request and waits for its answer, which is decoded into result
// unless that is nil. An error of the other side is a *schema.Error. When ctx
// ends first, the request is withdrawn.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answer := make(chan frame, 1)
	c.mu.Lock()
	if len(c.pending) >= c.limits.Pending {
		c.mu.Unlock()
		return ErrBusy
	}
	c.lastID++
	id := c.lastID
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()
	if err := c.write(ctx, call{"2.0", &id, method, params}); err != nil {
		if ctx.Err() != nil && !errors.Is(err, ndjson.ErrNotBegun) {
			c.withdraw(id) // the line will be written whole
		}
		return err
	}
	select {
	case f := <-answer:
		if f.failure != nil {
			return f.failure
		}
		if result == nil {
			return nil
		}
		if err := jsonx.Unmarshal(f.result, result); err != nil {
			return fmt.Errorf("the answer to %s cannot be read: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.withdraw(id)
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return ErrClosed
	}
}

func (c *Conn) withdraw(id int64) {
	ctx, cancel := context.WithTimeout(c.ctx, notice)
	defer cancel()
	c.write(ctx, call{"2.0", nil, schema.MethodCancelRequest, map[string]int64{"requestId": id}})
}

// Notify sends a notification. It returns when it is written.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.write(ctx, call{"2.0", nil, method, params})
}

func (c *Conn) write(ctx context.Context, v any) error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	line, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	if ctx.Done() == nil {
		return c.writer.Write(c.ctx, line)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()
	return c.writer.Write(ctx, line)
}
