package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission/policy"
)

// folder is a part of a user's folder.
func (c *conversations) folder(user, part string) string { return filepath.Join(c.root, user, part) }

// history has only the conversations of one user.
func (c *conversations) history(user string) *history.History {
	return history.Disk(c.folder(user, "config"))
}

// start starts the process of a conversation, if it is one of this user's.
func (c *conversations) start(ctx context.Context, k key, begin bool) (*claude.Session, error) {
	opts, err := c.options(k.user)
	if err != nil {
		return nil, err
	}
	if begin {
		opts.SessionID = k.id
		return claude.Connect(ctx, opts)
	}
	_, err = c.history(k.user).Info(ctx, k.id)
	if errors.Is(err, history.ErrNotFound) || errors.Is(err, history.ErrInvalidID) {
		return nil, errUnknown // the same for a conversation of someone else
	} else if err != nil {
		return nil, err
	}
	opts.Resume = k.id
	return claude.Connect(ctx, opts)
}

// options are those of a user's sessions: folders, rights and limits.
func (c *conversations) options(user string) (*claude.Options, error) {
	config, work := c.folder(user, "config"), c.folder(user, "work")
	for _, dir := range []string{config, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	opts := claude.Hardened()
	opts.Cwd, opts.Transport = work, c.cli
	opts.Env = append(opts.Env, "CLAUDE_CONFIG_DIR="+config, "HOME="+c.folder(user, ""))
	opts.Tools = []string{"Read", "Glob", "Grep", "Write", "Edit"} // no shell
	opts.AllowedTools = opts.Tools
	opts.Hooks = []hook.Hook{hook.Guard("", policy.Confine(work))}
	opts.MaxTurns, opts.MaxBudgetUSD = 30, 2
	return opts, nil
}

// newID makes a UUID, the form that session ids have.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
