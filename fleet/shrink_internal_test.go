package fleet

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/slots"
	"github.com/claude-agent-go/claude/store"
)

// heapNow is the size of the heap without garbage.
func heapNow() int {
	runtime.GC()
	runtime.GC() // what pools and finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// What is known of many conversations takes no memory when all of them are gone,
// wherever they were.
func TestShrinks(t *testing.T) {
	const rush, most = 20_000, 64 << 10
	key := func(i int) string { return fmt.Sprintf("t%d/c", i) }
	f := assemble(t.Context(), Options{})
	a := newAnnouncer(store.Memory(), nil)
	now := time.Now()
	for _, step := range []struct {
		name string
		come func(i int) (leave func())
	}{
		{"active", func(i int) func() {
			c := f.roster.conversation(key(i))
			return func() { f.roster.forget(c) }
		}},
		{"watched", func(i int) func() {
			_, end := a.listen(key(i))
			return end
		}},
		{"ready", func(i int) func() {
			return comes(f.roster.waitlist, &conversation{key: key(i), Seat: slots.Seat{Tenant: TenantOf(key(i))}}, now)
		}},
		{"later", func(i int) func() {
			return comes(f.roster.waitlist, &conversation{key: key(i), Seat: slots.Seat{Tenant: TenantOf(key(i)), After: now.Add(time.Hour)}}, now)
		}},
		{"elsewhere", func(i int) func() {
			return comes(f.roster.waitlist, &conversation{key: key(i), Seat: slots.Seat{Tenant: TenantOf(key(i)), Held: true}}, now)
		}},
		{"refused", func(i int) func() {
			leave := comes(f.roster.waitlist, &conversation{key: key(i), Seat: slots.Seat{Tenant: TenantOf(key(i))}}, now)
			f.roster.waitlist.Next(now, func(*conversation) bool { return false })
			return leave
		}},
	} {
		t.Run(step.name, func(t *testing.T) {
			before := heapNow()
			leave := make([]func(), rush)
			for i := range leave {
				leave[i] = step.come(i)
			}
			for _, one := range leave {
				one()
			}
			leave = nil
			if kept := heapNow() - before; kept > most {
				t.Errorf("%d bytes are kept", kept)
			}
			runtime.KeepAlive(f)
			runtime.KeepAlive(a)
		})
	}
}

// comes puts a conversation into a list, until leave is called.
func comes(w *slots.List[*conversation], c *conversation, now time.Time) (leave func()) {
	c.Wanted = true
	w.Put(c, now)
	return func() {
		c.Wanted = false
		w.Put(c, now)
	}
}
