package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// JSON-RPC errors that the session itself answers with. They travel inside a
// success reply, because an error reply makes the CLI give up the whole server.
const (
	rpcInvalid   = -32600 // the message is not JSON-RPC
	rpcUnknown   = -32601 // no such server
	rpcInternal  = -32603 // the server failed
	rpcCancelled = -32800 // the CLI took the call back
)

// Bounds of the service. A push that the CLI has not acknowledged counts as an
// operation, so pushes must leave room for the user's own.
const (
	mcpCloseBound = 5 * time.Second
	mcpPushBound  = 16
)

var (
	errMCPCancelled = errors.New("the call was cancelled")
	errMCPInFlight  = errors.New("a request with this id is already in flight")
	errMCPAmbiguous = errors.New("the message is not JSON, or repeats a name")
	errMCPSilent    = errors.New("the server returned no response")
	errMCPGarbage   = errors.New("the server returned a response that is not JSON")
	errMCPGone      = errors.New("the MCP server was removed from the session")
)

// mcpHub serves the MCP servers of this process to one session.
type mcpHub struct {
	session *Session
	ctx     context.Context // parent of all servers' contexts
	cancel  context.CancelCauseFunc
	pushes  chan struct{} // a slot for each unacknowledged push
	setting chan struct{} // one slot: SessionMCP.Set runs alone

	mu         sync.Mutex
	servers    map[string]*mcpServer
	waiting    map[wire.ID]*mcpMessage // accepted, not yet served
	calls      map[mcpCall]*mcpMessage // not yet answered
	handshakes uint64                  // with any server
	closed     bool
}

// mcpServer is a server and its connection.
type mcpServer struct {
	name    string
	handler MCPHandler
	ctx     context.Context // of the connection and all calls: ended before Close
	cancel  context.CancelCauseFunc

	opening chan struct{} // one slot: one caller opens the connection

	// Under the hub's lock:
	conn      MCPConn
	handshake uint64                   // the last one
	serving   map[*mcpMessage]struct{} // messages that its connection serves, or may get
	gone      bool                     // removed from the session
}

// mcpCall names a JSON-RPC request. Ids are unique only within a handshake with
// a server: the CLI counts from 0 again after each one, while earlier calls may
// still run.
type mcpCall struct {
	server    string
	handshake uint64
	id        string
}

// mcpMessage is one JSON-RPC message of the CLI.
type mcpMessage struct {
	callback callback // how the session runs it
	hub      *mcpHub
	server   string
	to       *mcpServer // nil: no server has this name
	raw      json.RawMessage
	id       json.RawMessage // nil: not a request
	method   string
	key      mcpCall // of a request

	double bool // the id is in flight already

	// Under the hub's lock:
	request   *peer.Incoming // nil until it is served
	takenBack bool           // the CLI awaits no answer
}

