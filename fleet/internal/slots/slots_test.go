package slots

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// conversation is one of a fleet.
type conversation struct {
	key string
	Seat
}

// wanted is a conversation that needs a slot.
func wanted(key string, since uint64) *conversation {
	tenant, _, _ := strings.Cut(key, "/")
	return &conversation{key, Seat{Tenant: tenant, Wanted: true, Since: since}}
}

// people makes a waitlist of so many conversations that need a slot, in so many
// tenants, and counts how often two are compared.
func people(conversations, tenants int) (w *List[*conversation], all []*conversation, compared *int) {
	w, compared = New[*conversation](), new(int)
	count := func(c *indexedHeap[*conversation]) {
		before := c.before
		c.before = func(a, b *conversation) bool { *compared++; return before(a, b) }
	}
	order := w.order.before
	w.order.before = func(a, b *line[*conversation]) bool { *compared++; return order(a, b) }
	count(&w.later)
	count(&w.leased)
	for i := range conversations {
		c := wanted(fmt.Sprintf("t%d/c%d", i%tenants, i), uint64(i+1))
		if l := w.line(c); l.ready.Len() == 0 {
			count(&l.ready)
		}
		w.Put(c, time.Time{})
		all = append(all, c)
	}
	return w, all, compared
}

func always(*conversation) bool { return true }

// A step of the scheduler costs next to nothing however many conversations wait.
func TestStepCost(t *testing.T) {
	const waiting, steps = 10_000, 2_000
	for _, tenants := range []int{1, 100, waiting} {
		w, _, compared := people(waiting, tenants)
		*compared = 0
		now, order, asked := time.Now(), uint64(waiting), 0
		for range steps { // it gets a slot, gives it back, and waits again behind the others
			order++
			c := w.Next(now, func(*conversation) bool { asked++; return true })
			c.Awake = true
			w.Put(c, now)
			w.Slot(c, 1, order)
			c.Awake, c.Since = false, order+1
			w.Slot(c, -1, 0)
			w.Put(c, now)
		}
		if per := *compared / steps; per > 250 || asked != steps {
			t.Errorf("%d tenants: %d comparisons in a step, and Runs was asked %d times in %d", tenants, per, asked, steps)
		}
	}
}

// Whatever happens to the conversations, the next one is the one that a look at all of
// them finds: of the tenant with the fewest slots, then of the one that has not got any
// for longest, then the one that has waited longest.
func TestWaitlistOrder(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w, all, _ := people(40, 6)
		now, order := time.Now(), uint64(1000)
		runs := func(c *conversation) bool { return c.key != "t1/c1" }
		for step := range 500 {
			c := all[rng.IntN(len(all))]
			order++
			switch rng.IntN(7) {
			case 0:
				c.Wanted, c.Since = !c.Wanted, order
			case 1:
				if !c.Awake {
					c.After = now.Add(time.Duration(rng.IntN(5)) * time.Second)
				}
			case 2:
				c.Stopped = !c.Stopped
			case 3:
				c.Held = !c.Held
			case 4:
				now = now.Add(time.Second)
			default:
				c = changeSlot(w, c, now, runs, order)
			}
			w.Put(c, now)
			w.Reconsider(now)
			if got, want := w.Next(now, runs), first(w, all, now, runs); got != want {
				t.Fatalf("seed %d, step %d: %+v is next, want %+v", seed, step, got, want)
			}
		}
	}
}

// changeSlot takes a slot from a conversation, or gives one to the next.
func changeSlot(w *List[*conversation], c *conversation, now time.Time, runs func(*conversation) bool, order uint64) *conversation {
	if c.Awake {
		c.Awake = false
		w.Slot(c, -1, 0)
		return c
	}
	if next := w.Next(now, runs); next != nil {
		next.Awake = true
		w.Put(next, now)
		w.Slot(next, 1, order)
		return next
	}
	return c
}

// first looks at all conversations.
func first(w *List[*conversation], all []*conversation, now time.Time, runs func(*conversation) bool) (best *conversation) {
	for _, c := range all {
		if !c.Wanted || c.Awake || c.Stopped || c.Held || c.After.After(now) || !runs(c) {
			continue
		}
		if best == nil {
			best = c
			continue
		}
		x, y := w.line(c), w.line(best)
		if cmp.Or(cmp.Compare(x.slots, y.slots), cmp.Compare(x.served, y.served), cmp.Compare(c.Since, best.Since)) < 0 {
			best = c
		}
	}
	return best
}

// A conversation that this process may not run is not asked about at each step, and is
// looked at again when it is time to.
func TestRefused(t *testing.T) {
	w, all, _ := people(1000, 10)
	asked := 0
	never := func(*conversation) bool { asked++; return false }
	for range 100 {
		if c := w.Next(time.Now(), never); c != nil {
			t.Fatalf("%s is next", c.key)
		}
	}
	if asked != len(all) {
		t.Errorf("Runs was asked %d times about %d conversations", asked, len(all))
	}
	w.Reconsider(time.Now())
	if c := w.Next(time.Now(), always); c != all[0] {
		t.Errorf("%+v is next", c)
	}
}

// Tenants come and go, and nothing is kept of those that are gone.
func TestTenantsForgotten(t *testing.T) {
	w, now, order := New[*conversation](), time.Now(), uint64(0)
	for n := range 10_000 {
		order++
		c := wanted(fmt.Sprintf("t%d/c", n), order)
		switch n % 4 {
		case 0: // is never woken
			w.Put(c, now)
			c.Wanted = false
		case 1: // has to wait for its time
			c.After = now.Add(time.Second)
			w.Put(c, now)
			c.Wanted = false
		case 2: // another process has it
			c.Held = true
			w.Put(c, now)
			c.Wanted = false
		default:
			w.Put(c, now)
			if next := w.Next(now, always); next != c {
				t.Fatalf("%+v is next", next)
			}
			order++
			w.Slot(c, 1, order)
			c.Awake = true
			w.Put(c, now)
			c.Awake, c.Wanted = false, false
			w.Put(c, now)
			w.Slot(c, -1, 0)
		}
		w.Put(c, now)
	}
	if len(w.lines) != 0 || w.order.Len() != 0 || w.later.Len() != 0 || w.leased.Len() != 0 {
		t.Errorf("%d tenants are left, of which %d wait", len(w.lines), w.order.Len())
	}
}

// A tenant that leaves after each slot and comes back gets no more of them than
// those that stay, and no fewer.
func TestTenantComesBack(t *testing.T) {
	w, now, order := New[*conversation](), time.Now(), uint64(0)
	arrive := func(key string) {
		order++
		w.Put(wanted(key, order), now)
	}
	const rounds = 300
	for n := range rounds {
		arrive(fmt.Sprintf("a/%d", n))
		arrive(fmt.Sprintf("b/%d", n))
	}
	arrive("guest/0")
	got := make(map[string]int)
	for n := range rounds {
		c := w.Next(now, always)
		got[c.Tenant]++
		order++
		w.Slot(c, 1, order)
		c.Awake = true
		w.Put(c, now)
		c.Awake, c.Wanted = false, false
		w.Put(c, now)
		w.Slot(c, -1, 0)
		if c.Tenant == "guest" {
			if w.lines["guest"] != nil {
				t.Fatal("the guest did not leave")
			}
			arrive(fmt.Sprintf("guest/%d", n+1))
		}
	}
	for _, tenant := range []string{"a", "b", "guest"} {
		if n := got[tenant]; n < rounds/3-1 || n > rounds/3+1 {
			t.Errorf("%s got %d slots of %d: %v", tenant, n, rounds, got)
		}
	}
}
