package serve

import "sync"

// feed knows which conversations have changed, and when. It has one entry for
// each, so it cannot overflow however slow its readers are.
type feed struct {
	mu      sync.Mutex
	stamp   int64
	stamps  map[string]int64 // by key: the last change
	changed chan struct{}    // closed at the next change
}

func newFeed() *feed {
	return &feed{stamps: make(map[string]int64), changed: make(chan struct{})}
}

// touch notes that a conversation has changed.
func (f *feed) touch(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stamp++
	f.stamps[key] = f.stamp
	close(f.changed)
	f.changed = make(chan struct{})
}

// since returns the conversations that have changed after a stamp, the stamp to
// ask with next time, and a channel that is closed at the next change.
func (f *feed) since(stamp int64) (keys []string, next int64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, at := range f.stamps {
		if at > stamp {
			keys = append(keys, key)
		}
	}
	return keys, f.stamp, f.changed
}
