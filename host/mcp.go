package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/message"
)

// mcpTimeout bounds the handshake with a server in the client. The CLI gives
// up after about a minute.
const mcpTimeout = 60 * time.Second

// mcpProtocol is the version of MCP that the host speaks.
const mcpProtocol = "2025-11-25"

// servers are the MCP servers that live in the client.
type servers struct {
	s *session

	mu    sync.Mutex
	named map[string]*server
	order []string
}

// server is one of them.
type server struct {
	name  string
	ready chan struct{} // closed when the handshake has ended

	mu    sync.Mutex
	next  int
	state control.MCPState
	err   string
	info  control.MCPServerInfo
	tools []mcpTool
}

type mcpTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Annotations struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	} `json:"annotations"`
}

func newServers(s *session) *servers { return &servers{s: s, named: make(map[string]*server)} }

// set makes the servers those with these names, and starts handshakes with the
// new ones.
func (v *servers) set(names []string) (added, removed []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range v.order {
		if !slices.Contains(names, name) {
			removed = append(removed, name)
			delete(v.named, name)
		}
	}
	for _, name := range names {
		if v.named[name] == nil {
			added = append(added, name)
			sv := &server{name: name, ready: make(chan struct{}), state: control.MCPPending}
			v.named[name] = sv
			go sv.connect(v.s)
		}
	}
	v.order = slices.Clone(names)
	return added, removed
}

// add is set for more servers.
func (v *servers) add(names []string) {
	v.mu.Lock()
	all := slices.Clone(v.order)
	v.mu.Unlock()
	for _, n := range names {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	v.set(all)
}

func (v *servers) find(name string) *server {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.named[name]
}

func (v *servers) all() []*server {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []*server
	for _, name := range v.order {
		list = append(list, v.named[name])
	}
	return list
}

// ready waits for the handshakes, as the CLI does before a turn.
func (v *servers) ready(ctx context.Context) {
	for _, sv := range v.all() {
		select {
		case <-sv.ready:
		case <-ctx.Done():
			return
		}
	}
}

// listed are the servers as init names them.
func (v *servers) listed() []message.InitMCPServer {
	var list []message.InitMCPServer
	for _, sv := range v.all() {
		sv.mu.Lock()
		list = append(list, message.InitMCPServer{Name: sv.name, Status: sv.state, Source: "sdk"})
		sv.mu.Unlock()
	}
	return list
}

// tools are the names by which an agent calls the servers' tools.
func (v *servers) tools() []string {
	var names []string
	for _, sv := range v.all() {
		sv.mu.Lock()
		for _, t := range sv.tools {
			names = append(names, "mcp__"+sv.name+"__"+t.Name)
		}
		sv.mu.Unlock()
	}
	return names
}

// status is the answer to mcp_status.
func (v *servers) status() []control.MCPServerStatus {
	list := []control.MCPServerStatus{}
	for _, sv := range v.all() {
		sv.mu.Lock()
		st := control.MCPServerStatus{Name: sv.name, Status: sv.state, Error: sv.err, Scope: "dynamic", Source: "sdk"}
		if sv.state == control.MCPConnected {
			st.ServerInfo = new(sv.info)
			for _, t := range sv.tools {
				st.Tools = append(st.Tools, control.MCPTool{
					Name: t.Name, Description: t.Description,
					Annotations: control.MCPToolAnnotations{ReadOnly: t.Annotations.ReadOnlyHint},
				})
			}
		}
		sv.mu.Unlock()
		list = append(list, st)
	}
	return list
}

// connect is the handshake.
func (sv *server) connect(s *session) {
	defer close(sv.ready)
	ctx, cancel := context.WithTimeoutCause(s.ctx, mcpTimeout, errors.New("no answer in time"))
	defer cancel()
	err := sv.greet(ctx, s)
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.state = control.MCPConnected
	if err != nil {
		sv.state, sv.err = control.MCPFailed, err.Error()
		s.log.Warn("MCP server of the client failed", "server", sv.name, "error", err)
	}
}

func (sv *server) greet(ctx context.Context, s *session) error {
	hello, err := sv.request(ctx, s, "initialize", map[string]any{
		"protocolVersion": mcpProtocol, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "claude-agent-go", "version": defaultVersion},
	})
	if err != nil {
		return err
	}
	var about struct {
		ServerInfo control.MCPServerInfo `json:"serverInfo"`
	}
	_ = jsonx.Unmarshal(hello, &about) // a server may have no name
	sv.mu.Lock()
	sv.info = about.ServerInfo
	sv.mu.Unlock()
	if err := sv.notify(ctx, s, "notifications/initialized", nil); err != nil {
		return err
	}
	return sv.list(ctx, s)
}

