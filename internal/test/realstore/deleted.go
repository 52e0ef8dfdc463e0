package realstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Deleted shows that a store has nothing of a conversation of a fleet once it is deleted:
// what was said, by whom it was decided, how it ended, its title. look returns the places
// in the data of the store that have a text, in the form in which the store keeps them and
// after the wait that its guide prescribes.
func Deleted(t *testing.T, s store.Fleet, look func(t *testing.T, text string) []string) {
	t.Helper()
	realcli.Needs(t, firstMirror, "mirrored transcripts")
	mark := "mark-" + uuid.New()
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) > 0 || c.Side {
			return claudetest.Say("done with " + mark)
		}
		return claudetest.UseTool("Bash", map[string]string{"command": "echo " + mark, "description": "say it"})
	})
	m := newMachine(t, realcli.Tested(), model, nil)
	m.opts.Store = nil
	for range 2 { // a first session, and one that is resumed
		f := m.fleet(t, s)
		stop := allowAll(t, f)
		if err := f.Describe(t.Context(), "ada", fleet.Description{Title: mark, Labels: map[string]string{"about": mark}}); err != nil {
			t.Error(err)
		}
		id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "everything about " + mark})
		if err == nil {
			_, err = f.Wait(t.Context(), "ada", id)
		}
		if err != nil {
			t.Error(err)
		}
		stop()
		closeFleet(t, f)
	}
	if len(look(t, mark)) == 0 {
		t.Fatal("the store has nothing before it is deleted")
	}
	f := m.fleet(t, s)
	if err := f.Delete(t.Context(), "ada"); err != nil {
		t.Error(err)
	}
	closeFleet(t, f)
	if left := look(t, mark); len(left) > 0 {
		t.Errorf("Delete leaves\n%s", strings.Join(left, "\n"))
	}
}

// fleet opens a fleet on this machine, which asks about every call.
func (m *machine) fleet(t *testing.T, s store.Fleet) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Open(t.Context(), fleet.Options{
		Store: s, Project: "p", Journal: t.TempDir(), Logger: harness.Logger(t), Gate: &approval.Options{Patience: time.Minute},
		Session: func(context.Context, string) (*claude.Options, error) {
			o := *m.opts
			return &o, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closeFleet(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// allowAll decides every question of a fleet.
func allowAll(t *testing.T, f *fleet.Fleet) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for q, err := range f.Approvals().Watch(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
			if err != nil {
				return
			}
			if q.State != approval.StateOpen {
				continue
			}
			if _, err := f.Approvals().Decide(ctx, q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
