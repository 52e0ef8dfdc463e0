package approval_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/store"
)

// brokenOff is a store with a question about a call at which the transcript breaks off.
func brokenOff(t *testing.T, db *store.MemoryStore, r store.Records) (*approval.Questions, approval.Question, store.Key) {
	t.Helper()
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-0000000000aa"}
	lines := []store.Entry{
		store.Entry(strings.Replace(string(transcriptLine("user", `"build it"`, 1)), "2.1.325", "2.1.300", 1)), // before an update
		transcriptLine("assistant", `[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]`, 2),
	}
	if err := db.Append(t.Context(), k, store.Batch{ID: "1", Entries: lines}); err != nil {
		t.Fatal(err)
	}
	in := approval.NewQuestions(r, "p")
	return in, ask(t, in, question("toolu_1")), k
}

func linesOf(t *testing.T, db store.Transcripts, k store.Key) (lines []string) {
	t.Helper()
	for e, err := range store.Entries(t.Context(), db, k) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(e))
	}
	return lines
}

// The line that defers a call is that of the CLI that made it, and bears the time of the
// store's clock.
func TestRecoverMarker(t *testing.T) {
	db := store.Memory()
	in, q, k := brokenOff(t, db, remote{db, time.Hour})
	begin := time.Now().Add(time.Hour)
	if _, err := in.Recover(t.Context(), db, k, q.ID, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	lines := linesOf(t, db, k)
	marker := lines[len(lines)-1]
	if !strings.Contains(marker, `"version":"2.1.325"`) || !strings.Contains(marker, `"cwd":"/repo"`) {
		t.Errorf("the marker is %s", marker)
	}
	_, text, _ := strings.Cut(marker, `"timestamp":"`)
	text, _, _ = strings.Cut(text, `"`)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Before(begin.Add(-time.Second)) || at.After(time.Now().Add(time.Hour+time.Minute)) {
		t.Errorf("it was deferred at %q (%v), want about %v", text, err, begin)
	}
}

// An owner whose lease is lost neither writes to the transcript nor changes the question,
// whether the marker is there or not.
func TestRecoverIsFenced(t *testing.T) {
	db := store.Memory()
	in, q, k := brokenOff(t, db, db)
	old, err := db.Acquire(t.Context(), "p", "user-42", "first", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Release(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	before := linesOf(t, db, k)
	refused := func(what string) {
		t.Helper()
		if _, err := in.Recover(t.Context(), db, k, q.ID, old.Fence); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s: %v", what, err)
		}
		if now := linesOf(t, db, k); !slices.Equal(now, before) {
			t.Errorf("%s: the lines are %q", what, now)
		}
		if now, err := in.Get(t.Context(), q.ID); err != nil || now.Deferred {
			t.Errorf("%s: deferred %v, %v", what, now.Deferred, err)
		}
	}
	refused("without a marker")
	// A process may have died between the marker and the question.
	other := approval.NewQuestions(store.Memory(), "p")
	same := ask(t, other, question("toolu_1"))
	if _, err := other.Recover(t.Context(), db, k, same.ID, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	before = linesOf(t, db, k)
	refused("with a marker")
	if now, err := in.Recover(t.Context(), db, k, q.ID, store.Fence{}); err != nil || !now.Deferred {
		t.Errorf("the owner: deferred %v, %v", now.Deferred, err)
	}
	if now := linesOf(t, db, k); !slices.Equal(now, before) {
		t.Errorf("the marker is there twice: %q", now)
	}
}

// cutOff is a store whose transcripts cannot be written.
type cutOff struct {
	*store.MemoryStore
	write error
}

func (c *cutOff) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if c.write != nil {
		return c.write
	}
	return c.MemoryStore.Append(ctx, k, b)
}

// The question stays as it was if the transcript cannot be written.
func TestRecoverFaults(t *testing.T) {
	db := &cutOff{MemoryStore: store.Memory(), write: errDown}
	in, q, k := brokenOff(t, db.MemoryStore, db)
	if got, err := in.Recover(t.Context(), db, k, q.ID, store.Fence{}); !errors.Is(err, errDown) || got.Deferred {
		t.Errorf("deferred %v, %v", got.Deferred, err)
	}
	if now, err := in.Get(t.Context(), q.ID); err != nil || now.Deferred {
		t.Errorf("deferred %v, %v", now.Deferred, err)
	}
	db.write = nil
	if got, err := in.Recover(t.Context(), db, k, q.ID, store.Fence{}); err != nil || !got.Deferred {
		t.Errorf("again: deferred %v, %v", got.Deferred, err)
	}
}
