package fleet_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// queueOnly stores only the lines about a CLI's queue, as if the process died before
// the next batch.
type queueOnly struct{ store.Fleet }

func (s queueOnly) Append(ctx context.Context, k store.Key, b store.Batch) error {
	b.Entries = slices.DeleteFunc(slices.Clone(b.Entries), func(e store.Entry) bool { return !strings.Contains(string(e), "queue-operation") })
	if len(b.Entries) == 0 {
		return nil
	}
	return s.Fleet.Append(ctx, k, b)
}

// A process dies when the store has lines of a session, but no message. The CLI does
// not resume such a session: the prompt is sent in another one.
func TestNothingWasSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		defer cli.pause()()
		m := start(t, db, cli, func(o *fleet.Options) { o.Store = queueOnly{o.Store} })
		id := send(t, m.fleet, "ada", "work")
		<-time.After(10 * time.Second)
		if said := transcriptOf(t, db, m); !strings.Contains(said, "queue-operation") || strings.Contains(said, `"user"`) {
			t.Fatalf("the transcript: %s", said)
		}
		crash(t, m)
		m = start(t, db, newScripted(), nil) // which remembers no session of the first
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
	})
}
