package eventlog

import (
	"slices"
	"sync"
)

// results remembers the ids of the last results of a conversation. Its methods may be
// called by several goroutines.
type results struct {
	mu  sync.Mutex
	ids []string
}

// keepResults is how many results are remembered, because turns may end in quick
// succession.
const keepResults = 31

// add adds the newest result.
func (r *results) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(r.ids[max(0, len(r.ids)-keepResults):], id)
}

// last returns the newest result, empty if there is none. When another one comes, every
// message before it is there.
func (r *results) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ids) == 0 {
		return ""
	}
	return r.ids[len(r.ids)-1]
}

// has reports whether a result is among the newest.
func (r *results) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.ids, id)
}
