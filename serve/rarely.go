package serve

import (
	"maps"
	"sync"
	"time"
)

// rarely knows what was done in the last minute. Its zero value is ready for use, by any
// number of goroutines.
type rarely struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// How soon something may be done again, and how many things are known before old ones are
// forgotten.
const (
	rarelyAgain = time.Minute
	rarelyKeeps = 1000
)

// due reports whether something was not done in the last minute, and notes that it is now.
func (r *rarely) due(what string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.last[what]; ok && now.Sub(at) < rarelyAgain {
		return false
	}
	if r.last == nil {
		r.last = make(map[string]time.Time)
	}
	if len(r.last) >= rarelyKeeps {
		maps.DeleteFunc(r.last, func(_ string, at time.Time) bool { return now.Sub(at) >= rarelyAgain })
	}
	r.last[what] = now
	return true
}

// undo forgets that something was done.
func (r *rarely) undo(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, what)
}
