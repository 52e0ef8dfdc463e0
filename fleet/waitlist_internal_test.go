package fleet

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// people makes a waitlist of so many conversations that need a slot, in so many
// tenants, and counts how often two are compared.
func people(conversations, tenants int) (w *waitlist, all []*conversation, compared *int) {
	w, compared = newWaitlist(), new(int)
	count := func(c *indexedHeap[*conversation]) {
		before := c.before
		c.before = func(a, b *conversation) bool { *compared++; return before(a, b) }
	}
	order := w.order.before
	w.order.before = func(a, b *line) bool { *compared++; return order(a, b) }
	count(&w.later)
	count(&w.leased)
	for i := range conversations {
		c := &conversation{key: fmt.Sprintf("t%d/c%d", i%tenants, i), wanted: true, since: uint64(i + 1)}
		if l := w.line(c); l.ready.Len() == 0 {
			count(&l.ready)
		}
		w.put(c, time.Time{})
		all = append(all, c)
	}
	return w, all, compared
}

func always(string) bool { return true }

// A conversation that got its slot and has more to do waits behind those that came while
// it was busy.
func TestBusyConversationWaitsBehindOthers(t *testing.T) {
	f := &Fleet{opts: Options{MaxLive: 1}, waitlist: newWaitlist()}
	now := time.Now()
	all := make([]*conversation, 3)
	for i := range all {
		all[i] = &conversation{key: fmt.Sprintf("c%d", i), wakeup: make(chan struct{}, 1)}
		f.mark(all[i])
	}
	var order []string
	for range 7 { // each gets the slot, has more to do, and gives it back
		c := f.next(now)
		order = append(order, c.key)
		c.awake, c.wanted = true, false
		f.waitlist.put(c, now)
		f.mark(c)
		c.awake = false
		f.waitlist.put(c, now)
	}
	if want := []string{"c0", "c1", "c2", "c0", "c1", "c2", "c0"}; !slices.Equal(order, want) {
		t.Errorf("they got the slot in the order %q", order)
	}
}

// A conversation that gives its slot up in the middle of its prompts, one of which came
// before those of another conversation, waits behind that one.
func TestBusyConversationLosesItsPlace(t *testing.T) {
	f := &Fleet{opts: Options{MaxLive: 1}, closed: true, waitlist: newWaitlist(), seated: make(map[*conversation]bool), active: make(map[string]*conversation)}
	busy := &conversation{key: "busy", wakeup: make(chan struct{}, 1), awake: true, left: make(chan struct{})}
	f.waitlist.slot(busy, 1, 0)
	f.tally(0, 1)
	f.mark(busy) // a prompt comes while it works
	other := &conversation{key: "other", wakeup: make(chan struct{}, 1)}
	f.mark(other)
	f.leave(busy, 0)
	if next := f.next(time.Now().Add(time.Second)); next != other {
		t.Errorf("%s is next", next.key)
	}
}

