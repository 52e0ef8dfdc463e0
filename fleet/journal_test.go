package fleet_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A process whose store is away for longer than its lease keeps what its CLI has said in a
// journal, and meanwhile another process answers. The journal can no longer be imported: the
// model would not see what was said since.
func TestJournalOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli, journals := store.Memory(), newScripted(), t.TempDir()
		first := start(t, db, cli, func(o *fleet.Options) { o.Journal = journals })
		defer closeFleet(t, first.fleet)
		ask(t, first.fleet, "ada", "one")
		release := cli.pause()
		id := send(t, first.fleet, "ada", "two")
		<-time.After(time.Second) // the prompt is stored
		first.mu.Lock()
		first.failing = func(string) bool { return true }
		first.mu.Unlock()
		release()
		<-time.After(35 * time.Second) // longer than the lease
		second := start(t, db, cli, nil)
		defer closeFleet(t, second.fleet)
		<-time.After(time.Minute)
		answered := outcome(t, second.fleet, "ada", id)
		if answered.Status != fleet.PromptAnswered {
			t.Fatalf("the other process: %+v", answered)
		}
		meanwhile := ask(t, second.fleet, "ada", "three")
		before := answers(t, second.fleet, "ada")
		if !slices.Contains(before, answered.Text) || !slices.Contains(before, meanwhile) {
			t.Errorf("the transcript has %q", before)
		}

		left, err := filepath.Glob(filepath.Join(journals, "*.journal"))
		if err != nil || len(left) != 1 {
			t.Fatalf("the journals are %q, %v", left, err)
		}
		said := 0
		for b, err := range store.ReadJournal(left[0]) {
			if err != nil {
				t.Fatal(err)
			}
			said += len(b.Batch.Entries)
		}
		if n, err := store.ImportJournal(t.Context(), db, left[0], store.Fence{}); n != 0 || !errors.Is(err, store.ErrOvertaken) || said == 0 {
			t.Errorf("ImportJournal of %d lines = %d, %v", said, n, err)
		}
		<-time.After(5 * time.Minute) // the CLI sleeps, and the next one reads the transcript
		if got := ask(t, second.fleet, "ada", "four"); got != "heard one, two, three, four" {
			t.Errorf("the next prompt: %q", got)
		}
		if after := answers(t, second.fleet, "ada"); len(after) != len(before)+1 || !slices.Equal(after[:len(before)], before) {
			t.Errorf("the transcript had %q, and has %q", before, after)
		}
	})
}
