package serve

import (
	"slices"
	"testing"
)

// However often conversations change while nobody reads, a reader finds each of them
// once, and nothing when it looks again.
func TestFeedHasEachConversationOnce(t *testing.T) {
	f := newFeed()
	f.touch("before")
	_, stamp, changed := f.since(0)
	for range 10_000 {
		f.touch("a")
		f.touch("b")
	}
	select {
	case <-changed:
	default:
		t.Error("a reader that waits is not woken")
	}
	keys, next, _ := f.since(stamp)
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("changed are %q", keys)
	}
	if keys, _, _ := f.since(next); len(keys) > 0 {
		t.Errorf("again %q", keys)
	}
}
