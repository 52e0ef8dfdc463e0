package tee_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The real CLI works behind a tee as without one, and its session is recorded.
func TestRealSession(t *testing.T) {
	path := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel(claudetest.Say("Recorded."))
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, _ := realcli.Env(t, url)
	file := filepath.Join(t.TempDir(), "session.ndjson")
	s, err := claude.Connect(t.Context(), &claude.Options{
		CLIPath: os.Args[0], Env: append(env, envFile+"="+file, envCLI+"="+path), Cwd: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Ask(t.Context(), "Say it.")
	if err != nil || result.Text != "Recorded." {
		t.Errorf("%v, %v", result, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	tr := transcript(t, file)
	if got := tr.Results(); len(got) != 1 || got[0].Text != "Recorded." || len(tr.Requests("initialize")) != 1 {
		t.Errorf("%d results, %d handshakes", len(got), len(tr.Requests("initialize")))
	}
}
