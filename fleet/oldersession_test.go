package fleet_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// moveOn gives a conversation another session, and returns the one that it had.
func moveOn(t *testing.T, db store.Fleet, key string) (older string) {
	t.Helper()
	k := store.RecordKey{Project: "p", Kind: "conversation", Name: "c/" + key}
	r, err := store.Get(t.Context(), db, k)
	if err != nil {
		t.Fatal(err)
	}
	var rec map[string]any
	if err := json.Unmarshal(r.Value, &rec); err != nil {
		t.Fatal(err)
	}
	older, _ = rec["session"].(string)
	rec["older"], rec["session"] = []string{older}, "00000000-0000-4000-8000-00000000000f"
	value, err := json.Marshal(rec)
	if err == nil {
		_, err = store.Put(t.Context(), db, k, value, r.Revision, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return older
}

// A session from a disk that a conversation began with stays that conversation's, even when
// it has moved on to another one.
func TestResumeOlderSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, db, cli := newDisk(t, "one"), store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		if err := f.Resume(t.Context(), "ada", d.from()); err != nil {
			t.Fatal(err)
		}
		closeFleet(t, f)
		moveOn(t, db, "ada")
		f = open(t, db, cli, nil)
		defer closeFleet(t, f)
		err := f.Resume(t.Context(), "bob", d.from())
		if held, ok := errors.AsType[*fleet.ResumedError](err); !ok || held.Key != "ada" {
			t.Errorf("a second conversation: %v", err)
		}
	})
}

// A copy whose record a crash left behind keeps its session, even when the conversation that
// was made of it has moved on to another one.
func TestCopyThatMovedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		ask(t, f, "ada", "hello")
		if err := f.Fork(t.Context(), "ada", "bob", ""); err != nil {
			t.Fatal(err)
		}
		closeFleet(t, f)
		session := moveOn(t, db, "bob")
		value, err := json.Marshal(map[string]any{"key": "bob", "session": session, "at": time.Now()})
		if err == nil {
			_, err = store.Put(t.Context(), db, store.RecordKey{Project: "p", Kind: "copying", Name: session}, value, 0, store.Fence{})
		}
		if err != nil {
			t.Fatal(err)
		}
		f = open(t, db, cli, nil)
		defer closeFleet(t, f)
		<-time.After(20 * time.Minute)
		if left := allRecords(t, db, "copying"); len(left) != 0 {
			t.Errorf("left are %q", left)
		}
		if tr, err := history.In(db, "p").Read(t.Context(), session); err != nil || tr.Len() != 2 {
			t.Errorf("the session of the copy: %v", err)
		}
	})
}
