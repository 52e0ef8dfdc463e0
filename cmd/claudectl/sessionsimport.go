package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// storePlace is where sessions are in a store, for commands that need one.
type storePlace struct {
	Store   string `required:"" placeholder:"DIR" complete:"dir" help:"The directory of the store, in the format of store.Files."`
	Project string `default:"default" placeholder:"NAME" help:"The project in the store: a tenant, a repository, an environment."`
}

func (p storePlace) source() restore.Source {
	return restore.Source{Store: store.Files(p.Store), Project: p.Project}
}

func (p storePlace) history() *history.History { return history.In(store.Files(p.Store), p.Project) }

// there fails unless the directory of the store exists: a new one would be
// the result of a typing mistake.
func (p storePlace) there() error {
	if _, err := os.Stat(p.Store); err != nil {
		return &failure{exitInput, err}
	}
	if err := store.CheckProject(p.Project); err != nil {
		return &failure{exitUsage, err}
	}
	return nil
}

// sessionsImport is "claudectl sessions import".
type sessionsImport struct {
	What string `arg:"" optional:"" complete:"store-session" help:"The session in the store, by its id or the beginning of it; or the journal that an error has named."`
	All  bool   `help:"All sessions of the project that are not on this disk."`
	Cwd  string `placeholder:"DIR" complete:"dir" help:"The working directory to import for. Default: the one the session ran in."`
	storePlace
}

// Help is shown by "claudectl sessions import --help".
func (*sessionsImport) Help() string {
	return `A session is copied from the store to this disk, with its subagents, byte for
byte. A session that is on this disk already is not overwritten.

The name of a file means a journal: what a session could not store, and kept
there. It is put into the store; what the store has already is left out, so it
may be repeated.`
}

// Run copies sessions from a store, or a journal into it.
func (r *sessionsImport) Run(c *console) error {
	if err := r.there(); err != nil {
		return err
	}
	if strings.ContainsAny(r.What, `/\.`) { // which no id has
		return r.journal(c)
	}
	return transfer{r.What, r.All, r.history(), r.session, "imported"}.run(c)
}

// session copies a session from the store.
func (r *sessionsImport) session(ctx context.Context, c *console, id string) (note string, err error) {
	dir := r.Cwd
	if dir == "" {
		info, err := r.history().Info(ctx, id)
		if err != nil {
			return "", err
		}
		dir = info.Dir
	}
	root, err := c.config(true)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return "", r.source().Copy(ctx, root, transcript.ProjectName(workingDir(dir)), id)
}

// journal stores what a session could not store.
func (r *sessionsImport) journal(c *console) error {
	n, err := store.ImportJournal(c.ctx, store.Files(r.Store), r.What, store.Fence{})
	if err != nil {
		return &failure{exitInput, err}
	}
	if c.json {
		return c.emit(map[string]any{"journal": r.What, "entries": n})
	}
	c.printf("%d entries of %s are in the store. You may remove the journal.\n", n, c.line(r.What))
	return nil
}

// sessionsExport is "claudectl sessions export".
type sessionsExport struct {
	ID  string `arg:"" optional:"" complete:"session" help:"The session, by its id or the beginning of it."`
	All bool   `help:"All sessions on this disk, including archived ones."`
	storePlace
}

// Help is shown by "claudectl sessions export --help".
func (*sessionsExport) Help() string {
	return `A session is copied from this disk into the store, with its subagents, byte for
byte. Nothing in the store is overwritten: if it has the beginning of the
session, the rest is added; if it has something else, that is an error. So it
may be repeated.

A program continues it with Options.Store and Options.Resume, on any machine,
and "claudectl run --store DIR --resume ID" does too.`
}

// Run copies sessions into a store.
func (r *sessionsExport) Run(c *console) error {
	if err := store.CheckProject(r.Project); err != nil {
		return &failure{exitUsage, err}
	}
	h, err := c.history()
	if err != nil {
		return err
	}
	return transfer{r.ID, r.All, h, r.session, "exported"}.run(c)
}

// session copies a session into the store.
func (r *sessionsExport) session(ctx context.Context, c *console, id string) (note string, err error) {
	root, err := c.config(false)
	if err != nil {
		return "", err
	}
	defer root.Close()
	folder, err := restore.Find(root, id)
	if err != nil {
		return "", err
	}
	host, _ := os.Hostname() // for people to read
	saved, err := r.source().Save(ctx, root, folder, id, fmt.Sprintf("claudectl sessions export on %s, process %d", host, os.Getpid()))
	note = fmt.Sprintf("%d entries", saved.Entries)
	if saved.Skipped > 0 {
		note += fmt.Sprintf(", %d lines that cannot be read are left out", saved.Skipped)
	}
	return note, err
}

// transfer copies one session, or all.
type transfer struct {
	name string // of the session, by its id or the beginning of it
	all  bool
	from *history.History
	copy func(ctx context.Context, c *console, id string) (note string, err error)
	done string // the word for it
}

func (t transfer) run(c *console) error {
	switch {
	case t.all == (t.name != ""):
		return &failure{exitUsage, errors.New("name a session, or say --all")}
	case !t.all:
		id, err := c.session(t.from, t.name)
		if err != nil {
			return err
		}
		return noSession(t.one(c, id))
	}
	var failed []error
	for info, err := range t.from.List(c.ctx, history.Query{Archived: history.ArchivedIncluded}) {
		if err != nil {
			return noSession(errors.Join(append(failed, err)...))
		}
		switch err := t.one(c, info.ID); {
		case errors.Is(err, fs.ErrExist): // what is there is not to be copied
		case err != nil:
			failed = append(failed, err)
		}
	}
	return noSession(errors.Join(failed...))
}

// one copies a session and reports it.
func (t transfer) one(c *console, id string) error {
	note, err := t.copy(c.ctx, c, id)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if c.json {
		return c.emit(map[string]string{"session": id, "done": t.done})
	}
	if note != "" {
		note = " (" + note + ")"
	}
	c.printf("%s %s%s\n", t.done, id, note)
	return nil
}
