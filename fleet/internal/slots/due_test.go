package slots

import (
	"testing"
	"time"
)

// A conversation whose lease another process has gets no slot, and is asked for when its
// time has come, the first one first. What has to wait is due at the earliest of its times.
func TestLeased(t *testing.T) {
	w, now := New[*conversation](), time.Unix(1000, 0)
	if _, ok := w.Due(true); ok {
		t.Error("something is due in an empty list")
	}
	late, early, later := wanted("a/late", 1), wanted("b/early", 2), wanted("c/later", 3)
	late.Held, late.After = true, now.Add(3*time.Second)
	early.Held, early.After = true, now.Add(2*time.Second)
	later.After = now.Add(5 * time.Second)
	for _, c := range []*conversation{late, early, later} {
		w.Put(c, now)
	}
	if c := w.Next(now, always); c != nil {
		t.Errorf("%s gets a slot", c.key)
	}
	if at, ok := w.Due(true); !ok || !at.Equal(early.After) {
		t.Errorf("due at %v, %v", at, ok)
	}
	if at, ok := w.Due(false); !ok || !at.Equal(later.After) {
		t.Errorf("without leases due at %v, %v", at, ok)
	}
	if c := w.TakeLeased(now.Add(time.Second)); c != nil {
		t.Errorf("%s is asked for before its time", c.key)
	}
	if c := w.TakeLeased(now.Add(2 * time.Second)); c != early {
		t.Errorf("asked for is %v", c)
	}
	if c := w.TakeLeased(now.Add(2 * time.Second)); c != nil {
		t.Errorf("%s is asked for as well", c.key)
	}
	early.Asking = true
	w.Put(early, now)
	if at, ok := w.Due(true); !ok || !at.Equal(late.After) {
		t.Errorf("while one is asked for, due at %v, %v", at, ok)
	}
	early.Asking, early.Held, early.After = false, false, time.Time{}
	w.Put(early, now)
	if c := w.Next(now, always); c != early {
		t.Errorf("the lease is free, and the next is %v", c)
	}
	early.Awake = true
	w.Put(early, now)
	if c := w.Next(now.Add(5*time.Second), always); c != later {
		t.Errorf("at its time, the next is %v", c)
	}
	if at, ok := w.Due(false); ok {
		t.Errorf("due at %v, and it is ready", at)
	}
}

// Each reason alone keeps a conversation from getting a slot.
func TestNoSlot(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, change := range map[string]func(*Seat){
		"not wanted": func(s *Seat) { s.Wanted = false },
		"awake":      func(s *Seat) { s.Awake = true },
		"stopped":    func(s *Seat) { s.Stopped = true },
		"asking":     func(s *Seat) { s.Asking = true },
		"held":       func(s *Seat) { s.Held = true },
		"later":      func(s *Seat) { s.After = now.Add(1) },
	} {
		w := New[*conversation]()
		c, other := wanted("a/c", 1), wanted("a/d", 2)
		w.Put(c, now)
		w.Put(other, now)
		change(&c.Seat)
		w.Put(c, now)
		if next := w.Next(now, always); next != other {
			t.Errorf("%s: the next is %v", name, next)
		}
		c.Seat = Seat{Tenant: "a", Wanted: true, Since: 1, in: c.in, at: c.at}
		w.Put(c, now)
		if next := w.Next(now, always); next != c {
			t.Errorf("not %s anymore: the next is %v", name, next)
		}
	}
}

// One that this process may not run holds up no other, and is looked at again when it may.
func TestRefusedHoldsNobodyUp(t *testing.T) {
	w, now := New[*conversation](), time.Unix(1000, 0)
	first, second := wanted("a/c", 1), wanted("a/d", 2)
	w.Put(first, now)
	w.Put(second, now)
	asked := 0
	runs := func(c *conversation) bool {
		if c == first {
			asked++
		}
		return c != first
	}
	for range 3 {
		if next := w.Next(now, runs); next != second {
			t.Errorf("the next is %v", next)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times whether it may run", asked)
	}
	if w.Reconsider(now); w.Next(now, always) != first {
		t.Error("it is not looked at again")
	}
	if w.Tenants() != 1 {
		t.Errorf("%d tenants", w.Tenants())
	}
}
