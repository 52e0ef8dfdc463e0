package claude

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude/control"
)

// SessionFiles are the files that a session works with, see [Session.Files].
type SessionFiles struct{ s *Session }

// Read reads a file where the CLI runs, which may be another machine. A
// relative path is relative to the working directory. If maxBytes is 0, the
// CLI decides how much to read. Files the session may not read are refused.
func (f SessionFiles) Read(ctx context.Context, path string, maxBytes int) (*control.FileContents, error) {
	payload := struct {
		Path     string `json:"path"`
		MaxBytes int    `json:"max_bytes,omitzero"`
		Encoding string `json:"encoding"`
	}{path, maxBytes, "base64"}
	file := new(control.FileContents)
	return file, f.s.operate(ctx, "read_file", payload, f.s.opts.Timeouts.Control, file)
}

// Suggest returns files in the working directory whose names match a
// query, for completion.
func (f SessionFiles) Suggest(ctx context.Context, query string) (*control.FileSuggestions, error) {
	payload := struct {
		Query string `json:"query"`
	}{query}
	found := new(control.FileSuggestions)
	return found, f.s.operate(ctx, "file_suggestions", payload, f.s.opts.Timeouts.Control, found)
}

// SeedReadState tells the CLI that Claude has seen a file as it was at mtime,
// so that it can edit the file without reading it again.
func (f SessionFiles) SeedReadState(ctx context.Context, path string, mtime time.Time) error {
	payload := struct {
		Path  string `json:"path"`
		MTime int64  `json:"mtime"`
	}{path, mtime.UnixMilli()}
	return f.s.operate(ctx, "seed_read_state", payload, f.s.opts.Timeouts.Control, nil)
}

// RegisterRepoRoot makes a directory below the working directory, or below one
// of Options.AddDirs, its own root, with its instruction files, skills and
// plugins. It returns the directory as the CLI knows it.
func (f SessionFiles) RegisterRepoRoot(ctx context.Context, dir string) (string, error) {
	payload := struct {
		Directory string `json:"directory"`
		ClaudeMD  bool   `json:"reload_claude_md"`
		Plugins   bool   `json:"reload_plugins"`
		Skills    bool   `json:"reload_skills"`
	}{dir, true, true, true}
	var reply struct {
		Directory string `json:"directory"`
	}
	err := f.s.operate(ctx, "register_repo_root", payload, f.s.opts.Timeouts.MCP, &reply)
	return reply.Directory, err
}

// Rewind restores the files that Claude changed to their state when the prompt
// with this id was sent; [Session.Send] returns the id. Changes made by shell
// commands are not covered. It needs Options.FileCheckpointing.
func (f SessionFiles) Rewind(ctx context.Context, messageID string) (*control.Rewind, error) {
	return f.rewind(ctx, messageID, false)
}

// PreviewRewind returns what Rewind would do, without changing anything.
func (f SessionFiles) PreviewRewind(ctx context.Context, messageID string) (*control.Rewind, error) {
	return f.rewind(ctx, messageID, true)
}

func (f SessionFiles) rewind(ctx context.Context, messageID string, dryRun bool) (*control.Rewind, error) {
	const op = "rewind_files"
	if !f.s.opts.FileCheckpointing {
		return nil, f.s.unsent(ctx, op, &ControlError{Op: op, Err: ErrNoCheckpoints})
	}
	payload := struct {
		ID     string `json:"user_message_id"`
		DryRun bool   `json:"dry_run,omitzero"`
	}{messageID, dryRun}
	result := new(control.Rewind)
	return result, f.s.operate(ctx, op, payload, f.s.opts.Timeouts.Rewind, result)
}
