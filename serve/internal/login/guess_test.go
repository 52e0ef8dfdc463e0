package login

import (
	"fmt"
	"testing"
	"time"
)

// Guesses are counted by where they come from and by the token that is guessed, for a
// minute, and the count is bounded.
func TestGuesses(t *testing.T) {
	t.Parallel()
	var g guesses
	now := time.Unix(1_000_000, 0)
	for i := range maxGuesses {
		if g.add(now.Add(time.Duration(i)*time.Second), guessed("192.0.2.1", "ccl_ab.x")...) {
			t.Fatalf("guess %d is one too many", i)
		}
	}
	for _, c := range []struct {
		after          time.Duration
		address, token string
		want           bool
	}{
		{20 * time.Second, "192.0.2.1", "ccl_ff.x", true},  // the address
		{20 * time.Second, "192.0.2.2", "ccl_ab.y", true},  // the token
		{20 * time.Second, "192.0.2.2", "ccl_cd.y", false}, // neither
		{20 * time.Second, "192.0.2.3", "no token", false},
		{2 * time.Minute, "192.0.2.1", "ccl_ab.x", false},
	} {
		if got := g.add(now.Add(c.after), guessed(c.address, c.token)...); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for i := range 3 * maxGuessed {
		g.add(now, fmt.Sprint("from ", i))
	}
	if len(g.made) > maxGuessed+2 {
		t.Errorf("%d are counted", len(g.made))
	}
}
