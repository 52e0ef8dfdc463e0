package fleet

import (
	"testing"
	"time"
)

// All that are waiting for a lease come back when it has expired, within a thirtieth of its
// time, and each at another moment. A wrong clock makes nobody wait for longer.
func TestComeBack(t *testing.T) {
	const ttl = 30 * time.Second
	for _, c := range []struct{ left, from time.Duration }{
		{10 * time.Second, 10 * time.Second}, {0, time.Millisecond}, {-time.Hour, time.Millisecond}, {ttl, ttl}, {time.Hour, ttl},
	} {
		moments := make(map[time.Duration]bool)
		early, late := time.Duration(1<<62), time.Duration(0)
		for range 1000 {
			d := comeBack(c.left, ttl)
			moments[d] = true
			early, late = min(early, d), max(late, d)
		}
		if early < c.from || late >= c.from+ttl/30 {
			t.Errorf("%v left: from %v to %v", c.left, early, late)
		}
		if len(moments) < 900 || late-early < ttl/60 {
			t.Errorf("%v left: %d moments in %v", c.left, len(moments), late-early)
		}
	}
}
