package fleet_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// rewrite changes the only record of a kind, as another program does.
func rewrite(t *testing.T, db store.Records, kind string, change func(string) string) {
	t.Helper()
	r := onlyRecord(t, db, kind)
	if _, err := db.PutRecord(t.Context(), r.Key, []byte(change(string(r.Value))), r.Revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

func onlyRecord(t *testing.T, db store.Records, kind string) (only store.Record) {
	t.Helper()
	n := 0
	for r, err := range db.ScanRecords(t.Context(), "p", kind, "") {
		if err != nil {
			t.Fatal(err)
		}
		only = r
		n++
	}
	if n != 1 {
		t.Fatalf("%d records of kind %s, want 1", n, kind)
	}
	return only
}

// newerBy writes what a newer version of this module would.
func newerBy(value string) string { return strings.Replace(value, `"v":1`, `"v":2`, 1) }

// A fleet does not touch what a newer one has written.
func TestNewerRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
		defer closeFleet(t, f)
		send(t, f, "ada", "one")
		for _, kind := range []string{"conversation", "prompt"} {
			if r := onlyRecord(t, db, kind); !bytes.HasPrefix(r.Value, []byte(`{"v":1,`)) {
				t.Errorf("%s: %s", kind, r.Value)
			}
		}
		rewrite(t, db, "conversation", newerBy)
		before := onlyRecord(t, db, "conversation")
		for name, do := range map[string]func() error{
			"Send":     func() error { _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"}); return err },
			"SetModel": func() error { return f.SetModel(t.Context(), "ada", "opus") },
			"Delete":   func() error { return f.Delete(t.Context(), "ada") },
			"Get":      func() error { _, err := f.Get(t.Context(), "ada"); return err },
			"List": func() (err error) {
				for _, err = range f.List(t.Context()) {
				}
				return err
			},
		} {
			if err := do(); !errors.Is(err, store.ErrNewer) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := onlyRecord(t, db, "conversation"); after.Revision != before.Revision {
			t.Errorf("the record was changed: %s", after.Value)
		}
		rewrite(t, db, "prompt", newerBy)
		if _, err := fleet.Open(t.Context(), fleet.Options{Store: db, Project: "p", MaxLive: fleet.NoCLIs}); !errors.Is(err, store.ErrNewer) {
			t.Errorf("Open: %v", err)
		}
	})
}

// Members that a newer program has added to a record, without making it another version,
// are there after a change.
func TestUnknownMembersSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		client := open(t, db, nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
		send(t, client, "ada", "one")
		closeFleet(t, client)
		const more = `"future":{"a":[1]}`
		for _, kind := range []string{"conversation", "prompt"} {
			// As a program wrote it that knew no versions.
			rewrite(t, db, kind, func(value string) string { return "{" + more + strings.TrimPrefix(value, `{"v":1`) })
		}
		cli := newScripted()
		release := cli.pause()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		defer release()
		synctest.Wait() // the prompt has begun
		for _, kind := range []string{"conversation", "prompt"} {
			value := string(onlyRecord(t, db, kind).Value)
			if !strings.HasPrefix(value, `{"v":1,`) || !strings.Contains(value, more) {
				t.Errorf("%s after a change: %s", kind, value)
			}
		}
	})
}
