package serve_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// shell runs the CLI alone, as a person does in a shell.
type shell struct {
	t        *testing.T
	cli, dir string
	env      []string
}

// say sends a prompt to a session, a new one if it has no id, and returns its id.
func (s *shell) say(session, prompt string) string {
	s.t.Helper()
	args := []string{"-p", prompt, "--output-format", "json"}
	if session != "" {
		args = append(args, "--resume", session)
	}
	cmd := exec.CommandContext(s.t.Context(), s.cli, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	var result struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal(out, &result); err != nil || result.Session == "" {
		s.t.Fatalf("%v: %s", err, out)
	}
	return result.Session
}

// A session that was begun with the CLI alone continues as a conversation of the
// server, and as a copy; the model hears all that was said before, and the CLI alone
// nothing of either. While a CLI has the session open, it is not resumed.
func TestRealResume(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply { return claudetest.Say("noted: " + c.Prompt) })
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, base)
	env = append(env, mark)
	config, root := filepath.Join(home, ".claude"), t.TempDir()
	alone := &shell{t, cli, root, env}
	session := alone.say("", "the first")
	if got := alone.say(session, "the second"); got != session {
		t.Fatalf("the CLI continues %s as %s", session, got)
	}
	file := only(t, filepath.Join(config, "projects", "*", session+".jsonl"))

	quiet := slog.New(slog.DiscardHandler)
	db := store.Files(t.TempDir())
	presets := []serve.Preset{{Name: "shop", Roots: []string{root}, Options: &claude.Options{CLIPath: cli, Env: env, Logger: quiet}}}
	r := newRealRig(t, fleet.Options{Store: db, IdleAfter: time.Second}, serve.Options{Presets: presets, History: history.Disk(config)})
	ada := r.as("ada", api.RoleAdmin)
	begin := func(c api.NewConversation) api.Conversation {
		t.Helper()
		made := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", c), http.StatusCreated)
		ada.follow("/v1/conversations/"+made.ID+"/events?after=0", func(e sse) bool { return e.event == "turn" })
		return made
	}
	heard := func(who string, prompts ...string) {
		t.Helper()
		var last string
		for _, call := range model.Calls() {
			if !call.Side {
				last = string(call.Raw)
			}
		}
		for _, prompt := range []string{"the first", "noted: the first", "the second", "noted: the second", "the copy's", "the third", "the fourth"} {
			said := false
			for _, p := range prompts {
				said = said || p == prompt || "noted: "+p == prompt
			}
			if got := strings.Contains(last, prompt); got != said {
				t.Errorf("%s: the model hears %q: %v, want %v", who, prompt, got, said)
			}
		}
	}

	open, err := claude.Connect(t.Context(), &claude.Options{CLIPath: cli, Env: env, Cwd: root, Resume: session, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	p := want[api.Problem](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: session}), http.StatusConflict)
	if p.Type != "/problems/session-open" {
		t.Errorf("while a CLI has it open: %+v", p)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file) // a CLI notes when it ends
	if err != nil {
		t.Fatal(err)
	}

	begin(api.NewConversation{Preset: "shop", Fork: &api.ForkFrom{Session: session}, Content: api.Text("the copy's")})
	heard("the copy", "the first", "the second", "the copy's")
	c := begin(api.NewConversation{Preset: "shop", Resume: session, Content: api.Text("the third")})
	heard("the conversation", "the first", "the second", "the third")
	if c.Session != session {
		t.Errorf("%+v", c)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file on disk has changed, %v", err)
	}
	alone.say(session, "the fourth")
	heard("the CLI alone", "the first", "the second", "the fourth")
}

// only returns the only file of a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	return found[0]
}
