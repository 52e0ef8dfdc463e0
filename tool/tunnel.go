package tool

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tunnel is a transport of the MCP SDK; its other end is Handle and push.
type tunnel struct {
	push        func(context.Context, json.RawMessage) error
	session     *mcp.ServerSession
	initialized bool // under the lock of the conn
	ready       bool // the same: and that was answered

	in   chan jsonrpc.Message
	done chan struct{}
	once sync.Once

	mu      sync.Mutex
	waiting map[any]chan *jsonrpc.Response
	direct  map[string]context.CancelFunc // calls that are served directly, by their id
	retired bool
}

func newTunnel(push func(context.Context, json.RawMessage) error) *tunnel {
	return &tunnel{
		push:    push,
		in:      make(chan jsonrpc.Message),
		done:    make(chan struct{}),
		waiting: make(map[any]chan *jsonrpc.Response),
		direct:  make(map[string]context.CancelFunc),
	}
}

// deliver gives the server a message. It returns when the server has it; the
// server finishes a notification before it takes the next message.
func (t *tunnel) deliver(ctx context.Context, msg jsonrpc.Message) error {
	select {
	case t.in <- msg:
		return nil
	case <-t.done:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call gives the server a request and waits for its response, even after ctx
// has ended: the server is told, and the call is not over until it answers.
func (t *tunnel) call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	id := req.ID.Raw()
	reply := make(chan *jsonrpc.Response, 1)
	t.mu.Lock()
	double := t.waiting[id] != nil
	if !double {
		t.waiting[id] = reply
	}
	t.mu.Unlock()
	if double {
		return nil, errInFlight
	}
	defer t.forget(id)
	if err := t.deliver(ctx, req); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { t.cancel(id) })()
	select {
	case response := <-reply:
		return response, nil
	case <-t.done:
		return nil, errGone
	}
}

// enter registers a call that is served directly. It reports false if the
// session is over or ending, or already has a call of this id.
func (t *tunnel) enter(id string, cancel context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retired || t.over() || t.direct[id] != nil {
		return false
	}
	t.direct[id] = cancel
	return true
}

// leave ends such a call.
func (t *tunnel) leave(id string) {
	t.mu.Lock()
	delete(t.direct, id)
	last := t.retired && t.idle()
	t.mu.Unlock()
	if last {
		t.end()
	}
}

// cancelDirect cancels a call that is served directly.
func (t *tunnel) cancelDirect(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.direct[id]; cancel != nil {
		cancel()
	}
}

// idle reports whether no call runs. The caller holds the tunnel's lock.
func (t *tunnel) idle() bool { return len(t.waiting)+len(t.direct) == 0 }

// cancel cancels a request.
func (t *tunnel) cancel(id any) {
	params, err := json.Marshal(map[string]any{"requestId": id})
	if err == nil {
		_ = t.deliver(context.Background(), &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
	}
}

func (t *tunnel) forget(id any) {
	t.mu.Lock()
	delete(t.waiting, id)
	last := t.retired && t.idle()
	t.mu.Unlock()
	if last {
		t.end()
	}
}

// retire ends the session once its calls have ended.
func (t *tunnel) retire() {
	t.mu.Lock()
	t.retired = true
	last := t.idle()
	t.mu.Unlock()
	if last {
		t.end()
	}
}

// end ends the session: its handlers' contexts end.
func (t *tunnel) end() {
	t.once.Do(func() {
		close(t.done)
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, cancel := range t.direct {
			cancel()
		}
	})
}

func (t *tunnel) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Connect makes the tunnel a transport of the MCP SDK.
func (t *tunnel) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// Read gives the MCP SDK the CLI's next message.
func (t *tunnel) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-t.in:
		return msg, nil
	case <-t.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write takes the MCP SDK's messages for the CLI: responses go to waiting
// callers, and everything else is pushed to the CLI.
func (t *tunnel) Write(ctx context.Context, msg jsonrpc.Message) error {
	if response, ok := msg.(*jsonrpc.Response); ok {
		t.mu.Lock()
		reply := t.waiting[response.ID.Raw()]
		t.mu.Unlock()
		if reply != nil {
			select {
			case reply <- response:
			default: // answered already
			}
		}
		return nil
	}
	if t.over() {
		return io.ErrClosedPipe
	}
	raw, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return t.push(ctx, raw)
}

// Close is called by the MCP SDK when its session is over.
func (t *tunnel) Close() error {
	t.end()
	return nil
}

// SessionID returns "": there is one session for each connection.
func (t *tunnel) SessionID() string { return "" }