// list reads the server's tools.
func (sv *server) list(ctx context.Context, s *session) error {
	reply, err := sv.request(ctx, s, "tools/list", nil)
	if err != nil {
		return err
	}
	var found struct {
		Tools []mcpTool `json:"tools"`
	}
	if err := jsonx.Unmarshal(reply, &found); err != nil && !jsonx.Mismatch(err) {
		return err
	}
	sv.mu.Lock()
	sv.tools = found.Tools
	sv.mu.Unlock()
	return nil
}

// rpc is a JSON-RPC message. The id is a pointer because the first one is 0.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id,omitzero"`
	Method  string          `json:"method,omitzero"`
	Params  any             `json:"params,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
	Error   *rpcError       `json:"error,omitzero"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// request sends a JSON-RPC request inside a control request. When the context
// ends, the server gets a notification; as in the CLI, the control request itself
// is not withdrawn.
func (sv *server) request(ctx context.Context, s *session, method string, params any) (json.RawMessage, error) {
	return sv.requestWith(ctx, s, method, func(int) any { return params })
}

// requestWith is request for parameters that hold the id.
func (sv *server) requestWith(ctx context.Context, s *session, method string, params func(id int) any) (json.RawMessage, error) {
	sv.mu.Lock()
	id := sv.next
	sv.next++
	sv.mu.Unlock()
	type answer struct {
		payload json.RawMessage
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		payload, err := sv.send(s.ctx, s, rpc{Version: "2.0", ID: &id, Method: method, Params: params(id)})
		answers <- answer{payload, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, a.err
		}
		return unwrap(a.payload)
	case <-ctx.Done():
		go func() {
			_ = sv.notify(s.ctx, s, "notifications/cancelled", map[string]any{"requestId": id, "reason": "interrupted"})
		}()
		return nil, context.Cause(ctx)
	}
}

func (sv *server) notify(ctx context.Context, s *session, method string, params any) error {
	_, err := sv.send(ctx, s, rpc{Version: "2.0", Method: method, Params: params})
	return err
}

func (sv *server) send(ctx context.Context, s *session, m rpc) (json.RawMessage, error) {
	payload, err := s.call(ctx, peer.Call{Subtype: "mcp_message", Payload: struct {
		Server  string `json:"server_name"`
		Message rpc    `json:"message"`
	}{sv.name, m}})
	if refused, ok := errors.AsType[*peer.RefusedError](err); ok {
		return nil, refused.Reply
	}
	return payload, err
}

// unwrap takes the result out of a reply. A reply without the JSON-RPC
// envelope makes the CLI wait for ever; here it is an error.
func unwrap(payload json.RawMessage) (json.RawMessage, error) {
	var reply struct {
		Response rpc `json:"mcp_response"`
	}
	if err := jsonx.Unmarshal(payload, &reply); err != nil && !jsonx.Mismatch(err) {
		return nil, fmt.Errorf("MCP reply: %w", err)
	}
	switch r := reply.Response; {
	case r.Error != nil:
		return nil, fmt.Errorf("MCP error %d: %s", r.Error.Code, r.Error.Message)
	case r.Result == nil:
		return nil, errors.New("MCP reply without a result")
	default:
		return r.Result, nil
	}
}

