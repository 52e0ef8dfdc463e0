package fleet

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A mode that a person has chosen is not replaced by an earlier one that the CLI says late.
func TestChosenModeWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		h := newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient, Logger: slog.New(slog.DiscardHandler)})
		c := &conversation{key: "ada"}
		h.roster.active["ada"] = c
		w := newWaking(h, c, &owned{Held: held, lost: make(chan struct{})}, nil)
		if w.rec, err = w.records.create(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		w.ctx = t.Context()
		choose := func(m permission.Mode) {
			if _, err := w.records.change(t.Context(), "ada", store.Fence{}, func(r *record) error { r.chooseMode(m); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		kept := func(what string, want permission.Mode) {
			t.Helper()
			rec, err := w.records.load(t.Context(), "ada")
			if err != nil || rec.Mode != want {
				t.Errorf("%s: the record has %q, want %q, %v", what, rec.Mode, want, err)
			}
		}
		w.see(&message.Init{PermissionMode: permission.ModeDefault})
		choose(permission.ModeBypassPermissions)
		choose(permission.ModePlan) // at once: bypass was a mistake
		w.see(&message.Status{PermissionMode: permission.ModeBypassPermissions})
		kept("the first choice is said late", permission.ModePlan)
		w.see(&message.Status{PermissionMode: permission.ModePlan})
		kept("the last is said", permission.ModePlan)
		w.see(&message.Status{PermissionMode: permission.ModeAcceptEdits})
		kept("the CLI changes it", permission.ModeAcceptEdits)
		choose(permission.ModeDefault)
		w.see(&message.Status{PermissionMode: permission.ModePlan})
		kept("a person has chosen since", permission.ModeDefault)
		w.see(&message.Status{PermissionMode: permission.ModeDefault})
		w.see(&message.Status{PermissionMode: permission.ModePlan})
		kept("the CLI changes it again", permission.ModePlan)
		choose(permission.ModeBypassPermissions)
		choose(permission.ModePlan)
		w.see(&message.Status{PermissionMode: permission.ModeBypassPermissions})
		kept("a mistake that was taken back is said late", permission.ModePlan)
	})
}
