package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const methodInitialize = "initialize"

var (
	errGone = errors.New("the MCP server has closed the connection")
	errID   = errors.New("the id is neither a string nor a whole number")

	errInFlight = errors.New("a request with this id is already in flight")
)

// conn is the connection of one session with a server. The CLI may repeat the
// handshake at any time, which a session of the MCP SDK refuses: conn then
// opens a new session, and the old one ends with its calls.
type conn struct {
	server *mcp.Server
	push   func(context.Context, json.RawMessage) error
	ctx    context.Context // of the handlers
	find   func(name string) *Tool
	calls  sync.WaitGroup // served directly

	mu     sync.Mutex
	tunnel *tunnel
	all    map[*tunnel]bool // not over yet
	closed bool
	faults []error // for the log
}

type connKey struct{}

// report keeps an error that would otherwise be lost, for the log. It is never
// part of an answer: a stack trace is not for a model.
func report(ctx context.Context, err error) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.report(err)
	}
}

func (c *conn) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, err)
}

// Handle passes a message on to the server and returns its response.
func (c *conn) Handle(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	if response, ok := c.direct(ctx, message); ok {
		return response, c.reported()
	}
	msg, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return nil, fmt.Errorf("not a JSON-RPC message: %w", err)
	}
	req, _ := msg.(*jsonrpc.Request)
	if req != nil && !keepsID(req, message) {
		return nil, errID
	}
	if req != nil && req.IsCall() && req.Method == "tools/call" {
		// The gate that allowed the call may have read it differently from its
		// tool.
		if err := jsonx.Unambiguous(message); err != nil {
			return respond(jsonx.Member(message, "id"), failed(fmt.Errorf("invalid arguments: %w", err))), nil
		}
	}
	t, err := c.pick(req != nil && req.Method == methodInitialize)
	if err != nil {
		return nil, err
	}
	if req != nil && req.Method == "notifications/cancelled" {
		c.cancelled(message)
	}
	if req == nil || !req.IsCall() {
		return nil, t.deliver(ctx, msg)
	}
	answer, err := t.call(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.Method == methodInitialize && answer.Error == nil {
		c.shaken(t)
	}
	response, err := jsonrpc.EncodeMessage(answer)
	if err != nil {
		return nil, err
	}
	return response, c.reported() // beside a response it is only logged
}

// keepsID reports whether the MCP SDK has read the id of a request unchanged.
// It turns 1.5 into 1, and the answer would go to another call.
func keepsID(req *jsonrpc.Request, message json.RawMessage) bool {
	n, isNumber := req.ID.Raw().(int64)
	return !isNumber || string(jsonx.Member(message, "id")) == strconv.FormatInt(n, 10)
}

// shaken records that the CLI has completed the handshake with a session.
func (c *conn) shaken(t *tunnel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.ready = true
}

// reported returns the errors reported since the last time.
func (c *conn) reported() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	faults := c.faults
	c.faults = nil
	return errors.Join(faults...)
}

// pick returns the session for a message.
func (c *conn) pick(initialize bool) (*tunnel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errGone
	}
	t := c.tunnel
	if t != nil && !t.over() && !(initialize && t.initialized) {
		t.initialized = t.initialized || initialize
		return t, nil
	}
	if t != nil && !initialize {
		return nil, errGone // until the next handshake
	}
	next := newTunnel(c.push)
	next.initialized = initialize
	session, err := c.server.Connect(c.ctx, next, nil)
	if err != nil {
		return nil, err
	}
	next.session = session
	if c.all == nil {
		c.all = make(map[*tunnel]bool)
	}
	if t != nil {
		t.retire()
	}
	c.tunnel, c.all[next] = next, true
	go func() {
		_ = session.Wait()
		next.end()
		c.mu.Lock()
		delete(c.all, next)
		c.mu.Unlock()
	}()
	return next, nil
}

// Close ends the sessions with the server: their calls are cancelled and
// awaited. Its error, which is logged, holds the errors that no response could
// carry.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	var open []*tunnel
	for t := range c.all {
		open = append(open, t)
	}
	c.mu.Unlock()
	for _, t := range open {
		t.end()
	}
	c.calls.Wait()
	for _, t := range open {
		if err := t.session.Wait(); err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(err, c.reported())
		}
	}
	return c.reported()
}
