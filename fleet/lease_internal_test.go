package fleet

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/lease"
	"github.com/claude-agent-go/claude/store"
)

// A process that was suspended, and does not know yet whether it still owns its
// conversation, lets no call begin and records none, even if no other process has taken
// its place so far.
func TestCallInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		suspended time.Duration
		records   int
	}{"sure": {0, 1}, "in doubt": {time.Minute, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				held, err := lease.Acquire(t.Context(), db, "p", leaseName(place("ada")), "machine", 30*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				w := newWaking(newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient}), &conversation{key: "ada"}, &owned{Held: held, lost: make(chan struct{})}, nil)
				<-time.After(c.suspended)
				out, err := w.release(t.Context(), &hook.PreToolUseInput{ToolBase: hook.ToolBase{ToolName: "Bash", ToolUseID: "toolu_1", ToolInput: json.RawMessage(`{}`)}})
				denied := out != nil && out.Decision == hook.PermissionDeny
				if err != nil || denied != (c.records == 0) {
					t.Errorf("%+v, %v", out, err)
				}
				n := 0
				for range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kindCalls}, "") {
					n++
				}
				if n != c.records {
					t.Errorf("%d records of calls", n)
				}
			})
		})
	}
}

// slowLeases takes its time to answer that a lease was taken, and never answers when it is
// renewed.
type slowLeases struct {
	*store.MemoryStore
	pause time.Duration
}

func (s slowLeases) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := s.MemoryStore.Acquire(ctx, project, name, owner, ttl)
	<-time.After(s.pause)
	return l, err
}

func (slowLeases) Renew(ctx context.Context, _ store.Lease) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// A lease counts from when the store was asked for it: however late the answer comes, it is
// lost before another process can have it.
func TestLeaseOfASlowStore(t *testing.T) {
	for _, pause := range []time.Duration{0, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			const ttl = 30 * time.Second
			h := newHouse(t.Context(), Options{Store: slowLeases{store.Memory(), pause}, Project: "p", Owner: "machine", TTL: ttl, StoreTimeout: patient})
			begin := time.Now()
			o, err := h.leases.own(t.Context(), "ada")
			if err != nil {
				t.Fatal(err)
			}
			<-o.lost
			if held := time.Since(begin); held >= ttl || held < ttl/2 {
				t.Errorf("an answer after %v: held for %v", pause, held)
			}
			o.stop()
			<-o.done
		})
	}
}