func newMCPHub(ctx context.Context, s *Session, handlers map[string]MCPHandler) *mcpHub {
	h := &mcpHub{
		session: s,
		pushes:  make(chan struct{}, mcpPushBound),
		setting: make(chan struct{}, 1),
		servers: make(map[string]*mcpServer),
		waiting: make(map[wire.ID]*mcpMessage),
		calls:   make(map[mcpCall]*mcpMessage),
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	for name, handler := range handlers {
		h.servers[name] = h.newServer(name, handler)
	}
	return h
}

// newServer returns a server that is not connected. The caller holds the hub's
// lock, or has not shared the hub yet.
func (h *mcpHub) newServer(name string, handler MCPHandler) *mcpServer {
	h.handshakes++ // calls of another server of this name are not this one's
	server := &mcpServer{
		name: name, handler: handler, handshake: h.handshakes,
		opening: make(chan struct{}, 1), serving: make(map[*mcpMessage]struct{}),
	}
	server.ctx, server.cancel = context.WithCancelCause(h.ctx)
	return server
}

// accept sees each message on the reader, in the order of arrival: only there
// is a call certain to be known before the notice that cancels it.
func (h *mcpHub) accept(req wire.Request) {
	raw := jsonx.Member(req.Body, "message")
	m := &mcpMessage{hub: h, server: jsonx.Text(jsonx.Member(req.Body, "server_name")), raw: raw}
	if len(raw) > 0 && raw[0] == '{' {
		m.method = jsonx.Text(jsonx.Member(raw, "method"))
		if id := jsonx.Member(raw, "id"); jsonx.ID(id) && m.method != "" {
			m.id = json.RawMessage(id)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting[req.ID] = m
	m.to = h.servers[m.server]
	m.key = mcpCall{server: m.server, id: string(m.id)}
	if m.to != nil {
		if m.id != nil && m.method == "initialize" {
			h.handshakes++
			m.to.handshake = h.handshakes
		}
		m.key.handshake = m.to.handshake
	}
	switch {
	case m.id != nil:
		if m.double = h.calls[m.key].pending(); !m.double {
			h.calls[m.key] = m
		}
	case m.method == "notifications/cancelled":
		m.key.id = string(jsonx.Member(jsonx.Member(raw, "params"), "requestId"))
		if call := h.calls[m.key]; call != nil {
			delete(h.calls, m.key) // its answer follows at once
			call.takenBack = true
			call.withdraw()
		}
	}
}

// pending reports whether a call has neither been answered nor withdrawn. Its
// handler may run for longer. The caller holds the hub's lock.
func (m *mcpMessage) pending() bool { return m != nil && (m.request == nil || m.request.Pending()) }

// withdraw ends a call that the CLI took back and answers it at once, whatever
// its server does. A call that is not served yet is withdrawn as soon as it is.
// The caller holds the hub's lock.
func (m *mcpMessage) withdraw() {
	if m.request == nil {
		return
	}
	m.request.CancelContext(errMCPCancelled)
	go m.request.Reply(m.cancelled()) // the write may take its time
}

// callback returns the callback that serves an accepted message.
func (h *mcpHub) callback(in *peer.Incoming) *callback {
	h.mu.Lock()
	m := h.waiting[in.ID]
	delete(h.waiting, in.ID)
	if m != nil {
		m.request = in
	}
	h.mu.Unlock()
	if m == nil {
		return nil
	}
	m.callback = callback{call: m, name: m.server, toolUse: h.toolUse(m)}
	if m.method != "" {
		m.callback.name += " " + m.method
	}
	return &m.callback
}

// toolUse returns the id of the tool call that a message belongs to, if the
// session is traced.
func (h *mcpHub) toolUse(m *mcpMessage) string {
	if h.session.trace == nil || m.method != "tools/call" {
		return ""
	}
	meta := jsonx.Member(jsonx.Member(m.raw, "params"), "_meta")
	return jsonx.Text(jsonx.Member(meta, "claudecode/toolUseId"))
}

// cancelled answers a call that the CLI took back.
func (m *mcpMessage) cancelled() json.RawMessage {
	return m.respond(rpcError(m.id, rpcCancelled, errMCPCancelled.Error()))
}

// run hands a message to its server. A cancelled call is answered at once, and
// a later response of its server is dropped.
func (m *mcpMessage) run(ctx context.Context) (json.RawMessage, error) {
	h := m.hub
	defer h.done(m)
	if m.double {
		return nil, errMCPInFlight
	}
	if m.raw == nil || m.raw[0] != '{' {
		return m.respond(rpcError(json.RawMessage("null"), rpcInvalid, "not a JSON-RPC message")), nil
	}
	if err := m.ambiguous(); err != nil {
		return m.respond(rpcError(m.id, rpcInvalid, err.Error())), nil
	}
	server := m.to
	if server == nil {
		return m.respond(rpcError(m.id, rpcUnknown, fmt.Sprintf("MCP server not found: %s", m.server))), nil
	}
	h.serve(m)
	conn, err := h.connection(ctx, server)
	if err != nil {
		return nil, err
	}
	response, err := conn.Handle(ctx, m.raw)
	switch {
	case m.id == nil:
		return m.respond(nil), err
	case h.withdrawn(m):
		return m.cancelled(), nil // the server may be faster than the answer of withdraw
	}
	if err == nil || len(response) > 0 {
		if err != nil {
			h.session.log.Error("MCP server reports a fault", "server", m.server, "method", m.method, "error", err)
		}
		return m.checked(response)
	}
	return nil, err
}

// Members that decide the kind of a message and its destination.
var (
	mcpNames = []string{"subtype", "server_name", "message"}
	rpcNames = []string{"jsonrpc", "id", "method", "params"}
)

// ambiguous explains why a message must not be served: the server might read it
// differently than we did.
func (m *mcpMessage) ambiguous() error {
	if !jsonx.Valid(m.request.Body) {
		return errMCPAmbiguous
	}
	if err := jsonx.CheckNames(mcpNames).Check(m.request.Body); err != nil {
		return err
	}
	return jsonx.CheckNames(rpcNames).Check(m.raw)
}

// serve ties a message to the life of its server: the call's context ends
// before the connection is closed.
func (h *mcpHub) serve(m *mcpMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.to.serving[m] = struct{}{}
	if m.takenBack {
		m.withdraw()
	}
	if h.closed || m.to.gone {
		m.request.CancelContext(context.Cause(m.to.ctx))
	}
}

// withdrawn reports whether the CLI took a call back.
func (h *mcpHub) withdrawn(m *mcpMessage) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return m.takenBack
}

// done forgets a message.
func (h *mcpHub) done(m *mcpMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.to != nil {
		delete(m.to.serving, m)
	}
	if h.calls[m.key] == m {
		delete(h.calls, m.key)
	}
}

// checked refuses a response that would kill the CLI, which dies of a line that
// is not JSON.
func (m *mcpMessage) checked(response json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(response) == 0:
		return nil, errMCPSilent
	case !jsonx.Valid(response):
		return nil, errMCPGarbage
	}
	return m.respond(response), nil
}

// respond wraps a JSON-RPC response for the reply. A notification has no
// response, but CLIs read an acknowledgement in its place.
func (m *mcpMessage) respond(response json.RawMessage) json.RawMessage {
	if m.id == nil && (len(m.raw) > 0 && m.raw[0] == '{') || response == nil {
		response = json.RawMessage(`{"jsonrpc":"2.0","result":{}}`)
	}
	reply := make([]byte, 0, len(response)+20)
	reply = append(reply, `{"mcp_response":`...)
	reply = append(reply, response...)
	return append(reply, '}')
}

// fail answers for a server that gave no response.
func (m *mcpMessage) fail(err error) json.RawMessage {
	m.hub.done(m)
	return m.respond(rpcError(m.id, rpcInternal, err.Error()))
}

func rpcError(id json.RawMessage, code int, text string) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	message, err := jsonx.Marshal(text)
	if err != nil {
		message = []byte(`"error"`)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, message)
}

