package claude

import (
	"context"
	"time"

	"github.com/claude-agent-go/claude/control"
)

// PreviewRewind returns what RewindFiles would do, without changing anything.
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
// relative path is relative to the working directory. If maxBytes is 0, the
// CLI decides how much to read. Files the session may not read are refused.
func (s *Session) ReadFile(ctx context.Context, path string, maxBytes int) (*control.FileContents, error) {
	payload := struct {
		Path     string `json:"path"`
		MaxBytes int    `json:"max_bytes,omitzero"`
		Encoding string `json:"encoding"`
	}{path, maxBytes, "base64"}
	file := new(control.FileContents)
	return file, s.operate(ctx, "read_file", payload, s.opts.Timeouts.Control, file)
}

// SuggestFiles returns files in the working directory whose names match a
// query, for completion.
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
// of Options.AddDirs, its own root, with its instruction files, skills and
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

// RewindFiles restores the files that Claude changed to what they were when
// the prompt with this id was sent; [Session.Send] returns the id. Changes
// made by shell commands are not covered. It needs Options.FileCheckpointing.
func (s *Session) RewindFiles(ctx context.Context, messageID string) (*control.Rewind, error) {
	return s.rewind(ctx, messageID, false)
}
