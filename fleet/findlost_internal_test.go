package fleet

import (
	"testing"

	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// If the look for lost calls fails, at whichever call of the store, the next one looks again
// and finds them.
func TestFindLostLooksAgain(t *testing.T) {
	for n, more := 1, true; more && n < 20; n++ {
		db := store.Memory()
		left := 0
		faulty := storefault.Wrap(db, func(storefault.Call) storefault.Kind {
			if left--; left == 0 {
				return storefault.Fail
			}
			return storefault.None
		})
		held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", patient)
		if err != nil {
			t.Fatal(err)
		}
		w := newWaking(newHouse(t.Context(), Options{Store: faulty, Project: "p", StoreTimeout: patient}), &conversation{key: "ada"}, &owned{Held: held, lost: make(chan struct{})}, nil)
		const written = `{"v":1,"calls":[{"id":"toolu_1","tool":"Bash","digest":"d"}]}`
		if _, err := store.Put(t.Context(), db, w.records.key(kindCalls, place("ada")), []byte(written), 0, held.Fence); err != nil {
			t.Fatal(err)
		}
		w.rec = record{Key: "ada", Session: "0b0f5d5e-0000-4000-8000-000000000001"}
		left = n
		first := w.findLost(t.Context(), nil)
		more = left <= 0
		left = 0
		if (first != nil) != more {
			t.Errorf("call %d: %v", n, first)
		}
		if err := w.findLost(t.Context(), nil); err != nil || len(w.going.untold()) != 1 {
			t.Errorf("call %d failed: the next look finds %v, %v", n, w.going.untold(), err)
		}
		if !more && n < 2 {
			t.Errorf("only %d calls of the store", n-1)
		}
	}
}
