package fleet

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Commands that change while the CLI runs are kept, as are members that a newer program
// has added to the record.
func TestChangedCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		h := newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient, Logger: slog.New(slog.DiscardHandler)})
		w := newWaking(h, &conversation{key: "ada"}, &owned{Held: held, lost: make(chan struct{})}, nil)
		if w.rec, err = w.records.create(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		at := w.records.key(kindCommands, place("ada"))
		if _, err := store.Put(t.Context(), db, at, []byte(`{"v":1,"commands":[{"name":"old"}],"since":[2]}`), 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		w.ctx = t.Context()
		w.see(&message.CommandsChanged{Commands: []control.Command{{Name: "new"}}})
		r, err := store.Get(t.Context(), db, at)
		if err != nil || !strings.Contains(string(r.Value), `"since":[2]`) || strings.Contains(string(r.Value), "old") {
			t.Errorf("the record is %s, %v", r.Value, err)
		}
		rec, err := w.records.load(t.Context(), "ada")
		if err != nil || rec.Commands == "" || rec.Commands != w.rec.Commands || rec.revision != w.rec.revision {
			t.Errorf("the conversation has %q at %d, the owner knows %q at %d, %v", rec.Commands, rec.revision, w.rec.Commands, w.rec.revision, err)
		}
	})
}

// A mode that the CLI changes to is kept as soon as it holds, and the owner knows what it
// wrote. One that is in force already is not written, nor is a choice that was taken back.
func TestChangedModeIsKeptAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		h := newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient, Logger: slog.New(slog.DiscardHandler)})
		c := &conversation{key: "ada", own: choices{mode: permission.ModePlan}}
		h.roster.active["ada"] = c
		w := newWaking(h, c, &owned{Held: held, lost: make(chan struct{})}, nil)
		if w.rec, err = w.records.create(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		w.ctx, w.own = t.Context(), choices{mode: permission.ModeDefault} // the options have changed since it started
		writes := w.rec.revision
		for _, step := range []struct {
			said message.Message
			kept permission.Mode
			news bool
		}{
			{&message.Init{PermissionMode: permission.ModeDefault}, "", false},
			{&message.Status{PermissionMode: permission.ModePlan}, "", false},
			{&message.Status{}, "", false},
			{&message.Status{PermissionMode: permission.ModeAcceptEdits}, permission.ModeAcceptEdits, true},
			{&message.Status{PermissionMode: permission.ModeAcceptEdits}, permission.ModeAcceptEdits, false},
			{&message.Init{PermissionMode: permission.ModeDefault}, permission.ModeDefault, true},
		} {
			w.see(step.said)
			rec, err := w.records.load(t.Context(), "ada")
			if err != nil || rec.Mode != step.kept || rec.revision != w.rec.revision || (rec.revision != writes) != step.news {
				t.Errorf("%+v: mode %q is kept at %d, the owner knows %q at %d, %v", step.said, rec.Mode, rec.revision, w.rec.Mode, w.rec.revision, err)
			}
			writes = rec.revision
		}
	})
}

// Commands are the same only if everything about them is.
func TestDigestOfCommands(t *testing.T) {
	var seen []string
	for _, list := range [][]control.Command{
		nil, {{Name: "a"}}, {{Name: "a"}, {Name: "b"}}, {{Name: "b"}, {Name: "a"}}, {{Name: "a", Description: "d"}}, {{Name: "a", ArgumentHint: "d"}}, {{Name: "a", Aliases: []string{"d"}}}, {{Name: "a", Builtin: true}},
	} {
		digest, err := digestOf(list)
		if err != nil || slices.Contains(seen, digest) || (digest == "") != (list == nil) {
			t.Errorf("the digest of %+v is %q, %v; before it were %q", list, digest, err, seen)
		}
		seen = append(seen, digest)
	}
}