// connection returns the connection to a server, and opens it first if
// necessary.
func (h *mcpHub) connection(ctx context.Context, server *mcpServer) (MCPConn, error) {
	h.mu.Lock()
	conn := server.conn
	h.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	select {
	case server.opening <- struct{}{}:
		defer func() { <-server.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h.mu.Lock()
	conn = server.conn
	h.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	if server.ctx.Err() != nil { // it was taken out, or the session is over
		return nil, context.Cause(server.ctx)
	}
	conn, err := server.handler.OpenMCP(server.ctx, server.name, h.pusher(server))
	if err == nil && conn == nil {
		err = errors.New("OpenMCP returned no connection")
	}
	if err != nil {
		return nil, fmt.Errorf("the MCP server could not be opened: %w", err)
	}
	h.mu.Lock()
	over := h.closed || server.gone
	if !over {
		server.conn = conn
	}
	h.mu.Unlock()
	if over {
		h.closeAll([]*mcpServer{{name: server.name, conn: conn}})
		return nil, context.Cause(server.ctx)
	}
	return conn, nil
}

// retire ends the contexts of a server that was removed from the session. The
// caller holds the hub's lock, so that no connection is opened after it.
func (s *mcpServer) retire() {
	s.gone = true
	s.end(errMCPGone)
}

// end ends the contexts of a server's connection and of everything it serves.
// The caller holds the hub's lock.
func (s *mcpServer) end(cause error) {
	s.cancel(cause)
	for m := range s.serving {
		m.request.CancelContext(cause)
	}
}

// pusher returns the function by which a server sends messages of its own
// accord. It returns once the message is written, so that messages arrive in
// the order in which they were pushed; the acknowledgement is awaited in the
// background.
func (h *mcpHub) pusher(server *mcpServer) func(context.Context, json.RawMessage) error {
	return func(ctx context.Context, message json.RawMessage) error {
		if !jsonx.Valid(message) {
			return errors.New("claude: push: not JSON")
		}
		select {
		case h.pushes <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("claude: push: %w", context.Cause(ctx))
		case <-server.ctx.Done():
			return fmt.Errorf("claude: push: %w", context.Cause(server.ctx))
		}
		// The caller's context bounds the write, not the acknowledgement.
		calling, abandon := context.WithCancelCause(server.ctx)
		keep := context.AfterFunc(ctx, func() { abandon(context.Cause(ctx)) })
		written, failed := make(chan struct{}), make(chan error, 1)
		call := peer.Call{
			Subtype: "mcp_message",
			Payload: struct {
				Server  string          `json:"server_name"`
				Message json.RawMessage `json:"message"`
			}{server.name, message},
			Timeout:   max(h.session.opts.Timeouts.Control, 0),
			OnWritten: func() { keep(); close(written) },
		}
		go func() {
			defer func() { <-h.pushes }()
			defer abandon(nil)
			defer keep()
			_, err := h.session.peer.Call(calling, call)
			failed <- err
		}()
		select {
		case <-written:
			return nil
		case err := <-failed:
			if err != nil {
				return fmt.Errorf("claude: push: %w", err)
			}
			return nil
		}
	}
}

// close ends every connection, in bounded time.
func (h *mcpHub) close(cause error) {
	h.cancel(cause)
	h.mu.Lock()
	h.closed = true
	servers := make([]*mcpServer, 0, len(h.servers))
	for _, server := range h.servers {
		server.end(cause)
		servers = append(servers, server)
	}
	h.mu.Unlock()
	h.closeAll(servers)
}

// closeAll closes connections concurrently. One that takes too long is left
// behind.
func (h *mcpHub) closeAll(servers []*mcpServer) {
	var wg sync.WaitGroup
	for _, server := range servers {
		h.mu.Lock()
		conn := server.conn
		server.conn = nil
		h.mu.Unlock()
		if conn != nil {
			wg.Go(func() { h.closeOne(server.name, conn) })
		}
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	if !waited(done, mcpCloseBound) {
		h.session.log.Warn("an MCP server does not close")
	}
}

func (h *mcpHub) closeOne(name string, conn MCPConn) {
	defer func() {
		if v := recover(); v != nil {
			h.session.log.Error("panic in a callback", "subtype", "mcp_message", "name", name, "panic", v)
		}
	}()
	if err := conn.Close(); err != nil {
		h.session.log.Warn("closing an MCP server", "server", name, "error", err)
	}
}

// sameHandler reports whether two handlers are the same.
func sameHandler(a, b MCPHandler) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// replaced names the servers that get another handler.
func (h *mcpHub) replaced(handlers map[string]MCPHandler) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, handler := range handlers {
		if old := h.servers[name]; old != nil && !sameHandler(old.handler, handler) {
			names = append(names, name)
		}
	}
	return names
}

// add registers handlers and closes those they replace.
func (h *mcpHub) add(handlers map[string]MCPHandler) {
	var old []*mcpServer
	h.mu.Lock()
	for name, handler := range handlers {
		known := h.servers[name]
		if known != nil && sameHandler(known.handler, handler) {
			continue
		}
		if known != nil {
			known.retire()
			old = append(old, known)
		}
		h.servers[name] = h.newServer(name, handler)
	}
	h.mu.Unlock()
	h.closeAll(old)
}

// keep closes every server that is not among the handlers.
func (h *mcpHub) keep(handlers map[string]MCPHandler) {
	var old []*mcpServer
	h.mu.Lock()
	for name, server := range h.servers {
		if _, kept := handlers[name]; !kept {
			server.retire()
			old = append(old, server)
			delete(h.servers, name)
		}
	}
	h.mu.Unlock()
	h.closeAll(old)
}
