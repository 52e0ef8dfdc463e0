package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/store"
)

// sessionsCommand is "claudectl sessions" with the commands below it.
type sessionsCommand struct {
	List      sessionsList      `cmd:"" default:"withargs" help:"List sessions, the newest first."`
	Show      sessionsShow      `cmd:"" help:"Show a conversation as text, as JSON or as a page."`
	Rename    sessionsRename    `cmd:"" help:"Give a session a title."`
	Tag       sessionsTag       `cmd:"" help:"Tag a session, or remove its tag."`
	Archive   sessionsArchive   `cmd:"" help:"Archive a session: lists leave it out."`
	Unarchive sessionsUnarchive `cmd:"" help:"Take a session out of the archive."`
	Fork      sessionsFork      `cmd:"" help:"Copy a conversation, whole or up to a message, into a new session."`
	Delete    sessionsDelete    `cmd:"" help:"Delete a session for good."`
	Resume    sessionsResume    `cmd:"" help:"Continue a session; without an id, you choose one."`
	Export    sessionsExport    `cmd:"" help:"Copy sessions from this disk into a store."`
	Import    sessionsImport    `cmd:"" help:"Copy sessions from a store to this disk, or a journal into the store."`
}

// history is that of the environment of this program.
func (c *console) history() (*history.History, error) {
	dir, err := c.configDir()
	if err != nil {
		return nil, err
	}
	return history.Disk(dir), nil
}

// config opens the configuration directory of the CLI. With create it is made if
// need be.
func (c *console) config(create bool) (*os.Root, error) {
	dir, err := c.configDir()
	if err != nil {
		return nil, err
	}
	if create {
		if err := private.MkdirAll(dir); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(dir)
}

// configDir is the configuration directory of the CLI.
func (c *console) configDir() (string, error) {
	dir := c.variable("CLAUDE_CONFIG_DIR")
	if dir == "" {
		home := c.variable("HOME")
		if home == "" {
			home = c.variable("USERPROFILE")
		}
		if home == "" {
			return "", &failure{exitInput, errors.New("no home directory: set HOME or CLAUDE_CONFIG_DIR")}
		}
		dir = filepath.Join(home, ".claude")
	}
	return dir, nil
}

// workingDir is the directory as the CLI would name it when it runs there.
func workingDir(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// fewest is how many characters of an id name a session, if they name only one.
const fewest = 4

// session finds a session by its id or by the beginning of it.
func (c *console) session(h *history.History, name string) (string, error) {
	if len(name) >= 36 || len(name) < fewest {
		if _, err := h.Info(c.ctx, name); err != nil {
			return "", noSession(err)
		}
		return name, nil
	}
	var found []history.SessionInfo
	for info, err := range h.List(c.ctx, history.Query{}) {
		if err != nil {
			return "", noSession(err)
		}
		if strings.HasPrefix(info.ID, strings.ToLower(name)) {
			found = append(found, info)
		}
	}
	switch len(found) {
	case 0:
		return "", &failure{exitInput, fmt.Errorf("no session has an id that begins with %q: see claudectl sessions list --all", name)}
	case 1:
		return found[0].ID, nil
	}
	return "", &failure{exitUsage, fmt.Errorf("%d sessions have an id that begins with %q, such as %s and %s", len(found), name, found[0].ID, found[1].ID)}
}

// noSession gives an error of the history its exit code.
func noSession(err error) error {
	if errors.Is(err, history.ErrInvalidID) {
		return &failure{exitUsage, fmt.Errorf("%w, nor the first %d or more characters of one", err, fewest)}
	}
	if _, known := errors.AsType[*failure](err); err == nil || known {
		return err
	}
	return &failure{exitInput, err}
}

// with finds the session that an argument names and does something with it.
func (c *console) with(name string, do func(ctx context.Context, h *history.History, id string) error) error {
	h, err := c.history()
	if err != nil {
		return err
	}
	id, err := c.session(h, name)
	if err != nil {
		return err
	}
	return noSession(do(c.ctx, h, id))
}

// done reports what was done to a session.
func (c *console) done(id, what string) error {
	if c.json {
		return c.emit(map[string]string{"session": id, "done": what})
	}
	c.printf("%s %s\n", what, id)
	return nil
}

// sessionsRename is "claudectl sessions rename".
type sessionsRename struct {
	ID    string   `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
	Title []string `arg:"" help:"The title."`
}

// Run renames the session.
func (r *sessionsRename) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		if err := h.Rename(ctx, id, strings.Join(r.Title, " ")); err != nil {
			return err
		}
		return c.done(id, "renamed")
	})
}

// sessionsTag is "claudectl sessions tag".
type sessionsTag struct {
	ID  string `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
	Tag string `arg:"" optional:"" help:"The tag. If you leave it out, the tag is removed."`
}

// Run tags the session.
func (r *sessionsTag) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		if err := h.Tag(ctx, id, r.Tag); err != nil {
			return err
		}
		if r.Tag == "" {
			return c.done(id, "untagged")
		}
		return c.done(id, "tagged")
	})
}

