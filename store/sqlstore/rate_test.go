package sqlstore_test

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// Two programs with one SQLite file take no more prompts of a tenant together than its
// rate allows.
func TestTenantRateOfTwoPrograms(t *testing.T) {
	source := "sqlite:" + filepath.Join(t.TempDir(), "agents.db")
	var programs []*fleet.Fleet
	for range 2 {
		db, err := sqlstore.Open(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		f, err := fleet.Open(t.Context(), fleet.Options{
			Store: db, Project: "p", MaxLive: fleet.NoCLIs, StoreTimeout: time.Minute,
			TenantRate: fleet.Rate{Prompts: 5, Per: 24 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close(t.Context())
		programs = append(programs, f)
	}
	var accepted, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := programs[i%2].Send(t.Context(), "acme/"+string(rune('a'+i%4)), fleet.Prompt{Text: "x"})
			switch {
			case err == nil:
				accepted.Add(1)
			case errors.Is(err, fleet.ErrOverloaded):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if accepted.Load() != 5 || refused.Load() != 15 {
		t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
	}
}
