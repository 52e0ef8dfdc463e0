package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/claude-agent-go/claude/store"
)

// sessionsImport is "claudectl sessions import".
type sessionsImport struct {
	Journal string `arg:"" complete:"file" help:"The journal, as the error named it."`
	Store   string `required:"" placeholder:"DIR" complete:"file" help:"The directory of the store, as of store.Files."`
}

// Run stores what a session could not store. It may be repeated: what the store
// has already is left out.
func (r *sessionsImport) Run(c *console) error {
	if _, err := os.Stat(r.Store); errors.Is(err, fs.ErrNotExist) {
		return &failure{exitInput, err} // a new store would be somebody's mistake
	}
	n, err := store.ImportJournal(c.ctx, store.Files(r.Store), r.Journal, store.Fence{})
	if err != nil {
		return &failure{exitInput, err}
	}
	if c.json {
		return c.emit(map[string]any{"journal": r.Journal, "entries": n})
	}
	c.printf("%d entries of %s are in the store. You may remove the journal.\n", n, c.line(r.Journal))
	return nil
}
