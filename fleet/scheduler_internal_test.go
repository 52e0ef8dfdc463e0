package fleet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/slots"
)

// A conversation that got its slot and has more to do waits behind those that came while
// it was busy.
func TestBusyConversationWaitsBehindOthers(t *testing.T) {
	f := assemble(t.Context(), Options{MaxLive: 1})
	now := time.Now()
	all := make([]*conversation, 3)
	for i := range all {
		all[i] = &conversation{key: fmt.Sprintf("c%d", i), wakeup: make(chan struct{}, 1)}
		f.roster.mark(all[i])
	}
	var order []string
	for range 7 { // each gets the slot, has more to do, and gives it back
		c := f.roster.next(now)
		order = append(order, c.key)
		c.Awake, c.Wanted = true, false
		f.roster.waitlist.Put(c, now)
		f.roster.mark(c)
		c.Awake = false
		f.roster.waitlist.Put(c, now)
	}
	if want := []string{"c0", "c1", "c2", "c0", "c1", "c2", "c0"}; !slices.Equal(order, want) {
		t.Errorf("they got the slot in the order %q", order)
	}
}

// A conversation that gives its slot up in the middle of its prompts, one of which came
// before those of another conversation, waits behind that one.
func TestBusyConversationLosesItsPlace(t *testing.T) {
	f := assemble(t.Context(), Options{MaxLive: 1})
	f.roster.closed = true
	busy := &conversation{key: "busy", Seat: slots.Seat{Awake: true}, wakeup: make(chan struct{}, 1), left: make(chan struct{})}
	f.roster.waitlist.Slot(busy, 1, 0)
	f.roster.tally(0, 1)
	f.roster.mark(busy) // a prompt comes while it works
	other := &conversation{key: "other", wakeup: make(chan struct{}, 1)}
	f.roster.mark(other)
	f.roster.leave(busy, 0)
	if next := f.roster.next(time.Now().Add(time.Second)); next != other {
		t.Errorf("%s is next", next.key)
	}
}

// The queue becomes what the store has, except for prompts that were announced while it was
// read: the read may have missed them, and no other announcement comes.
func TestAnnouncedWhileRead(t *testing.T) {
	prompts := func(names ...string) (all []*queued) {
		for _, n := range names {
			all = append(all, &queued{name: n})
		}
		return all
	}
	for name, c := range map[string]struct{ before, announced, read, want []string }{
		"missed by the read":           {[]string{"a"}, []string{"b"}, []string{"a"}, []string{"a", "b"}},
		"missed, and another is over":  {[]string{"a"}, []string{"b"}, nil, []string{"b"}},
		"found by the read":            {nil, []string{"a"}, []string{"a"}, []string{"a"}},
		"found, and one that was lost": {[]string{"b"}, []string{"c"}, []string{"a", "c"}, []string{"a", "c"}},
		"all are over":                 {[]string{"a", "b"}, nil, nil, nil},
	} {
		f := assemble(t.Context(), Options{})
		r := f.roster
		r.closed = true // nothing runs
		ada := r.conversation("ada")
		r.reset(ada, nil, prompts(c.before...))
		before := r.waitingNames(ada)
		r.reset(ada, nil, prompts(c.announced...)) // adds them
		r.reset(ada, before, prompts(c.read...))
		if got := r.waitingNames(ada); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q wait, want %q", name, got, c.want)
		}
	}
}

// News that a lease is free count even if they come when the answer that it is held is
// known, and its conversation has not given its slot back yet.
func TestReleasedBeforeLeaving(t *testing.T) {
	f := assemble(t.Context(), Options{MaxLive: 1})
	r := f.roster
	r.closed = true // nothing runs
	c := r.conversation("ada")
	c.Awake, c.left, c.waiting = true, make(chan struct{}), []string{"x"}
	r.waitlist.Slot(c, 1, 0)
	r.tally(0, 1)
	c.Wanted, c.Held = true, true // as house.use has learned
	r.noticeReleased("c/ada")
	r.leave(c, time.Hour)
	if now := time.Now(); c.Held || r.next(now) != c {
		t.Errorf("held %t, after %v, %v is next", c.Held, c.After.Sub(now), r.next(now))
	}
}

// A conversation whose attempt has failed keeps the pause before the next one, although the
// news that its lease is free comes before it has given its slot back: that is its own.
func TestPauseOutlastsOwnRelease(t *testing.T) {
	f := assemble(t.Context(), Options{MaxLive: 1})
	r := f.roster
	r.closed = true // nothing runs
	c := r.conversation("ada")
	c.Awake, c.left, c.waiting, c.token = true, make(chan struct{}), []string{"x"}, 7
	r.waitlist.Slot(c, 1, 0)
	r.tally(0, 1)
	r.noticeReleased("c/ada")
	r.leave(c, time.Hour)
	if now := time.Now(); c.After.Sub(now) < 59*time.Minute || r.next(now) != nil {
		t.Errorf("after %v, %v is next", c.After.Sub(now), r.next(now))
	}
}
