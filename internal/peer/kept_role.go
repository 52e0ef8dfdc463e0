package peer

import (
	"sync"
	"time"
)

// To pass the role of the reader on wakes up a thread, and that takes longer than
// most handlers do: it is half of a permission request. So while handlers return
// at once, the reader keeps its role and reads on when its handler has returned.
// It is not taken at its word: a handler that does not return loses the role to
// another goroutine.
const (
	quickHandler = 200 * time.Microsecond // what counts as at once
	trustedAfter = 4                      // handlers in a row, before the role is kept
	keepBound    = 2 * time.Millisecond   // after up to twice of this the role is passed on
)

// keptRole watches over a reader that handles a request. Its timer is not stopped
// when a handler returns, because to set one also wakes up a thread: it fires
// from time to time while requests come, and looks.
type keptRole struct {
	pass func() // gives the role to another goroutine

	mu    sync.Mutex
	count uint64 // of handlers
	now   uint64 // the number of the one that runs; 0: none does
	seen  uint64 // the count when the timer was set
	timer *time.Timer
	set   bool // the timer will fire
}

// begin is before a handler.
func (k *keptRole) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count++
	k.now = k.count
	switch {
	case k.set:
	case k.timer == nil:
		k.seen, k.set = k.count, true
		k.timer = time.AfterFunc(keepBound, k.look)
	default:
		k.seen, k.set = k.count, true
		k.timer.Reset(keepBound)
	}
}

// end is after a handler. It reports whether the role is still the caller's.
func (k *keptRole) end() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	still := k.now != 0
	k.now = 0
	return still
}

// look is called by the timer.
func (k *keptRole) look() {
	if k.stuck() {
		k.pass()
	}
}

// stuck reports whether the handler that runs ran at the last look. Then the role
// is no longer its own.
func (k *keptRole) stuck() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.now != 0 && k.now == k.seen:
		k.now, k.set = 0, false
		return true
	case k.count == k.seen:
		k.set = false // nothing has come since
	default:
		k.seen = k.count
		k.timer.Reset(keepBound)
	}
	return false
}

// runKeepingRole handles a request as the reader, and reports whether the caller
// still is the reader. A handler may end the goroutine.
func (p *Peer) runKeepingRole(j job) (still bool) {
	p.role.kept.begin()
	returned := false
	defer func() {
		still = p.role.kept.end()
		if still && !returned {
			p.passReaderRole()
		}
	}()
	p.runJob(j)
	returned = true
	return still
}
