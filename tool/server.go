package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is an MCP server made from tools, for Options.MCPServers. All methods
// may be called at any time, even while sessions use it. The CLI is notified
// and fetches the new list within milliseconds; turns that begin after that
// have it.
type Server struct {
	*mounted

	mu    sync.Mutex
	tools map[string]*Tool
	err   error
}

// NewServer returns a server with tools. If one of them cannot be used, a
// session with this server does not start, and the error gives the reason.
func NewServer(tools ...*Tool) *Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "claude-agent-go", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, // even when there is none yet
		},
	})
	s := &Server{mounted: mount(server), tools: make(map[string]*Tool)}
	s.mounted.find = s.find
	s.err = s.Add(tools...)
	return s
}

// Add adds tools. If one cannot be used, or its name is already taken, none is
// added.
func (s *Server) Add(tools ...*Tool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make(map[string]bool)
	for _, t := range tools {
		if err := usable(t); err != nil {
			return err
		}
		if s.tools[t.Name()] != nil || names[t.Name()] {
			return fmt.Errorf("tool %q: another tool has this name", t.Name())
		}
		names[t.Name()] = true
	}
	for _, t := range tools {
		s.tools[t.Name()] = t
		s.server.AddTool(&t.spec, t.handle)
	}
	return nil
}

// find returns a tool by its name, nil if there is none.
func (s *Server) find(name string) *Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[name]
}

// Remove removes tools by name. Running calls are not affected.
func (s *Server) Remove(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.tools, name)
	}
	s.server.RemoveTools(names...)
}

// CheckMCP returns an error if a tool given to NewServer cannot be used.
func (s *Server) CheckMCP() error {
	if s.mounted == nil {
		return errors.New("was not made by NewServer")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func usable(t *Tool) error {
	if t == nil {
		return errors.New("a tool is nil")
	}
	return t.Err()
}

// AddTo adds tools to any server of the MCP SDK, or replaces those of the same
// name.
func AddTo(server *mcp.Server, tools ...*Tool) error {
	if server == nil {
		return errNoServer
	}
	for _, t := range tools {
		if err := usable(t); err != nil {
			return err
		}
	}
	for _, t := range tools {
		server.AddTool(&t.spec, t.handle)
	}
	return nil
}

// Mount makes any server of the MCP SDK usable in Options.MCPServers, with its
// tools, prompts, resources, instructions and notifications. Several sessions
// may use it at once. Mount adds a middleware to the server: a panic in one of
// its handlers, or a result that cannot be encoded, is answered as an error
// and does not end the program. If server is nil, the session does not start.
func Mount(server *mcp.Server) claude.MCPHandler { return mount(server) }

var errNoServer = errors.New("the server is nil")

// mounted is the root package's view of a server of the MCP SDK.
type mounted struct {
	server *mcp.Server
	find   func(name string) *Tool // nil if all tools belong to the MCP SDK
}

func mount(server *mcp.Server) *mounted {
	if server != nil {
		server.AddReceivingMiddleware(recovering)
	}
	return &mounted{server: server}
}

// MCPType returns "sdk": the server is in this process.
func (*mounted) MCPType() string { return "sdk" }

// CheckMCP reports that there is no server.
func (m *mounted) CheckMCP() error {
	if m.server == nil {
		return errNoServer
	}
	return nil
}

// OpenMCP connects a session with the server.
func (m *mounted) OpenMCP(ctx context.Context, _ string, push func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	if err := m.CheckMCP(); err != nil {
		return nil, err
	}
	c := &conn{server: m.server, push: push, find: m.find}
	c.ctx = context.WithValue(ctx, connKey{}, c)
	return c, nil
}
