package serve

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// Every server hears once of each log that another one has written, and of none that it
// has written itself.
func TestPulse(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	var heard [2][]string
	var servers [2]*pulse
	for i := range servers {
		servers[i] = newPulse(db, "p", slog.New(slog.DiscardHandler), func(sums []string) {
			if sums == nil {
				sums = []string{"all"}
			}
			heard[i] = append(heard[i], sums...)
		})
	}
	beat := func(which ...int) {
		t.Helper()
		for _, i := range which {
			if err := servers[i].beat(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(i int, keys ...string) {
		t.Helper()
		for j := range keys {
			keys[j] = pulseSum(keys[j])
		}
		slices.Sort(keys)
		slices.Sort(heard[i])
		if !slices.Equal(heard[i], keys) {
			t.Errorf("server %d heard %v, want %v", i, heard[i], keys)
		}
		heard[i] = nil
	}
	servers[0].mark("old")
	beat(0, 1) // a server does not hear what was written before it began
	expect(1)
	servers[0].mark("a")
	servers[0].mark("b")
	beat(0, 0, 1, 1, 0)
	expect(0)
	expect(1, "a", "b")
	servers[1].mark("b")
	servers[0].mark("c")
	beat(1, 0, 1)
	expect(0, "b")
	expect(1, "c")
	for i := range pulseKeeps + 1 { // more than the pulse remembers
		servers[0].mark(fmt.Sprint("many ", i))
	}
	beat(0, 1)
	if !slices.Equal(heard[1], []string{"all"}) {
		t.Errorf("%d of %d logs were heard", len(heard[1]), pulseKeeps+1)
	}
	if n := len(servers[1].note.Written); n != pulseKeeps {
		t.Errorf("the pulse remembers %d logs", n)
	}
}
