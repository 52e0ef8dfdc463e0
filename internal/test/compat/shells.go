package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/permission"
)

// shells finds out what happens to a running shell when the CLI gets SIGTERM and
// no process cleans up after it, as when the host is killed.
func shells(ctx context.Context, b *probeRun) (bool, error) {
	started := filepath.Join(b.dir, "started")
	b.model.Add(claudetest.UseTool("Bash", map[string]string{"command": "touch " + started + "; sleep 600", "description": "waits"}))
	watched := &watchedTransport{}
	b.opts.Transport, b.opts.Env = watched, append(b.opts.Env, leak.Mark())
	b.opts.PermissionMode = permission.ModeBypassPermissions
	s, err := claude.Connect(ctx, b.opts)
	if err != nil {
		return false, err
	}
	defer s.Close()
	defer endMarked()
	if _, err := s.Send(ctx, "wait"); err != nil {
		return false, err
	}
	if !eventually(ctx, func() bool { _, err := os.Stat(started); return err == nil }) {
		return false, ctx.Err()
	}
	if err := watched.conn.Process.Signal(syscall.SIGTERM); err != nil {
		return false, err
	}
	_ = watched.conn.Wait() // the code is 143
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return eventually(ctx, func() bool { return len(leak.Marked()) == 0 }), nil
}

// watchedTransport is bare, and keeps what it started.
type watchedTransport struct {
	plainTransport
	conn *conn
}

func (w *watchedTransport) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	c, err := w.plainTransport.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	w.conn = c.(*conn)
	return c, nil
}

// eventually looks again and again until something is there, or the context ends.
func eventually(ctx context.Context, there func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// endMarked ends what a probe has left.
func endMarked() {
	for _, process := range leak.Marked() {
		number, _, _ := strings.Cut(process, " ")
		if pid, err := strconv.Atoi(number); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
}
