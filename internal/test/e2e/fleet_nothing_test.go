package e2e

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// queueOnly stores only what a CLI does with its queue.
type queueOnly struct{ *store.FileStore }

func (s queueOnly) Append(ctx context.Context, k store.Key, b store.Batch) error {
	b.Entries = slices.DeleteFunc(slices.Clone(b.Entries), func(e store.Entry) bool { return !strings.Contains(string(e), "queue-operation") })
	if len(b.Entries) == 0 {
		return nil
	}
	return s.FileStore.Append(ctx, k, b)
}

// The store has nothing of a session but what the CLI did with its queue when the program
// ends. The CLI would refuse to resume it, so the next program begins another session.
func TestRealFleetNothingWasSaid(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	var asked atomic.Int32
	r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply {
		if asked.Add(1) == 1 {
			return claudetest.Say("cut off").Hold(nil)
		}
		return claudetest.Say("finally")
	}))
	dir, o := t.TempDir(), fleet.Options{Attempts: 1, Grace: 10 * time.Millisecond}
	f := r.fleet(t, queueOnly{store.Files(dir)}, o)
	id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "work"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the model is not asked", func() bool { return asked.Load() == 1 })
	stored(t, store.Files(dir), "p", "queue-operation")
	closeFleet(t, f)
	f = r.fleet(t, store.Files(dir), o)
	defer closeFleet(t, f)
	if ticket, err := f.Wait(t.Context(), "ada", id); err != nil || ticket.Text != "finally" {
		t.Errorf("%+v, %v", ticket, err)
	}
}