// sessionsArchive is "claudectl sessions archive".
type sessionsArchive struct {
	ID string `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
}

// Run archives the session.
func (r *sessionsArchive) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		return errors.Join(h.Archive(ctx, id), c.done(id, "archived"))
	})
}

// sessionsUnarchive is "claudectl sessions unarchive".
type sessionsUnarchive struct {
	ID string `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
}

// Run takes the session out of the archive.
func (r *sessionsUnarchive) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		return errors.Join(h.Unarchive(ctx, id), c.done(id, "unarchived"))
	})
}

// sessionsFork is "claudectl sessions fork".
type sessionsFork struct {
	ID           string `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
	UpTo         string `placeholder:"UUID" help:"The last message of the copy, as \"claudectl sessions show --json\" names it."`
	Title        string `placeholder:"TEXT" help:"The title of the copy."`
	KeepDeferred bool   `help:"Also copy a tool call that a hook has deferred."`
}

// Run copies the session and prints the id of the copy.
func (r *sessionsFork) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		fork, err := h.Fork(ctx, id, history.ForkOptions{UpTo: r.UpTo, Title: r.Title, KeepDeferred: r.KeepDeferred})
		if err != nil {
			return err
		}
		if c.json {
			return c.emit(map[string]string{"session": fork, "forked_from": id})
		}
		c.printf("%s\n", fork)
		return nil
	})
}

// sessionsDelete is "claudectl sessions delete".
type sessionsDelete struct {
	ID  string `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
	Yes bool   `short:"y" help:"Do not ask."`
}

// Run deletes the session and the questions that editors were asked in it, if a
// person agrees.
func (r *sessionsDelete) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		if !r.Yes {
			if err := r.confirm(c, h, id); err != nil {
				return err
			}
		}
		removed, err := h.Delete(ctx, id)
		if err == nil {
			err = acp.QuestionsIn(h.ConfigDir()).Erase(ctx, id, store.Fence{}) // what editors were asked
		}
		if c.json {
			return errors.Join(err, c.emit(map[string]any{"session": id, "removed": removed.Paths, "files": removed.Files, "bytes": removed.Bytes}))
		}
		for _, path := range removed.Paths {
			c.printf("removed %s\n", c.line(path))
		}
		return err
	})
}

// confirm asks whether to delete. Where there is no user to ask, the answer is
// no.
func (r *sessionsDelete) confirm(c *console, h *history.History, id string) error {
	if !terminal.Is(c.stdin) || c.json {
		return &failure{exitUsage, errors.New("cannot ask whether to delete it here: --yes deletes without asking")}
	}
	info, err := h.Info(c.ctx, id)
	if err != nil {
		info.Title = "a session with nothing to see"
	}
	fmt.Fprintf(c.stderr, "%s\nDelete it for good? [y/N] ", c.line(info.Title))
	keys := newKeyboard(c.stdin)
	keys.forget()
	answer, err := keys.line(c.ctx)
	if answer = strings.ToLower(answer); err != nil || answer != "y" && answer != "yes" {
		return &failure{exitInterrupted, errors.New("not deleted")}
	}
	return nil
}
