package claude

import (
	"context"
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// PreviewRewind says what RewindFiles would do, and changes nothing.
func (s *Session) PreviewRewind(ctx context.Context, messageID string) (*control.Rewind, error) {
	return s.rewind(ctx, messageID, true)
}

func (s *Session) rewind(ctx context.Context, messageID string, dryRun bool) (*control.Rewind, error) {
	const op = "rewind_files"
	if !s.opts.FileCheckpointing {
		return nil, s.unsent(ctx, op, &ControlError{Op: op, Err: ErrNoCheckpoints})
	}
	payload := struct {
		ID     string `json:"user_message_id"`
		DryRun bool   `json:"dry_run,omitzero"`
	}{messageID, dryRun}
	result := new(control.Rewind)
	return result, s.operate(ctx, op, payload, s.opts.Timeouts.Rewind, result)
}

// ReadFile reads a file where the CLI runs, which may be another machine. A
// relative path is meant from the working directory; maxBytes of 0 leaves the
// bound to the CLI. What the session may not read is refused.
func (s *Session) ReadFile(ctx context.Context, path string, maxBytes int) (*control.FileContents, error) {
	payload := struct {
		Path     string `json:"path"`
		MaxBytes int    `json:"max_bytes,omitzero"`
		Encoding string `json:"encoding"`
	}{path, maxBytes, "base64"}
	file := new(control.FileContents)
	return file, s.operate(ctx, "read_file", payload, s.opts.Timeouts.Control, file)
}

// SuggestFiles returns files of the working directory whose names fit a
// query, as for completion.
func (s *Session) SuggestFiles(ctx context.Context, query string) (*control.FileSuggestions, error) {
	payload := struct {
		Query string `json:"query"`
	}{query}
	found := new(control.FileSuggestions)
	return found, s.operate(ctx, "file_suggestions", payload, s.opts.Timeouts.Control, found)
}

// SeedReadState tells the CLI that Claude has seen a file as it was at mtime,
// so that it can edit the file without reading it again.
func (s *Session) SeedReadState(ctx context.Context, path string, mtime time.Time) error {
	payload := struct {
		Path  string `json:"path"`
		MTime int64  `json:"mtime"`
	}{path, mtime.UnixMilli()}
	return s.operate(ctx, "seed_read_state", payload, s.opts.Timeouts.Control, nil)
}

// RegisterRepoRoot makes a directory below the working directory, or below one
// of Options.AddDirs, a root of its own, with its instruction files, skills and
// plugins. It returns the directory as the CLI knows it.
func (s *Session) RegisterRepoRoot(ctx context.Context, dir string) (string, error) {
	payload := struct {
		Directory string `json:"directory"`
		ClaudeMD  bool   `json:"reload_claude_md"`
		Plugins   bool   `json:"reload_plugins"`
		Skills    bool   `json:"reload_skills"`
	}{dir, true, true, true}
	var reply struct {
		Directory string `json:"directory"`
	}
	err := s.operate(ctx, "register_repo_root", payload, s.opts.Timeouts.MCP, &reply)
	return reply.Directory, err
}

// CallMCPTool calls a tool of an external MCP server without the model, by its
// full name mcp__server__tool. The arguments are encoded by the rules of
// encoding/json. The CLI refuses it for servers of this process.
func (s *Session) CallMCPTool(ctx context.Context, tool string, arguments any) (*control.MCPCallResult, error) {
	const op = "mcp_call"
	result := new(control.MCPCallResult)
	payload := struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitzero"`
	}{Tool: tool}
	if arguments != nil {
		var err error
		if payload.Arguments, err = jsonx.MarshalUser(arguments); err != nil {
			return result, s.unsent(ctx, op, &ControlError{Op: op, Err: err})
		}
	}
	return result, s.operate(ctx, op, payload, s.opts.Timeouts.MCP, result)
}

// ReadMCPResource reads a resource "ui://…" of an external MCP server.
func (s *Session) ReadMCPResource(ctx context.Context, server, uri string) ([]control.MCPResource, error) {
	payload := struct {
		Server string `json:"serverName"`
		URI    string `json:"uri"`
	}{server, uri}
	var reply struct {
		Contents []control.MCPResource `json:"contents"`
	}
	err := s.operate(ctx, "mcp_read_resource", payload, s.opts.Timeouts.MCP, &reply)
	return reply.Contents, err
}

// SetMCPPermissionMode gives the tools of one MCP server a permission mode of
// their own: permission.ModeDefault or permission.ModeAuto, or that of the
// session if it is empty.
func (s *Session) SetMCPPermissionMode(ctx context.Context, server string, mode permission.Mode) (warning string, err error) {
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
	err = s.operate(ctx, "set_mcp_permission_mode_override", payload, s.opts.Timeouts.Control, &reply)
	return reply.Warning, err
}
