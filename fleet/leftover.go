package fleet

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/mirror"
	"github.com/claude-agent-go/claude/internal/restore"
)

// eraseFiles removes what this machine has of the sessions of a conversation outside
// the store: checkpoints of files, journals, and the folders of processes that were
// killed. Failures are logged and do not stop the deletion: otherwise a conversation
// could not be deleted on a machine that lacks the rights.
func (e *eraser) eraseFiles(ctx context.Context, key string, sessions []string) {
	config := e.configDir(ctx, key)
	e.temps.sweep()
	journals := cmp.Or(e.opts.Journal, mirror.DefaultJournals())
	for _, session := range sessions {
		err := errors.Join(restore.ForgetCheckpoints(config, session), removeJournals(journals, session))
		if err != nil {
			e.opts.Logger.Warn("files of a deleted conversation could not be removed", "conversation", key, "session", session, "error", err)
		}
	}
}

// sessionBound is how long a conversation that is deleted may take to make its options.
const sessionBound = time.Minute

// configDir is the configuration directory of the user whose settings the CLI of a
// conversation has. Without options for the conversation, it is that of this process.
func (e *eraser) configDir(ctx context.Context, key string) string {
	o := new(claude.Options)
	ctx, cancel := context.WithTimeout(ctx, sessionBound)
	defer cancel()
	if e.opts.Session != nil {
		given, err := e.opts.Session(ctx, key)
		if given != nil { // also beside an error: a server refuses to continue what it deletes
			o = given
		}
		if err != nil && (given == nil || !errors.Is(err, ErrDeleted)) {
			e.opts.Logger.Warn("the options of a conversation that is deleted could not be made, so some of its files may be left",
				"conversation", key, "error", err)
		}
	}
	e.temps.learn(o)
	return restore.ConfigDir(environ(o))
}

// removeJournals removes the journals of a session, which hold lines that the store did
// not take.
func removeJournals(dir, session string) error {
	found, err := os.ReadDir(dir) // not by a pattern: the path may hold any character
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range found {
		if name := entry.Name(); strings.HasPrefix(name, session+"-") && filepath.Ext(name) == ".journal" {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	return err
}
