package leak

import "testing"

func TestExceeds(t *testing.T) {
	before := Usage{Goroutines: 3, Files: 10, Heap: 1000}
	for after, want := range map[Usage]bool{
		before:        false,
		{8, 15, 1100}: false,
		{9, 10, 1000}: true,
		{3, 16, 1000}: true,
		{3, 10, 1101}: true,
		{0, 0, 0}:     false,
	} {
		if got := after.Exceeds(before, 5, 100); got != want {
			t.Errorf("%v after %v: %v, want %v", after, before, got, want)
		}
	}
}
