package shrink

import "testing"

// A map that moves loses no member, and few moves are enough.
func TestDrop(t *testing.T) {
	const rush = 10_000
	m, most, moves := make(map[int]int), 0, 0
	for i := range rush {
		m[i] = -i
	}
	for i := range rush {
		was := most
		Drop(&m, &most, i)
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
	Drop(&m, &most, 1) // a member that is not there
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
		Drop(&m, &most, i)
		seen++
	}
	if seen != rush || len(m) != 0 {
		t.Errorf("%d seen, %d left", seen, len(m))
	}
}

// The last items come one after another, even when the slice moves.
func TestLast(t *testing.T) {
	const rush = 1_000
	var s []int
	for i := range rush {
		s = append(s, i)
	}
	for i := rush - 1; i >= 0; i-- {
		if x := Last(&s); x != i || len(s) != i {
			t.Fatalf("%d instead of %d, %d left", x, i, len(s))
		}
	}
	if cap(s) > smallRoom {
		t.Errorf("room for %d is kept", cap(s))
	}
}
