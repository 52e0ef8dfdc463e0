package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// configVar names the directory in which the CLI keeps its sessions.
const configVar = "CLAUDE_CONFIG_DIR"

// fromStore reports whether the session is one that is in a store.
func (o *Options) fromStore() bool { return o.Store != nil && o.resumes() }

// findStored makes options for a session in a store say which one it is. The
// CLI cannot continue "the last one": it sees only the one that it is given. The
// id of a fork is chosen here, so that its lease can be taken before it starts.
func (o *Options) findStored(ctx context.Context) error {
	if !o.fromStore() {
		return nil
	}
	if o.Continue {
		id, err := o.source().Latest(ctx)
		if err != nil {
			return storedError(ctx, err)
		}
		o.Resume, o.Continue = id, false
	}
	if o.ForkSession && o.SessionID == "" {
		o.SessionID = uuid.New()
	}
	return nil
}

func (o *Options) source() restore.Source {
	return restore.Source{Store: o.Store.Store, Project: o.Store.Project}
}

// restore writes the session that is to be resumed from the store into a
// directory of its own, and makes that the configuration directory of the CLI.
func (s *Session) restore(ctx context.Context) error {
	if !s.opts.fromStore() {
		return nil
	}
	dir, err := s.files.Dir("config")
	if err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	defer root.Close()
	if err := s.opts.source().Write(ctx, root, projectFolder(s.opts.Cwd), s.opts.Resume); err != nil {
		return storedError(ctx, err)
	}
	config, state := configDirOf(s.plan.env), homeOf(s.plan.env)
	if setIn(s.plan.env, configVar) {
		state = config
	}
	if err := restore.Config(root, config, state); err != nil {
		return &StartError{Reason: ErrSpawn, Err: err}
	}
	s.plan.env = slices.DeleteFunc(s.plan.env, func(entry string) bool { return strings.HasPrefix(entry, configVar+"=") })
	s.plan.env = append(s.plan.env, configVar+"="+dir)
	return nil
}

// projectFolder is the name under which the CLI looks for the sessions of a
// working directory first.
func projectFolder(cwd string) string {
	path, err := filepath.Abs(cwd)
	if err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	return transcript.ProjectName(path)
}

// storedError is the error of a session that could not be read from its store.
func storedError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("claude: connect: %w", context.Cause(ctx))
	case errors.Is(err, store.ErrNotFound):
		return &StartError{Reason: ErrNoSession, Err: err}
	}
	return &StartError{Reason: ErrStore, Err: err}
}
