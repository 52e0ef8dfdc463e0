package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A prompt that steers reaches the model of the real CLI in the turn that runs,
// with the result of its tool and before its answer; one result answers both, and
// the history has it once. So it is if the program dies when the turn has taken it
// in.
func TestRealFleetSteer(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "prompts that a turn takes in")
	for _, dies := range []bool{false, true} {
		t.Run(map[bool]string{false: "answered", true: "killed"}[dies], func(t *testing.T) { steerReal(t, dies) })
	}
}

func steerReal(t *testing.T, dies bool) {
	const first, second = "00000000-0000-4000-8000-0000000000a1", "00000000-0000-4000-8000-0000000000a2"
	dir := t.TempDir()
	tool := filepath.Join(dir, "go")
	var cut atomic.Bool
	asked := make(chan struct{}, 1)
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) == 0 {
			return bash("while ! test -e " + tool + "; do sleep 0.05; done")
		}
		if dies && cut.CompareAndSwap(false, true) {
			asked <- struct{}{}
			<-c.Context().Done() // the CLI is killed
		}
		raw, _ := json.Marshal(c.Messages)
		return claudetest.Say(fmt.Sprint("heard the second: ", strings.Contains(string(raw), "and run vet")))
	}))
	r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	db := store.Files(t.TempDir())
	f := r.fleet(t, db, fleet.Options{Grace: time.Nanosecond})
	defer func() { closeFleet(t, f) }()
	for _, p := range []fleet.Prompt{{ID: first, Text: "build it"}, {ID: second, Text: "and run vet", Steer: true}} {
		if _, err := f.Send(t.Context(), "ada", p); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the prompt did not reach the CLI", func() bool {
			o, err := f.Prompt(t.Context(), "ada", p.ID)
			return err == nil && o.Status == fleet.PromptRunning && len(r.calls()) > 0
		})
	}
	// The status is written before the CLI has the prompt, which notes it.
	key := stored(t, db, "p", "enqueue")
	eventually(t, "the CLI has not queued the prompt", func() bool { return strings.Count(storedText(t, db, key), `"enqueue"`) == 2 })
	if err := os.WriteFile(tool, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if dies {
		<-asked
		stored(t, db, "p", "queued_command")
		closeFleet(t, f) // which cuts the turn off
		f = r.fleet(t, db, fleet.Options{})
	}
	for _, id := range []string{first, second} {
		eventually(t, "the prompt has no answer", func() bool {
			o, err := f.Prompt(t.Context(), "ada", id)
			return err == nil && !o.Ended.IsZero()
		})
		if o, err := f.Prompt(t.Context(), "ada", id); err != nil || o.Status != fleet.PromptAnswered || o.Text != "heard the second: true" {
			t.Errorf("%s: %s %q %s, %v", id, o.Status, o.Text, o.Error, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var said []string
	for e, err := range f.Events(ctx, "ada", "") {
		if a, ok := e.Message.(*message.Assistant); err == nil && ok && strings.HasPrefix(a.Text(), "heard") {
			break
		}
		if u, ok := e.Message.(*message.User); err == nil && ok && len(u.ToolResults()) == 0 {
			said = append(said, u.UUID)
		}
	}
	if !slices.Equal(said, []string{first, second}) {
		t.Errorf("the history has the prompts %q", said)
	}
}
