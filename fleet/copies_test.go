package fleet_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// No conversation is made of a copy that another process has given up for dead meanwhile:
// its session is being removed.
func TestForkGivenUpMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		s := &interceptor{Fleet: db}
		f := open(t, s, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		s.set(nil, func(k store.RecordKey, value []byte) error {
			if k.Kind != "copying" {
				return nil
			}
			s.set(nil, nil)
			var c map[string]any
			if err := json.Unmarshal(value, &c); err != nil {
				return err
			}
			c["abandoned"] = true
			value, err := json.Marshal(c)
			if err != nil {
				return err
			}
			r, err := store.Get(t.Context(), db, k)
			if err == nil {
				_, err = store.Put(t.Context(), db, k, value, r.Revision, store.Fence{})
			}
			return err
		})
		if err := f.Fork(t.Context(), "ada", "copy", ""); !errors.Is(err, store.ErrConflict) {
			t.Errorf("forked: %v", err)
		}
		if info, err := f.Get(t.Context(), "copy"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A session that was copied is removed only once its record says so: until then the
// process that made it may still make a conversation of it.
func TestCopyStaysUntilItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		s := &interceptor{Fleet: db}
		f := open(t, s, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "hello")
		before, writes := left(t, db), 0
		s.set(func(k store.RecordKey, _ []byte) error {
			if k.Kind == "copying" {
				if writes++; writes > 1 {
					return errDies
				}
			}
			return nil
		}, nil)
		if err := f.Fork(t.Context(), "ada", "copy", ""); !errors.Is(err, errDies) {
			t.Errorf("forked: %v", err)
		}
		after := slices.DeleteFunc(left(t, db), func(name string) bool { return slices.Contains(before, name) })
		if len(after) != 2 || after[0] != "copying "+after[1][len("session "):] {
			t.Errorf("there are %q", after)
		}
	})
}
