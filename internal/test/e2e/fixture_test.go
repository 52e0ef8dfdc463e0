package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// real is the real CLI with a scripted model behind it.
type real struct {
	model *claudetest.Model
	mark  string // in the environment of its processes
	dir   string // working directory
	home  string
	opts  *claude.Options
}

// realCLI returns options for the real CLI, isolated from everything but a
// scripted model on loopback.
func realCLI(t *testing.T, replies ...claudetest.Reply) *real {
	t.Helper()
	return startReal(t, claudetest.NewModel(replies...))
}

func startReal(t *testing.T, model *claudetest.Model) *real {
	t.Helper()
	path := realcli.Need(t, realcli.Tested())
	mark := leak.Processes(t)
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, url)
	dir := t.TempDir()
	return &real{model: model, mark: mark, dir: dir, home: home, opts: &claude.Options{
		CLIPath: path, Env: append(env, mark), Cwd: dir, Logger: harness.Logger(t),
	}}
}

// calls returns what the model was asked in conversations. Old CLIs ask more
// besides than new ones.
func (r *real) calls() []*claudetest.ModelCall {
	return slices.DeleteFunc(r.model.Calls(), func(c *claudetest.ModelCall) bool { return c.Side })
}

// ended reports whether a turn ended for a reason, as far as the CLI names it.
func ended(res *message.Result, reason message.TerminalReason) bool {
	return res.TerminalReason == reason || !realcli.Has("2.1.325") && res.TerminalReason == ""
}

// transcript returns what the CLI has written of a session, sessions of its
// subagents aside.
func (r *real) transcript(t *testing.T, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.home, ".claude", "projects", "*", id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the transcripts of %s are %q, %v", id, found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// connect starts a session that is closed at the end of the test.
func (r *real) connect(t *testing.T) *claude.Session {
	t.Helper()
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("Wait = %v", err)
		}
	})
	return s
}

func errorOf[T any](_ T, err error) error { return err }

func allowAll(context.Context, *permission.Request) (permission.Decision, error) {
	return permission.Allow(), nil
}

func noHook() hook.Hook {
	return hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, nil })
}
