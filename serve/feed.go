package serve

import (
	"maps"
	"slices"
	"sync"
)

// feed knows which conversations have changed, and when. It has one entry for each, so
// it cannot overflow however slow its readers are. It keeps only the newest changes:
// most conversations never change again.
type feed struct {
	mu        sync.Mutex
	stamp     int64
	stamps    map[string]int64 // by key: the last change
	forgotten int64            // changes up to this stamp may be missing
	changed   chan struct{}    // closed at the next change
}

// keepChanges is the least number of conversations that a feed remembers.
const keepChanges = 10_000

func newFeed() *feed {
	return &feed{stamps: make(map[string]int64), changed: make(chan struct{})}
}

// touch notes that a conversation has changed.
func (f *feed) touch(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stamp++
	f.stamps[key] = f.stamp
	if len(f.stamps) > 2*keepChanges {
		all := slices.Sorted(maps.Values(f.stamps))
		f.forgotten = all[len(all)-keepChanges-1]
		maps.DeleteFunc(f.stamps, func(_ string, at int64) bool { return at <= f.forgotten })
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// now returns the stamp to begin with, and a channel that is closed at the next change.
func (f *feed) now() (stamp int64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stamp, f.changed
}

// since returns the conversations that have changed after a stamp, the stamp for the
// next call, and a channel that is closed at the next change. whole is false if changes
// may be missing: a reader that far behind must begin again.
func (f *feed) since(stamp int64) (keys []string, next int64, changed <-chan struct{}, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, at := range f.stamps {
		if at > stamp {
			keys = append(keys, key)
		}
	}
	return keys, f.stamp, f.changed, stamp >= f.forgotten
}
