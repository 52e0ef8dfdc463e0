package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/store"
)

// A process without CLIs keeps nothing in memory of conversations that it has retried,
// or whose prompts it has cancelled.
func TestNoCLIsForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := Open(t.Context(), Options{Store: store.Memory(), Project: "p", MaxLive: NoCLIs})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close(t.Context())
		for n := range 10 {
			key := fmt.Sprintf("tenant%d/ada", n)
			id, err := f.Send(t.Context(), key, Prompt{Text: "unwanted"})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Retry(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if err := f.Cancel(t.Context(), key, id); err != nil {
				t.Fatal(err)
			}
			if err := f.Retry(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		f.roster.mu.Lock()
		defer f.roster.mu.Unlock()
		if len(f.roster.active) != 0 || f.roster.waitlist.Tenants() != 0 {
			t.Errorf("%d conversations and %d tenants are in memory", len(f.roster.active), f.roster.waitlist.Tenants())
		}
	})
}
