package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/scratch"
)

// MCPServers are the MCP servers of a session by name. Claude sees their tools
// as mcp__NAME__TOOL.
type MCPServers map[string]MCPServer

// MCPServer is an MCP server that a session can use: the configuration of a
// server that the CLI starts or calls, such as [StdioServer], or an
// [MCPHandler] in this process.
//
// The set is open. For a kind of server that has no type here, use any value
// that encodes as a JSON object; MCPType is added to it as "type".
type MCPServer interface {
	// MCPType returns the kind of server: "stdio", "http", "sse", or "sdk" for
	// one in this process.
	MCPType() string
}

// MCPHandler is an MCP server in this process. Its JSON-RPC messages travel
// over the session itself, so it needs no port and no process. Package tool
// makes one from Go functions; a server that already speaks MCP needs nothing
// else.
type MCPHandler interface {
	MCPServer
	// CheckMCP returns an error if the server cannot be used. It is called
	// before anything is started, and its error becomes an [*OptionError].
	CheckMCP() error
	// OpenMCP connects the CLI to the server. It is called at the first
	// message for the server, once for each session that uses it, possibly for
	// several sessions at once. After an error it is called again at the next
	// handshake.
	//
	// name is the server's name in the session. ctx lives as long as the
	// connection and carries the session; see [SessionFrom]. push sends a
	// message that the server initiates, a notification or a request. It
	// returns when the message is written, and may be called until the
	// connection is closed. The answer to a pushed request arrives at Handle.
	OpenMCP(ctx context.Context, name string, push func(ctx context.Context, message json.RawMessage) error) (MCPConn, error)
}

// MCPConn is the connection between one session and an [MCPHandler].
type MCPConn interface {
	// Handle takes one JSON-RPC message from the CLI and returns the response
	// to it, with its id, or nil if the message is a notification or a
	// response to a pushed request. It is called for several messages at once.
	// The handshake ("initialize") may arrive again at any time.
	//
	// ctx ends when the CLI cancels the call and when the session ends. An
	// error without a response, a panic, or runtime.Goexit is answered as
	// JSON-RPC error -32603; an error returned with a response is only logged.
	Handle(ctx context.Context, message json.RawMessage) (json.RawMessage, error)
	// Close ends the connection. The ctx of OpenMCP and the contexts of all
	// calls have already ended. The session waits for Close a few seconds at
	// most.
	Close() error
}

// StdioServer is an MCP server that the CLI starts as a process.
type StdioServer struct {
	Command string
	Args    []string
	// Env is added to the environment of the process.
	Env map[string]string
	// Timeout limits a tool call. 0: the CLI decides; it ignores values below
	// one second.
	Timeout time.Duration
	// AlwaysLoad shows the tools to the model from the start, even if there
	// are so many that the CLI would make the model search for them.
	AlwaysLoad bool
}

// MCPType returns "stdio".
func (StdioServer) MCPType() string { return "stdio" }

// MarshalJSON returns the configuration as the CLI reads it.
func (s StdioServer) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string            `json:"type"`
		Command    string            `json:"command"`
		Args       []string          `json:"args,omitzero"`
		Env        map[string]string `json:"env,omitzero"`
		Timeout    int64             `json:"timeout,omitzero"`
		AlwaysLoad bool              `json:"alwaysLoad,omitzero"`
	}{s.MCPType(), s.Command, s.Args, s.Env, s.Timeout.Milliseconds(), s.AlwaysLoad})
}

// HTTPServer is an MCP server called over streamable HTTP.
type HTTPServer struct {
	URL     string
	Headers map[string]string
	// Tools limits single tools of the server.
	Tools []control.MCPToolPolicy
	// Timeout and AlwaysLoad are as in [StdioServer].
	Timeout    time.Duration
	AlwaysLoad bool
}

// MCPType returns "http".
func (HTTPServer) MCPType() string { return "http" }

// MarshalJSON returns the configuration as the CLI reads it.
func (s HTTPServer) MarshalJSON() ([]byte, error) { return marshalRemote(s.MCPType(), s) }

// SSEServer is an MCP server called over HTTP with server-sent events, the
// older form.
type SSEServer struct {
	URL     string
	Headers map[string]string
	// Tools limits single tools of the server.
	Tools []control.MCPToolPolicy
	// Timeout and AlwaysLoad are as in [StdioServer].
	Timeout    time.Duration
	AlwaysLoad bool
}

// MCPType returns "sse".
func (SSEServer) MCPType() string { return "sse" }

