package egress_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// killedBench is the real CLI behind a proxy that is a process of its own.
type killedBench struct {
	role  proxyRole
	proxy *proxyProcess
	model *claudetest.Model
	s     *claude.Session
}

// newKilledBench connects a session whose conversation may spend so many tokens.
func newKilledBench(t *testing.T, tokens int64, retries int, replies ...claudetest.Reply) *killedBench {
	t.Helper()
	path := realcli.Need(t, realcli.Tested())
	b := &killedBench{model: claudetest.NewModel(replies...)}
	upstream, err := b.model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.model.Close() })
	b.role = proxyRole{Upstream: upstream, Dir: t.TempDir(), Budget: egress.Budget{Tokens: tokens}}
	b.proxy = b.role.start(t)
	b.role.Address, b.role.Sentinel = strings.TrimPrefix(b.proxy.url, "http://"), b.proxy.sentinel
	env, _ := realcli.Env(t, b.proxy.url)
	env = append(env, "ANTHROPIC_API_KEY="+b.proxy.sentinel, "CLAUDE_CODE_MAX_OUTPUT_TOKENS=1000") // so that two reservations have room
	var log lockedLog
	b.s, err = claude.Connect(t.Context(), &claude.Options{
		CLIPath: path, Env: env, Cwd: t.TempDir(), PartialMessages: true, MaxRetries: retries, Tools: []string{},
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Stderr: func(line string) { _, _ = log.Write([]byte(line)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
		if log.contains(realKey) {
			t.Error("the log of the session has the key")
		}
	})
	return b
}

// lockedLog may be written to by several goroutines.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.text.Bytes(), []byte(s))
}

// cutTurn runs a turn, and calls cut when the first piece of the answer has come.
func (b *killedBench) cutTurn(t *testing.T, cut func()) (result *message.Result, failed error) {
	t.Helper()
	for m, err := range b.s.Run(t.Context(), "Tell me.") {
		if err != nil {
			return result, err
		}
		switch m := m.(type) {
		case *message.StreamEvent:
			if m.EventType == message.EventBlockDelta && cut != nil {
				cut()
				cut = nil
			}
		case *message.Result:
			result = m
		}
	}
	if cut != nil {
		t.Fatal("no piece of an answer came")
	}
	return result, nil
}

// tokens is what an answer costs, besides the few tokens of its text.
func tokens(n int) claudetest.ReplyUsage { return claudetest.ReplyUsage{InputTokens: n} }

// A proxy that is killed in the middle of an answer, and started again, costs the session a
// repeated request. What was spent before the kill still counts afterwards.
func TestRealProxyKilled(t *testing.T) {
	realcli.Needs(t, "2.1.325", "what it makes of 402")
	b := newKilledBench(t, 150_000, 0,
		claudetest.Say("first").Usage(tokens(90_000)), claudetest.Say("never heard in full").Hold(nil), claudetest.Say("heard").Usage(tokens(70_000)))
	if first, err := b.s.Ask(t.Context(), "hello"); err != nil || first.Text != "first" {
		t.Fatalf("%+v, %v", first, err)
	}
	result, err := b.cutTurn(t, func() {
		b.proxy.kill(t)
		if again := b.role.start(t); again.url != b.proxy.url || again.sentinel != b.proxy.sentinel {
			t.Errorf("the proxy is now at %s", again.url)
		}
	})
	if err != nil || result.Text != "heard" {
		t.Fatalf("%+v, %v", result, err)
	}
	// Neither part is beyond the budget by itself.
	_, err = b.s.Ask(t.Context(), "And?")
	if failed, ok := errors.AsType[*claude.ResultError](err); !ok || !strings.Contains(failed.Error(), "The budget of this conversation is spent") {
		t.Errorf("after 160,000 of 150,000 tokens: %v", err)
	}
	if n := len(b.model.Calls()); n != 3 {
		t.Errorf("the API was asked %d times", n)
	}
}

// If the proxy does not come back, the turn ends with an error that says so.
func TestRealProxyGone(t *testing.T) {
	realcli.Needs(t, "2.1.325", "what it makes of a refused connection")
	b := newKilledBench(t, 150_000, 1, claudetest.Say("never heard in full").Hold(nil))
	var killed time.Time
	_, err := b.cutTurn(t, func() {
		b.proxy.kill(t)
		killed = time.Now()
	})
	var failed *claude.ResultError
	if !errors.As(err, &failed) || !strings.Contains(strings.ToLower(err.Error()), "connect") {
		t.Errorf("the turn ends with %v", err)
	}
	t.Logf("after %v: %v", time.Since(killed), err)
}
