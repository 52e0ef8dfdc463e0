package mirror

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/store"
)

// What is stored stays stored: a wait for it ends at once, however the batches behind it
// are divided, and whether or not the store takes them.
func TestStoredStaysStored(t *testing.T) {
	for _, fails := range []int{0, 2, 3} { // of so many appends one
		t.Run(fmt.Sprint("every ", fails), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{MemoryStore: store.Memory()}
				m := New(config(s, t.TempDir()))
				m.Start()
				over, cancel := context.WithCancel(t.Context())
				cancel()
				known, calls := uint64(0), 0
				check := func() {
					t.Helper()
					if err := m.Wait(over, known); err != nil {
						t.Errorf("a wait for %d stored frames: %v", known, err)
					}
				}
				s.script(func(context.Context, store.Batch) error {
					check()
					if calls++; fails > 0 && calls%fails == 0 {
						return errFault
					}
					return nil
				})
				for _, frames := range []int{1, 2*maxEntries + 1, 1, maxEntries} { // groups of one batch and of several
					for n := range frames {
						sub := []string{"", "subagents/agent-1"}[n%2]
						m.Put(frame(sub, fmt.Sprintf(`{"uuid":"%d"}`, m.Count())))
					}
					if err := m.Wait(t.Context(), m.Count()); err != nil {
						t.Fatal(err)
					}
					known = m.Count()
					check()
				}
				if err := m.Close(t.Context()); err != nil {
					t.Error(err)
				}
				check()
			})
		})
	}
}
