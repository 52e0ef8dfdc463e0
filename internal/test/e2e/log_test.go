package e2e

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// lockedBuffer takes a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// What programs do every day is nothing to warn about: rules beside a callback,
// a turn that is cancelled, a turn that is left, Close at any moment, Ask whose
// time is over.
func TestRealOrdinaryUseLogsNoWarning(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, realcli.Version, "a CLI that names its capabilities")
	var log lockedBuffer
	hold := make(chan struct{})
	defer close(hold)
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two").Hold(hold), claudetest.Say("three").Hold(hold), claudetest.Say("four").Hold(hold))
	r.opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.opts.AllowedTools = []string{"Read", "Grep", "Bash(git:*)", "Glob"}
	r.opts.PartialMessages = true
	r.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "hi"); err != nil {
		t.Error(err)
	}
	begun := func(msg message.Message) bool { _, ok := msg.(*message.StreamEvent); return ok }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for msg := range s.Run(ctx, "cancelled") {
		if begun(msg) {
			cancel()
		}
	}
	for msg := range s.Run(t.Context(), "left, then Close") {
		if begun(msg) {
			break
		}
	}
	s.Close()
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	for msg := range claude.Query(ctx, "cancelled", r.opts) {
		if begun(msg) {
			cancel()
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for _, line := range lines {
		if !strings.Contains(line, "level=DEBUG") {
			t.Errorf("logged %s", line)
		}
	}
	if n := strings.Count(log.String(), `rules="[Read Grep Glob]"`); n != 2 {
		t.Errorf("%d lines about rules beside CanUseTool, want one for each session:\n%s", n, log.String())
	}
}
