package claude

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// SessionMCP are the MCP servers of a session, see [Session.MCP].
type SessionMCP struct{ s *Session }

// Status returns the state of every MCP server of the session, and
// the tools of those that are connected.
func (m SessionMCP) Status(ctx context.Context) ([]control.MCPServerStatus, error) {
	var reply struct {
		Servers []control.MCPServerStatus `json:"mcpServers"`
	}
	err := m.s.operate(ctx, "mcp_status", nil, m.s.opts.Timeouts.Control, &reply)
	return reply.Servers, err
}

// Reconnect reconnects an MCP server, for example one that has
// failed. The CLI refuses this for in-process servers.
func (m SessionMCP) Reconnect(ctx context.Context, name string) error {
	payload := struct {
		Name string `json:"serverName"`
	}{name}
	return m.s.operate(ctx, "mcp_reconnect", payload, m.s.opts.Timeouts.MCP, nil)
}

// Toggle turns an MCP server on or off. Claude does not see the tools
// of a server that is off.
func (m SessionMCP) Toggle(ctx context.Context, name string, enabled bool) error {
	payload := struct {
		Name    string `json:"serverName"`
		Enabled bool   `json:"enabled"`
	}{name, enabled}
	return m.s.operate(ctx, "mcp_toggle", payload, m.s.opts.Timeouts.MCP, nil)
}

// Set replaces the in-process MCP servers and those set by an
// earlier call. External servers that the session was started with, from
// Options.MCPServers or settings files, stay; use Toggle for them.
// In-process servers that are no longer named are closed. The next turn sees
// the new tools.
//
// A server that cannot be reached is not an error; the result names it.
func (m SessionMCP) Set(ctx context.Context, servers MCPServers) (*control.MCPSetResult, error) {
	const op = "mcp_set_servers"
	if err := servers.check(); err != nil {
		return nil, m.s.unsent(ctx, op, err)
	}
	inside, outside, err := servers.split()
	if err != nil {
		return nil, m.s.unsent(ctx, op, &ControlError{Op: op, Err: err})
	}
	select {
	case m.s.mcp.setting <- struct{}{}:
		defer func() { <-m.s.mcp.setting }()
	case <-ctx.Done():
		return nil, m.s.unsent(ctx, op, &ControlError{Op: op, Err: context.Cause(ctx)})
	}
	for name := range inside {
		config, err := json.Marshal(map[string]string{"type": "sdk", "name": name})
		if err != nil {
			return nil, m.s.unsent(ctx, op, &ControlError{Op: op, Err: err})
		}
		outside[name] = config
	}
	// The CLI knows an in-process server by its name alone: it takes another one
	// under the same name for new only if the old one has gone first.
	before := new(control.MCPSetResult)
	if replaced := m.s.mcp.replaced(inside); len(replaced) > 0 {
		rest, others := maps.Clone(outside), maps.Clone(inside)
		for _, name := range replaced {
			delete(rest, name)
			delete(others, name)
		}
		m.s.mcp.add(others) // before the CLI asks for them
		if err := m.set(ctx, rest, before); err != nil {
			return nil, err
		}
	}
	m.s.mcp.add(inside)
	result := new(control.MCPSetResult)
	if err := m.set(ctx, outside, result); err != nil {
		return nil, err
	}
	m.s.mcp.keep(inside)
	result.Added = append(before.Added, result.Added...)
	result.Removed = append(before.Removed, result.Removed...)
	return result, nil
}

func (m SessionMCP) set(ctx context.Context, servers map[string]json.RawMessage, result *control.MCPSetResult) error {
	payload := struct {
		Servers map[string]json.RawMessage `json:"servers"`
	}{servers}
	return m.s.operate(ctx, "mcp_set_servers", payload, m.s.opts.Timeouts.MCP, result)
}

// Call calls a tool of an external MCP server without the model, by its
// full name mcp__server__tool. The arguments are encoded by the rules of
// encoding/json. The CLI refuses this for in-process servers.
func (m SessionMCP) Call(ctx context.Context, tool string, arguments any) (*control.MCPCallResult, error) {
	const op = "mcp_call"
	result := new(control.MCPCallResult)
	payload := struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitzero"`
	}{Tool: tool}
	if arguments != nil {
		var err error
		if payload.Arguments, err = jsonx.MarshalUser(arguments); err != nil {
			return result, m.s.unsent(ctx, op, &ControlError{Op: op, Err: err})
		}
	}
	return result, m.s.operate(ctx, op, payload, m.s.opts.Timeouts.MCP, result)
}

// ReadResource reads a "ui://…" resource of an external MCP server.
func (m SessionMCP) ReadResource(ctx context.Context, server, uri string) ([]control.MCPResource, error) {
	payload := struct {
		Server string `json:"serverName"`
		URI    string `json:"uri"`
	}{server, uri}
	var reply struct {
		Contents []control.MCPResource `json:"contents"`
	}
	err := m.s.operate(ctx, "mcp_read_resource", payload, m.s.opts.Timeouts.MCP, &reply)
	return reply.Contents, err
}

// SetPermissionMode gives the tools of one MCP server their own permission
// mode: permission.ModeDefault or permission.ModeAuto. An empty mode returns
// them to the session's mode.
func (m SessionMCP) SetPermissionMode(ctx context.Context, server string, mode permission.Mode) (warning string, err error) {
	payload := struct {
		Server string          `json:"serverName"`
		Mode   json.RawMessage `json:"mode"`
	}{server, json.RawMessage("null")}
	if mode != "" {
		payload.Mode, _ = json.Marshal(mode) // a string always encodes
	}
	var reply struct {
		Warning string `json:"warning"`
	}
	err = m.s.operate(ctx, "set_mcp_permission_mode_override", payload, m.s.opts.Timeouts.Control, &reply)
	return reply.Warning, err
}
