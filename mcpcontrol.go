package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/scratch"
)

// MCPServerStatus returns the state of every MCP server of the session, and the
// tools of those that are connected.
func (s *Session) MCPServerStatus(ctx context.Context) ([]control.MCPServerStatus, error) {
	var reply struct {
		Servers []control.MCPServerStatus `json:"mcpServers"`
	}
	err := s.operate(ctx, "mcp_status", nil, s.opts.Timeouts.Control, &reply)
	return reply.Servers, err
}

// ReconnectMCPServer connects an MCP server anew, for example one that has failed.
// The CLI refuses it for servers of this process.
func (s *Session) ReconnectMCPServer(ctx context.Context, name string) error {
	payload := struct {
		Name string `json:"serverName"`
	}{name}
	return s.operate(ctx, "mcp_reconnect", payload, s.opts.Timeouts.MCP, nil)
}

// ToggleMCPServer switches an MCP server on or off. Claude does not see the tools of
// one that is off.
func (s *Session) ToggleMCPServer(ctx context.Context, name string, enabled bool) error {
	payload := struct {
		Name    string `json:"serverName"`
		Enabled bool   `json:"enabled"`
	}{name, enabled}
	return s.operate(ctx, "mcp_toggle", payload, s.opts.Timeouts.MCP, nil)
}

// SetMCPServers replaces the MCP servers of this process and those that an
// earlier call has set. External servers that the session was started with, by
// Options.MCPServers or by settings files, stay: use ToggleMCPServer for them.
// Servers of this process that are no longer named are closed. The next turn
// sees the new tools.
//
// A server that cannot be reached is no error: it is named in the result.
func (s *Session) SetMCPServers(ctx context.Context, servers MCPServers) (*control.MCPSetResult, error) {
	const op = "mcp_set_servers"
	if err := servers.check(); err != nil {
		return nil, s.unsent(ctx, op, err)
	}
	inside, outside, err := servers.split()
	if err != nil {
		return nil, s.unsent(ctx, op, &ControlError{Op: op, Err: err})
	}
	select {
	case s.mcp.setting <- struct{}{}:
		defer func() { <-s.mcp.setting }()
	case <-ctx.Done():
		return nil, s.unsent(ctx, op, &ControlError{Op: op, Err: context.Cause(ctx)})
	}
	for name := range inside {
		config, err := json.Marshal(map[string]string{"type": "sdk", "name": name})
		if err != nil {
			return nil, s.unsent(ctx, op, &ControlError{Op: op, Err: err})
		}
		outside[name] = config
	}
	// The CLI knows a server of ours by its name alone: another one under the
	// same name is a new one to it only if the old one has gone before.
	before := new(control.MCPSetResult)
	if replaced := s.mcp.replaced(inside); len(replaced) > 0 {
		rest, others := maps.Clone(outside), maps.Clone(inside)
		for _, name := range replaced {
			delete(rest, name)
			delete(others, name)
		}
		s.mcp.add(others) // before the CLI asks for them
		if err := s.setMCPServers(ctx, rest, before); err != nil {
			return nil, err
		}
	}
	s.mcp.add(inside)
	result := new(control.MCPSetResult)
	if err := s.setMCPServers(ctx, outside, result); err != nil {
		return nil, err
	}
	s.mcp.keep(inside)
	result.Added = append(before.Added, result.Added...)
	result.Removed = append(before.Removed, result.Removed...)
	return result, nil
}

func (s *Session) setMCPServers(ctx context.Context, servers map[string]json.RawMessage, result *control.MCPSetResult) error {
	payload := struct {
		Servers map[string]json.RawMessage `json:"servers"`
	}{servers}
	return s.operate(ctx, "mcp_set_servers", payload, s.opts.Timeouts.MCP, result)
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

// add makes handlers known, and closes those they replace.
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

// writeMCPConfig writes the configurations of the servers outside of this
// process to a file, because they often hold secrets, and names it on the
// command line.
func (p *plan) writeMCPConfig(files *scratch.Folder) error {
	if len(p.outside) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string]any{"mcpServers": p.outside})
	if err != nil {
		return err
	}
	path, err := files.Write("mcp.json", data)
	if err != nil {
		return fmt.Errorf("write the MCP configuration: %w", err)
	}
	// Not at the end: the flag takes every word behind it.
	p.args = slices.Insert(p.args, 0, "--mcp-config="+path)
	return nil
}