// A step of the scheduler costs next to nothing however many conversations wait.
func TestStepCost(t *testing.T) {
	const waiting, steps = 10_000, 2_000
	for _, tenants := range []int{1, 100, waiting} {
		w, _, compared := people(waiting, tenants)
		*compared = 0
		now, order, asked := time.Now(), uint64(waiting), 0
		for range steps { // it gets a slot, gives it back, and waits again behind the others
			order++
			c := w.next(now, func(string) bool { asked++; return true })
			c.awake = true
			w.put(c, now)
			w.slot(c, 1, order)
			c.awake, c.since = false, order+1
			w.slot(c, -1, 0)
			w.put(c, now)
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
		runs := func(key string) bool { return key != "t1/c1" }
		for step := range 500 {
			c := all[rng.IntN(len(all))]
			order++
			switch rng.IntN(7) {
			case 0:
				c.wanted, c.since = !c.wanted, order
			case 1:
				if !c.awake {
					c.after = now.Add(time.Duration(rng.IntN(5)) * time.Second)
				}
			case 2:
				c.stopped = !c.stopped
			case 3:
				c.held = !c.held
			case 4:
				now = now.Add(time.Second)
			default:
				c = changeSlot(w, c, now, runs, order)
			}
			w.put(c, now)
			w.reconsider(now)
			if got, want := w.next(now, runs), first(w, all, now, runs); got != want {
				t.Fatalf("seed %d, step %d: %+v is next, want %+v", seed, step, got, want)
			}
		}
	}
}

// changeSlot takes a slot from a conversation, or gives one to the next.
func changeSlot(w *waitlist, c *conversation, now time.Time, runs func(string) bool, order uint64) *conversation {
	if c.awake {
		c.awake = false
		w.slot(c, -1, 0)
		return c
	}
	if next := w.next(now, runs); next != nil {
		next.awake = true
		w.put(next, now)
		w.slot(next, 1, order)
		return next
	}
	return c
}

// first looks at all conversations.
func first(w *waitlist, all []*conversation, now time.Time, runs func(string) bool) (best *conversation) {
	for _, c := range all {
		if !c.wanted || c.awake || c.stopped || c.held || c.after.After(now) || !runs(c.key) {
			continue
		}
		if best == nil {
			best = c
			continue
		}
		x, y := w.line(c), w.line(best)
		if cmp.Or(cmp.Compare(x.slots, y.slots), cmp.Compare(x.served, y.served), cmp.Compare(c.since, best.since)) < 0 {
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
	never := func(string) bool { asked++; return false }
	for range 100 {
		if c := w.next(time.Now(), never); c != nil {
			t.Fatalf("%s is next", c.key)
		}
	}
	if asked != len(all) {
		t.Errorf("Runs was asked %d times about %d conversations", asked, len(all))
	}
	w.reconsider(time.Now())
	if c := w.next(time.Now(), always); c != all[0] {
		t.Errorf("%+v is next", c)
	}
}

// Tenants come and go, and nothing is kept of those that are gone.
func TestTenantsForgotten(t *testing.T) {
	w, now, order := newWaitlist(), time.Now(), uint64(0)
	for n := range 10_000 {
		order++
		c := &conversation{key: fmt.Sprintf("t%d/c", n), wanted: true, since: order}
		switch n % 4 {
		case 0: // is never woken
			w.put(c, now)
			c.wanted = false
		case 1: // has to wait for its time
			c.after = now.Add(time.Second)
			w.put(c, now)
			c.wanted = false
		case 2: // another process has it
			c.held = true
			w.put(c, now)
			c.wanted = false
		default:
			w.put(c, now)
			if next := w.next(now, always); next != c {
				t.Fatalf("%+v is next", next)
			}
			order++
			w.slot(c, 1, order)
			c.awake = true
			w.put(c, now)
			c.awake, c.wanted = false, false
			w.put(c, now)
			w.slot(c, -1, 0)
		}
		w.put(c, now)
	}
	if len(w.lines) != 0 || w.order.Len() != 0 || w.later.Len() != 0 || w.leased.Len() != 0 {
		t.Errorf("%d tenants are left, of which %d wait", len(w.lines), w.order.Len())
	}
}

// A tenant that leaves after each slot and comes back gets no more of them than
// those that stay, and no fewer.
func TestTenantComesBack(t *testing.T) {
	w, now, order := newWaitlist(), time.Now(), uint64(0)
	arrive := func(key string) {
		order++
		w.put(&conversation{key: key, wanted: true, since: order}, now)
	}
	const rounds = 300
	for n := range rounds {
		arrive(fmt.Sprintf("a/%d", n))
		arrive(fmt.Sprintf("b/%d", n))
	}
	arrive("guest/0")
	got := make(map[string]int)
	for n := range rounds {
		c := w.next(now, always)
		got[TenantOf(c.key)]++
		order++
		w.slot(c, 1, order)
		c.awake = true
		w.put(c, now)
		c.awake, c.wanted = false, false
		w.put(c, now)
		w.slot(c, -1, 0)
		if TenantOf(c.key) == "guest" {
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
