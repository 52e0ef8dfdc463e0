package main

import "testing"

// TestLimit gives memory back when there is more than the limit. A figure that stays high
// does not make it do so again until more has come.
func TestLimit(t *testing.T) {
	const mib = 1 << 20
	l := limit{most: 4 * mib}
	for i, step := range []struct {
		used, left int // before and after
		gives      bool
	}{
		{13 * mib, 2 * mib, true},
		{4 * mib, 2 * mib, false},
		{4*mib + 1, 2 * mib, true},
		{5 * mib, 4 * mib, true},
		{5 * mib, 4 * mib, false},
		{5*mib + 1, 8 * mib, true}, // what is left is said to be much
		{9 * mib, 8 * mib, false},
		{10 * mib, 1 * mib, true},
		{4*mib + 1, 1 * mib, true},
	} {
		gave := false
		l.keep(func() int {
			if gave {
				return step.left
			}
			return step.used
		}, func() { gave = true })
		if gave != step.gives {
			t.Errorf("step %d: %d bytes used: gave some back %t", i, step.used, gave)
		}
	}
}
