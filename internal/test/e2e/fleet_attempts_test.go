package e2e

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// startFunc is a transport.
type startFunc func(context.Context, *claude.Launch) (claude.Conn, error)

func (f startFunc) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	return f(ctx, l)
}

// A CLI that is late on every start is waited for longer each time, and the starts do not
// count as attempts: the prompt, which has only one, is answered.
func TestRealFleetSlowStart(t *testing.T) {
	t.Parallel()
	r := machine(t)
	var starts atomic.Int32
	r.opts.Transport = startFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
		starts.Add(1)
		return lateBy(3*time.Second).Start(ctx, l)
	})
	r.opts.Timeouts.Initialize = time.Second // real time: twice as long with each start
	f := r.fleet(t, store.Files(t.TempDir()), fleet.Options{Attempts: 1})
	defer closeFleet(t, f)
	text, err := lastText(f.Run(t.Context(), "ada", "mark-ada-0"))
	if err != nil || text != "mark-ada-0" || starts.Load() < 3 { // 1 s and 2 s are too short
		t.Errorf("after %d starts: %q, %v", starts.Load(), text, err)
	}
	t.Logf("answered after %d starts", starts.Load())
}

// holding is a machine whose model never answers.
func holding(t *testing.T) *real {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("never").Hold(nil) }))
	r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	return r
}

// A prompt whose program, or whose CLI, dies each time before the model has answered is
// given up after the usual three attempts.
func TestRealFleetGivenUp(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	const attempts = 3
	stuck := func(t *testing.T, r *real, f *fleet.Fleet) {
		t.Helper()
		_, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "work"}))
		if _, ok := errors.AsType[*fleet.StuckError](err); !ok || len(r.calls()) != attempts {
			t.Errorf("after %d calls of the model: %v", len(r.calls()), err)
		}
		ticket, err := f.Prompt(t.Context(), "ada", notedPrompt)
		if err != nil || ticket.Status != fleet.PromptStuck {
			t.Errorf("the prompt: %+v, %v", ticket, err)
		}
	}
	t.Run("the program is killed", func(t *testing.T) {
		t.Parallel()
		dir, r := t.TempDir(), holding(t)
		for n := range attempts {
			r.killed(t, dir, "work", 0, func(*os.Process) {
				eventually(t, "the model was not asked", func() bool { return len(r.calls()) == n+1 })
			})
		}
		f := r.fleet(t, store.Files(dir), fleet.Options{})
		defer closeFleet(t, f)
		stuck(t, r, f)
	})
	t.Run("the CLI is killed", func(t *testing.T) {
		t.Parallel()
		r := holding(t)
		clis := make(chan claude.Conn, 2*attempts)
		r.opts.Transport = startFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
			conn, err := claude.ChildProcess().Start(ctx, l)
			if err == nil {
				clis <- conn
			}
			return conn, err
		})
		f := r.fleet(t, store.Files(t.TempDir()), fleet.Options{})
		defer closeFleet(t, f)
		if _, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "work"}); err != nil {
			t.Fatal(err)
		}
		for n := range attempts {
			cli := <-clis
			eventually(t, "the model was not asked", func() bool { return len(r.calls()) == n+1 })
			if err := cli.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		stuck(t, r, f)
	})
}
