package lease

import (
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A machine that was suspended does not trust its lease, whichever of its clocks
// ran; a renewal begins both anew.
func TestClocksThatStoodStill(t *testing.T) {
	for name, jump := range map[string]struct {
		monotonic, wall time.Duration
		sure            bool
	}{
		"nothing happened":            {0, 0, true},
		"both ran":                    {time.Hour, time.Hour, false},
		"suspended, the wall ran":     {0, time.Hour, false},
		"suspended, both but little":  {50 * time.Second, 50 * time.Second, true},
		"the wall clock was set back": {time.Hour, -time.Hour, false},
		"the wall clock was stopped":  {time.Hour, 0, false},
		"set back, and little passed": {time.Second, -time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := reading{time.Minute, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			h, err := acquire(t.Context(), store.Memory(), "p", "n", "ada", time.Minute, func() reading { return now })
			if err != nil {
				t.Fatal(err)
			}
			now = reading{now.monotonic + jump.monotonic, now.wall.Add(jump.wall)}
			if h.Sure() != jump.sure {
				t.Errorf("sure: %v, want %v; %v left", h.Sure(), jump.sure, h.Left())
			}
			if err := h.Renew(t.Context()); err != nil || !h.Sure() || h.Left() != 54*time.Second {
				t.Errorf("renewed: %v, %v left", err, h.Left())
			}
		})
	}
}

// The clocks that are used are the two of this machine.
func TestClocks(t *testing.T) {
	now := clocks()
	a := now()
	b := now()
	if a.wall.IsZero() || a.wall != a.wall.Round(0) || b.monotonic < a.monotonic || time.Since(a.wall).Abs() > time.Minute {
		t.Errorf("%+v, %+v", a, b)
	}
}