// MarshalJSON returns the configuration as the CLI reads it.
func (s SSEServer) MarshalJSON() ([]byte, error) { return marshalRemote(s.MCPType(), HTTPServer(s)) }

func marshalRemote(kind string, s HTTPServer) ([]byte, error) {
	return json.Marshal(struct {
		Type       string                  `json:"type"`
		URL        string                  `json:"url"`
		Headers    map[string]string       `json:"headers,omitzero"`
		Tools      []control.MCPToolPolicy `json:"tools,omitzero"`
		Timeout    int64                   `json:"timeout,omitzero"`
		AlwaysLoad bool                    `json:"alwaysLoad,omitzero"`
	}{kind, s.URL, s.Headers, s.Tools, s.Timeout.Milliseconds(), s.AlwaysLoad})
}

// split returns the in-process servers and the encoded configurations of all
// others.
func (servers MCPServers) split() (map[string]MCPHandler, map[string]json.RawMessage, error) {
	inside, outside := make(map[string]MCPHandler), make(map[string]json.RawMessage)
	for name, server := range servers {
		if h, ok := server.(MCPHandler); ok {
			inside[name] = h
			continue
		}
		config, err := mcpConfig(server)
		if err != nil {
			return nil, nil, fmt.Errorf("MCP server %q: %w", name, err)
		}
		outside[name] = config
	}
	return inside, outside, nil
}

// inProcess reports whether one of the servers runs in this process.
func (servers MCPServers) inProcess() bool {
	for _, server := range servers {
		if _, ok := server.(MCPHandler); ok {
			return true
		}
	}
	return false
}

// mcpConfig encodes the configuration of an external server.
func mcpConfig(server MCPServer) (json.RawMessage, error) {
	data, err := json.Marshal(server)
	if err != nil {
		return nil, err
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(data, &config); err != nil || config == nil {
		return nil, fmt.Errorf("%T does not encode as a JSON object", server)
	}
	if config["type"] == nil {
		if config["type"], err = json.Marshal(server.MCPType()); err != nil {
			return nil, err
		}
	}
	return json.Marshal(config)
}

// check reports the first server that cannot be used.
func (servers MCPServers) check() *OptionError {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		field := fmt.Sprintf("MCPServers[%q]", name)
		server := servers[name]
		if v := reflect.ValueOf(server); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return &OptionError{field, "is nil"}
		}
		if problem := checkMCPServer(name, server); problem != "" {
			return &OptionError{field, problem}
		}
	}
	return nil
}

// serverNameRune reports whether the CLI keeps a character of a server's name in its
// tools' names.
func serverNameRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func checkMCPServer(name string, server MCPServer) string {
	if name == "" {
		return "has no name"
	}
	if strings.ContainsFunc(name, func(c rune) bool { return !serverNameRune(c) }) {
		// The CLI replaces such characters, and rules for the original name never
		// apply.
		return "the name has a character other than ASCII letters, digits, - and _, which the tools of the server cannot have in their names"
	}
	if handler, ok := server.(MCPHandler); ok {
		if err := handler.CheckMCP(); err != nil {
			return err.Error()
		}
		return ""
	}
	if server.MCPType() == "sdk" {
		return "is of type sdk, but is not an MCPHandler"
	}
	config, err := mcpConfig(server)
	if err != nil {
		return err.Error()
	}
	var fields struct{ Type, Command, URL string }
	_ = json.Unmarshal(config, &fields) // of another shape: the CLI judges it
	switch {
	case fields.Type == "stdio" && fields.Command == "":
		return "has no command"
	case (fields.Type == "http" || fields.Type == "sse") && fields.URL == "":
		return "has no URL"
	}
	return ""
}

// writeMCPConfig writes the configurations of external servers to a file,
// because they often hold secrets, and names the file on the command line.
//
// In a resumed session the file also lists the in-process servers: a server that
// only the handshake names does not yet exist for a deferred call that the CLI
// continues.
func (p *plan) writeMCPConfig(files *scratch.Folder) error {
	servers := p.outside
	if p.resumes {
		servers = maps.Clone(servers)
		for name := range p.inside {
			config, err := json.Marshal(map[string]string{"type": "sdk", "name": name})
			if err != nil {
				return err
			}
			servers[name] = config
		}
	}
	if len(servers) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return err
	}
	path, err := files.Write("mcp.json", data)
	if err != nil {
		return fmt.Errorf("write the MCP configuration: %w", err)
	}
	p.files = append(p.files, LaunchFile{Name: filepath.Base(path), Path: path})
	// Not at the end: the flag takes every word behind it.
	p.args = slices.Insert(p.args, 0, "--mcp-config="+path)
	return nil
}
