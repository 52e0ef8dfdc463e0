package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/store"
)

// openFleet opens the fleet on what was accepted before.
func openFleet(ctx context.Context, root string, cli claude.Transport) (*fleet.Fleet, error) {
	return fleet.Open(ctx, fleet.Options{
		Store:   store.Files(filepath.Join(root, "store")),
		Project: "service",
		Journal: filepath.Join(root, "journal"),
		MaxLive: 8,                // a CLI takes a few hundred megabytes
		Grace:   20 * time.Second, // less than the service manager's patience
		TTL:     5 * time.Second,  // how long a conversation rests if this program is killed
		Session: func(_ context.Context, key string) (*claude.Options, error) {
			return options(filepath.Join(root, "users", fleet.TenantOf(key)), cli)
		},
		Gate: &approval.Options{Patience: time.Minute, Needs: approval.NeedsRules("Write", "Edit")},
	})
}

// options are those of a user's sessions: folders, rights and limits.
func options(user string, cli claude.Transport) (*claude.Options, error) {
	config, work := filepath.Join(user, "config"), filepath.Join(user, "work")
	for _, dir := range []string{config, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	opts := claude.Hardened()
	opts.Cwd, opts.Transport = work, cli
	opts.Env = append(opts.Env, "CLAUDE_CONFIG_DIR="+config, "HOME="+user)
	opts.Tools = []string{"Read", "Glob", "Grep", "Write", "Edit"} // no shell
	opts.AllowedTools = []string{"Read", "Glob", "Grep"}
	opts.Hooks = []hook.Hook{hook.Guard("", policy.Confine(work))}
	opts.MaxTurns, opts.MaxBudgetUSD = 30, 2
	return opts, nil
}
