package serve

import (
	"slices"
	"strconv"
	"testing"
)

// However often conversations change before a reader comes, it finds each of them once,
// and nothing when it looks again.
func TestFeedHasEachConversationOnce(t *testing.T) {
	t.Parallel()
	f := newFeed()
	f.touch("before")
	stamp, changed := f.now()
	for range 10_000 {
		f.touch("a")
		f.touch("b")
	}
	select {
	case <-changed:
	default:
		t.Error("a reader that waits is not woken")
	}
	keys, next, _, whole := f.since(stamp)
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"a", "b"}) || !whole {
		t.Errorf("changed are %q", keys)
	}
	if keys, _, _, _ := f.since(next); len(keys) > 0 {
		t.Errorf("again %q", keys)
	}
}

// However many conversations come and go, a feed stays small. A reader that is up to
// date misses nothing, and one that is too far behind learns so.
func TestFeedStaysSmall(t *testing.T) {
	t.Parallel()
	f := newFeed()
	behind, _ := f.now()
	read, seen := behind, 0
	for i := range 5*keepChanges + 1 {
		f.touch(strconv.Itoa(i))
		if i%keepChanges != 0 {
			continue
		}
		keys, next, _, whole := f.since(read)
		read, seen = next, seen+len(keys)
		if !whole {
			t.Fatalf("a reader is behind after %d changes", i)
		}
	}
	if seen != 5*keepChanges+1 {
		t.Errorf("a reader has seen %d changes", seen)
	}
	if n := len(f.stamps); n > 2*keepChanges {
		t.Errorf("the feed has %d entries", n)
	}
	if _, _, _, whole := f.since(behind); whole {
		t.Error("a reader that is far behind misses changes, and does not know")
	}
}
