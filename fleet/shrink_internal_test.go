package fleet

import (
	"fmt"
	"runtime"
	"testing"
	"time"

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
	f := &Fleet{active: make(map[string]*conversation), waitlist: newWaitlist()}
	a := newAnnouncer(store.Memory(), nil)
	now := time.Now()
	for _, step := range []struct {
		name string
		come func(i int) (leave func())
	}{
		{"active", func(i int) func() {
			c := f.conversation(key(i))
			return func() { f.forget(c) }
		}},
		{"watched", func(i int) func() {
			_, end := a.listen(key(i))
			return end
		}},
		{"ready", func(i int) func() { return comes(f.waitlist, &conversation{key: key(i)}, now) }},
		{"later", func(i int) func() {
			return comes(f.waitlist, &conversation{key: key(i), after: now.Add(time.Hour)}, now)
		}},
		{"elsewhere", func(i int) func() { return comes(f.waitlist, &conversation{key: key(i), held: true}, now) }},
		{"refused", func(i int) func() {
			leave := comes(f.waitlist, &conversation{key: key(i)}, now)
			f.waitlist.next(now, func(string) bool { return false })
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
func comes(w *waitlist, c *conversation, now time.Time) (leave func()) {
	c.wanted = true
	w.put(c, now)
	return func() {
		c.wanted = false
		w.put(c, now)
	}
}

// A map that moves loses nobody, and few moves are enough.
func TestDrop(t *testing.T) {
	const rush = 10_000
	m, most, moves := make(map[int]int), 0, 0
	for i := range rush {
		m[i] = -i
	}
	for i := range rush {
		was := most
		drop(&m, &most, i)
		if most < was {
			moves++
		}
		if len(m) != rush-1-i || i+1 < rush && m[rush-1] != 1-rush {
			t.Fatalf("after %d left, %d are there", i+1, len(m))
		}
	}
	if moves == 0 || moves > 4 {
		t.Errorf("%d moves", moves)
	}
	drop(&m, &most, 1) // who is not there
	if len(m) != 0 {
		t.Error(m)
	}
}

// A loop over a map that drops all its members sees each of them once.
func TestDropInLoop(t *testing.T) {
	const rush = 1_000
	m, most, seen := make(map[int]bool), 0, 0
	for i := range rush {
		m[i] = true
	}
	for i := range m {
		drop(&m, &most, i)
		seen++
	}
	if seen != rush || len(m) != 0 {
		t.Errorf("%d seen, %d left", seen, len(m))
	}
}

// The last items come one after another, even when the slice moves.
func TestDropLast(t *testing.T) {
	const rush = 1_000
	var s []int
	for i := range rush {
		s = append(s, i)
	}
	for i := rush - 1; i >= 0; i-- {
		if x := dropLast(&s); x != i || len(s) != i {
			t.Fatalf("%d instead of %d, %d left", x, i, len(s))
		}
	}
	if cap(s) > smallRoom {
		t.Errorf("room for %d is kept", cap(s))
	}
}
