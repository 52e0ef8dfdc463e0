package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// patient is the StoreTimeout of tests that assemble a fleet without Open, which fills it in.
const patient = time.Hour

// Fresh marks a prompt as one whose id Send has made, so that no other sender has it.
func Fresh(p Prompt) Prompt {
	p.fresh = true
	return p
}

// DeleteHere deletes a conversation if it runs here, as when another process asks for it.
func (f *Fleet) DeleteHere(ctx context.Context, key string) (here bool, err error) {
	return f.performHere(ctx, key, instruction{Delete: true})
}

// Resting returns the keys of the conversations that are between two turns here.
func (f *Fleet) Resting() (keys []string) {
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	for key, c := range f.roster.active {
		if c.takesOffers() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Turn returns the prompt whose turn a conversation works on here, "" if there is none.
func (f *Fleet) Turn(key string) string {
	if t := f.roster.turnOf(key); t != nil {
		return t.prompt
	}
	return ""
}

// Unbalanced returns what is wrong with the accounts of a fleet that is closed: room,
// slots, offers and listeners that were taken and not given back.
func (f *Fleet) Unbalanced() (wrong []string) {
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	r := f.roster
	r.mu.Lock()
	queued := 0
	for key, c := range r.active {
		queued += len(c.waiting) + c.reserved
		if c.reserved != 0 {
			note("%s: room for %d prompts is reserved", key, c.reserved)
		}
		if c.offered != nil || c.resting {
			note("%s: it takes offers", key)
		}
		if c.Awake || c.session != nil || c.starting || c.turn != nil || c.token != 0 || c.left != nil {
			note("%s: it is awake", key)
		}
		if c.Stopped {
			note("%s: it is stopped", key)
		}
		if len(c.waiting) == 0 && !c.Wanted && c.watching == 0 {
			note("%s: it is in memory for no reason", key)
		}
		if (c.liveReaders == 0) != (c.follower == nil) {
			note("%s: %d readers have the follower %v", key, c.liveReaders, c.follower)
		}
	}
	if queued != r.queued {
		note("%d prompts count, and there are %d", r.queued, queued)
	}
	if r.live != 0 || len(r.seated) != 0 {
		note("%d slots are taken, by %d conversations", r.live, len(r.seated))
	}
	r.mu.Unlock()
	return wrong
}

// Watched returns how many loops and calls of callers a fleet serves.
func (f *Fleet) Watched() (n int) {
	f.roster.mu.Lock()
	for _, c := range f.roster.active {
		n += c.watching + len(c.watchers) + c.liveReaders
	}
	f.roster.mu.Unlock()
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return n + len(f.store.topics)
}

// Poke lets a conversation look at the store, as an announcement would.
func (f *Fleet) Poke(key string) { f.roster.want(key) }
