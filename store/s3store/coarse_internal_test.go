package s3store

import (
	"testing"
	"time"
)

// A lease lasts as long as it should although the times of the server are whole seconds,
// whatever the moments at which it was written and is read. It ends soon afterwards.
func TestLeaseLastsInCoarseTimes(t *testing.T) {
	begin := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	for _, ttl := range []time.Duration{time.Millisecond, 300 * time.Millisecond, time.Second, 1500 * time.Millisecond, 30 * time.Second} {
		l := leaseBody{Owner: "me", Token: 1, TTL: ttl}
		for phase := time.Duration(0); phase < time.Second; phase += 50 * time.Millisecond {
			written := begin.Add(phase)
			left := func(age time.Duration) time.Duration {
				return l.left(object{modified: written.Truncate(time.Second), now: written.Add(age).Truncate(time.Second)})
			}
			for _, age := range []time.Duration{0, ttl / 2, ttl - time.Microsecond} {
				if got := left(age); got < ttl-age || got > ttl {
					t.Errorf("a lease of %v that was written at .%03d has %v left after %v", ttl, phase.Milliseconds(), got, age)
				}
			}
			if got := left(ttl + 2*time.Second); got > 0 {
				t.Errorf("a lease of %v that was written at .%03d has %v left after its end", ttl, phase.Milliseconds(), got)
			}
		}
	}
	for name, l := range map[string]leaseBody{"released": {Token: 1, TTL: time.Minute, Released: true}, "of nobody": {TTL: time.Minute}} {
		if got := l.left(object{modified: begin, now: begin}); got != 0 {
			t.Errorf("a lease that is %s has %v left", name, got)
		}
	}
}