// readOnly reports whether a server declares one of its tools read-only. The CLI
// runs such tools concurrently, but asks about them anyway.
func (v *servers) readOnly(full string) bool {
	name, tool, _ := splitMCP(full)
	sv := v.find(name)
	if sv == nil {
		return false
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	for _, t := range sv.tools {
		if t.Name == tool {
			return t.Annotations.ReadOnlyHint
		}
	}
	return false
}

// runner runs a tool on the server that its name contains.
func (v *servers) runner(c *Call) RunFunc {
	name, tool, _ := splitMCP(c.Name)
	sv := v.find(name)
	if sv == nil {
		return func(context.Context, json.RawMessage) (ToolOutput, error) {
			return ToolOutput{}, fmt.Errorf("no such tool: %s", c.Name)
		}
	}
	return func(ctx context.Context, input json.RawMessage) (ToolOutput, error) {
		meta := map[string]any{"claudecode/toolUseId": c.ID}
		result, err := sv.requestWith(ctx, v.s, "tools/call", func(id int) any {
			meta["progressToken"] = id
			return map[string]any{"name": tool, "arguments": input, "_meta": meta}
		})
		if err != nil {
			return ToolOutput{}, err
		}
		return toolOutput(result)
	}
}

// toolOutput reads the result of tools/call.
func toolOutput(result json.RawMessage) (ToolOutput, error) {
	var r struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := jsonx.Unmarshal(result, &r); err != nil {
		return ToolOutput{}, fmt.Errorf("MCP tool result: %w", err)
	}
	out := ToolOutput{IsError: r.IsError}
	if !r.IsError {
		out.Result = r.Content
	}
	if len(r.Content) > 0 {
		if err := jsonx.Unmarshal(r.Content, &out.Content); err != nil && !jsonx.Mismatch(err) {
			return ToolOutput{}, fmt.Errorf("MCP tool result: %w", err)
		}
	}
	// The CLI makes one text of a failure, as of those of its own tools.
	out.Plain = r.IsError
	if len(out.Content) == 0 && len(r.Structured) > 0 {
		out.Content, out.Result = message.Content{message.Text(string(r.Structured))}, r.Structured
	}
	return out, nil
}

// receive serves a message of a server in the client. The CLI acknowledges
// whatever comes; requests are answered by a message of their own.
func (v *servers) receive(request []byte) {
	var m struct {
		Server  string `json:"server_name"`
		Message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		} `json:"message"`
	}
	_ = jsonx.Unmarshal(request, &m) // what cannot be read is acknowledged too
	sv := v.find(m.Server)
	switch {
	case sv == nil || m.Message.Method == "":
	case m.Message.Method == "notifications/tools/list_changed":
		go func() { _ = sv.list(v.s.ctx, v.s) }()
	case len(m.Message.ID) > 0:
		go sv.respond(v.s, m.Message.ID, m.Message.Method)
	}
}

// respond answers a request of the server: only ping is served.
func (sv *server) respond(s *session, id json.RawMessage, method string) {
	reply := map[string]any{"jsonrpc": "2.0", "id": id}
	if method == "ping" {
		reply["result"] = map[string]any{}
	} else {
		reply["error"] = rpcError{-32601, "Method not found"}
	}
	_, _ = s.call(s.ctx, peer.Call{Subtype: "mcp_message", Payload: map[string]any{"server_name": sv.name, "message": reply}})
}

// setServers is mcp_set_servers: of the servers it names only those in the
// client can be had.
func (v *servers) setServers(request []byte) *control.MCPSetResult {
	var m struct {
		Servers map[string]struct {
			Type string `json:"type"`
		} `json:"servers"`
	}
	_ = jsonx.Unmarshal(request, &m)
	res := &control.MCPSetResult{Added: []string{}, Removed: []string{}, Errors: map[string]string{}}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		if m.Servers[name].Type == "sdk" {
			names = append(names, name)
		} else {
			res.Errors[name] = "only servers in the client are supported"
		}
	}
	added, removed := v.set(names)
	res.Added, res.Removed = append(res.Added, added...), append(res.Removed, removed...)
	return res
}
