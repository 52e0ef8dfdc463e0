package mirror

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Config configures a Mirror.
type Config struct {
	Store   store.Sessions
	Project string
	// Fence is that of the caller's lease. Zero: the mirror has its own leases,
	// unless the store has none.
	Fence store.Fence
	// Owner and TTL belong to the mirror's own leases.
	Owner string
	TTL   time.Duration
	// GiveUp is for how long the store may take nothing before waiting callers
	// get an error. Negative: for ever.
	GiveUp time.Duration
	// Journals is the directory of journals.
	Journals string
	Log      *slog.Logger
	// OnNotStored is called when the mirror gives up, and for each frame that
	// cannot be stored whatever the store does. OnLost is called, once, when
	// the session must end: its lease is lost, or it was deleted. They must not
	// call the mirror, but for Abort.
	OnNotStored func(key store.Key, err *store.NotStoredError)
	OnLost      func(err error)
}

// DefaultJournals returns the default directory of journals.
func DefaultJournals() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "claude-journals")
}

// callBound is how long a call of the store may take.
const callBound = 20 * time.Second

// Pauses between attempts.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Mirror stores frames. All methods may be called from any goroutine.
type Mirror struct {
	cfg    Config
	leases *leases         // nil: none of our own
	calls  context.Context // ends when nothing may be stored any more
	cancel context.CancelFunc
	wake   chan struct{} // one slot: something has come, a caller waits, or the end
	done   chan struct{} // closed when run has returned
	timer  *time.Timer   // fires when GiveUp is over

	mu       sync.Mutex
	arrived  [][]byte      // frames that were not yet read
	size     int           // their bytes
	awaited  []uint64      // how many frames each waiter wants to be stored
	hurried  uint64        // how many must not wait for others
	put      uint64        // how many frames have come
	stored   uint64        // how many of them are stored, without a gap
	changed  chan struct{} // closed at the next change of what Wait looks at
	gaveUp   *store.NotStoredError
	ended    error // why nothing is stored any more
	bad      error // of a frame that could not be read
	started  bool
	closing  bool
	lostOnce sync.Once

	work  sync.Mutex // guards what follows; held over no call of the store
	queue queue
	left  bool // the entries in the queue were given up for good
}

// New returns a mirror. Start it with Start, after Acquire if the session is known.
func New(cfg Config) *Mirror {
	m := &Mirror{cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{})}
	m.calls, m.cancel = context.WithCancel(context.Background())
	if cfg.Fence.IsZero() {
		m.leases = newLeases(cfg.Store, &m.cfg)
	}
	m.timer = time.AfterFunc(time.Hour, m.giveUp)
	m.timer.Stop()
	return m
}

// Start begins to store and to renew leases.
func (m *Mirror) Start() {
	m.mu.Lock()
	m.started = true
	m.mu.Unlock()
	go m.run()
	if m.leases != nil {
		go m.leases.renewAll(m.calls, m.renewed, m.lost)
	}
}

// Acquire takes the lease for a session.
func (m *Mirror) Acquire(ctx context.Context, session string) error {
	if m.leases == nil {
		return nil
	}
	_, err := m.leases.fence(ctx, session)
	return err
}

// Owned waits until no other process can own a session that this mirror stores:
// every lease was renewed in time. It returns the error that has ended the
// mirror, or that of ctx.
func (m *Mirror) Owned(ctx context.Context) error {
	return m.await(ctx, func() (bool, error) { return m.leases == nil || m.leases.sure(), nil })
}

// renewed wakes everyone waiting for a lease.
func (m *Mirror) renewed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell()
}

// Put queues a frame, which it keeps.
func (m *Mirror) Put(line []byte) {
	m.mu.Lock()
	m.arrived = append(m.arrived, line)
	m.size += len(line)
	m.put++
	m.mu.Unlock()
	signal(m.wake)
}

// Hurry stores the frames so far without waiting for others. It does not wait.
func (m *Mirror) Hurry() {
	m.mu.Lock()
	m.hurried = m.put
	m.mu.Unlock()
	signal(m.wake)
}

// Lose notes that an unreadable frame arrived. Its content is not stored.
func (m *Mirror) Lose(err error) {
	m.reject(store.Key{}, err)
}

// Count returns the number of frames so far.
func (m *Mirror) Count() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put
}

// Wait blocks until the first count frames are stored. It returns a
// [*store.NotStoredError] if the store takes nothing for too long, the error
// that has ended the mirror, or that of ctx. An awaited frame does not wait for
// others.
func (m *Mirror) Wait(ctx context.Context, count uint64) error {
	m.mu.Lock()
	if m.stored >= count {
		m.mu.Unlock()
		return nil
	}
	m.awaited = append(m.awaited, count)
	m.mu.Unlock()
	signal(m.wake)
	defer func() {
		m.mu.Lock()
		at := slices.Index(m.awaited, count)
		m.awaited = slices.Delete(m.awaited, at, at+1)
		m.mu.Unlock()
	}()
	return m.await(ctx, func() (bool, error) {
		if m.stored >= count || m.gaveUp == nil {
			return m.stored >= count, nil
		}
		return false, m.gaveUp
	})
}

// await blocks until ready returns true, or fails. It is called with the lock
// held, whenever tell was.
func (m *Mirror) await(ctx context.Context, ready func() (bool, error)) error {
	for {
		m.mu.Lock()
		ok, err := ready()
		if !ok && m.ended != nil {
			err = m.ended
		}
		if ok || err != nil {
			m.mu.Unlock()
			return err
		}
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tell wakes the waiters. The lock is held.
func (m *Mirror) tell() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// run stores what comes, until the mirror is closed and everything is stored,
// or nothing may be stored any more.
func (m *Mirror) run() {
	defer close(m.done)
	late := time.NewTimer(gatherFor) // one for all batches
	late.Stop()
	pause := firstPause
	for m.calls.Err() == nil {
		if m.empty() {
			if m.idle() {
				return
			}
			m.gather(late)
		}
		b := m.next()
		if b == nil {
			continue
		}
		err := m.append(b)
		switch {
		case err == nil:
			pause = firstPause
			m.settled()
		case m.calls.Err() != nil:
		case errors.Is(err, store.ErrLeaseLost), errors.Is(err, store.ErrLeased), errors.Is(err, store.ErrDeleted):
			m.lost(err)
		default:
			m.failed(b.key, err)
			m.sleep(pause)
			pause = min(2*pause, maxPause)
		}
	}
}

// empty reports whether everything is stored that was read.
func (m *Mirror) empty() bool {
	m.work.Lock()
	defer m.work.Unlock()
	return m.queue.first() == nil
}

// idle reports whether the mirror is closed and has nothing to do.
func (m *Mirror) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closing && len(m.arrived) == 0
}

// next returns the batch at the head of the queue, nil if there is none.
func (m *Mirror) next() *batch {
	m.work.Lock()
	defer m.work.Unlock()
	m.collect()
	if m.queue.held() > maxHeld {
		m.spill()
	}
	return m.queue.first()
}

// collect moves the frames that arrived to the end of the queue. work is held.
func (m *Mirror) collect() {
	m.mu.Lock()
	frames, count := m.arrived, m.put
	m.arrived, m.size = nil, 0
	m.mu.Unlock()
	if len(frames) == 0 {
		return
	}
	if m.queue.first() == nil {
		m.restart()
	}
	var group group
	for _, line := range frames {
		key, entries, err := readFrame(line, m.cfg.Project)
		if err != nil {
			m.reject(key, err)
		}
		group.add(key, entries)
	}
	if m.queue.add(group, count); m.queue.first() == nil {
		m.acknowledge(count) // there was nothing in them
	}
}

// restart begins to measure for how long the store takes nothing.
func (m *Mirror) restart() {
	if m.cfg.GiveUp > 0 {
		m.timer.Reset(m.cfg.GiveUp)
	}
}

// append tries to store a batch.
func (m *Mirror) append(b *batch) error {
	ctx, cancel := context.WithTimeout(m.calls, callBound)
	defer cancel()
	m.work.Lock()
	err := m.queue.whole()
	own := b.batch
	m.work.Unlock()
	if err != nil {
		return err
	}
	own.Fence = m.cfg.Fence
	if m.leases != nil {
		fence, err := m.leases.fence(ctx, b.key.Session)
		if err != nil {
			return err
		}
		own.Fence = fence
	}
	return m.cfg.Store.Append(ctx, b.key, own)
}

// settled takes the batch that was stored out of the queue.
func (m *Mirror) settled() {
	m.work.Lock()
	defer m.work.Unlock()
	if m.left {
		return // it was reported as not stored, and is in the journal
	}
	count := m.queue.pop()
	if m.queue.first() == nil {
		if err := m.queue.dropJournal(); err != nil {
			m.cfg.Log.Warn("the journal of entries that are stored could not be removed", "error", err)
		}
	} else {
		m.restart()
	}
	if count > 0 {
		m.acknowledge(count)
	}
}

// acknowledge notes that the first count frames are stored. work is held.
func (m *Mirror) acknowledge(count uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = count
	if m.queue.first() == nil {
		m.timer.Stop()
		m.gaveUp = nil
	}
	m.tell()
}

// failed notes that a batch could not be stored this time. One that never can
// be is given up at once.
func (m *Mirror) failed(key store.Key, err error) {
	m.cfg.Log.Warn("the store does not take a batch", "key", key.String(), "error", err)
	m.work.Lock()
	m.queue.err = err
	m.spill()
	m.work.Unlock()
	if errors.Is(err, store.ErrInvalid) { // as a bad key is
		m.giveUp()
	}
}

// spill writes the entries in the queue to the journal, unless they are there
// already. work is held.
func (m *Mirror) spill() {
	m.collect()
	if err := m.queue.spill(m.cfg.Journals); err != nil {
		m.cfg.Log.Error("entries that are not stored could not be written to a journal", "error", err)
	}
}

// sleep waits for the next attempt. What comes in the meantime goes to the
// journal.
func (m *Mirror) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-m.wake:
			m.work.Lock()
			m.spill()
			m.work.Unlock()
		case <-t.C:
			return
		case <-m.calls.Done():
			return
		}
	}
}

// giveUp reports to the waiters that the store has taken nothing for too long.
func (m *Mirror) giveUp() {
	m.work.Lock()
	b := m.queue.first()
	if b == nil || m.left {
		m.work.Unlock()
		return
	}
	m.spill()
	err := m.queue.notStored(errTooLong)
	m.mu.Lock()
	first := m.gaveUp == nil
	m.gaveUp = err
	m.tell()
	m.mu.Unlock()
	m.work.Unlock()
	if first {
		m.cfg.OnNotStored(b.key, err)
	}
}

// errTooLong is the reason when no call has failed yet.
var errTooLong = errors.New("the store does not answer")

// reject notes a frame that can never be stored.
func (m *Mirror) reject(key store.Key, err error) {
	m.mu.Lock()
	if m.bad == nil {
		m.bad = err
	}
	m.mu.Unlock()
	m.cfg.OnNotStored(key, &store.NotStoredError{Err: err})
}

// lost ends the mirror because another process owns the session, or none does.
func (m *Mirror) lost(err error) {
	m.Abort(err)
	m.lostOnce.Do(func() { m.cfg.OnLost(err) })
}

// Abort ends the mirror at once. Entries that are not stored are kept in a
// journal.
func (m *Mirror) Abort(cause error) {
	m.mu.Lock()
	if m.ended == nil {
		m.ended = cause
		m.tell()
	}
	m.mu.Unlock()
	m.cancel()
	signal(m.wake)
}

// Close stores the remaining entries, as long as ctx allows, and releases the
// leases. It returns nil if everything is stored, and otherwise a
// [*store.NotStoredError].
func (m *Mirror) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closing = true
	if !m.started {
		close(m.done)
		m.started = true
	}
	m.mu.Unlock()
	signal(m.wake)
	select {
	case <-m.done:
	case <-ctx.Done():
	}
	m.cancel()
	select {
	case <-m.done:
	case <-time.After(endBound): // a store that does not heed its context
	}
	err := m.leave()
	m.mu.Lock()
	if m.ended == nil { // callers no longer wait for what is not stored
		if m.ended = err; err == nil {
			m.ended = errClosed
		}
	}
	m.tell()
	m.mu.Unlock()
	if m.leases != nil {
		m.leases.releaseAll(m.cfg.Log)
	}
	return err
}

// errClosed is the reason when a frame comes after Close has stored all others.
var errClosed = errors.New("the mirror is closed")

// endBound is how long a call of the store may take to notice that its context
// has ended.
const endBound = time.Second

// leave keeps the entries that are not stored at the end, and returns the error
// for them.
func (m *Mirror) leave() error {
	m.work.Lock()
	defer m.work.Unlock()
	m.spill()
	m.queue.closeJournal()
	m.left = true
	m.timer.Stop() // even when it began just now, with frames that were still gathered
	m.mu.Lock()
	ended, bad := m.ended, m.bad
	m.mu.Unlock()
	switch {
	case m.queue.first() != nil && ended != nil:
		m.queue.err = ended
		return m.queue.notStored(nil)
	case m.queue.first() != nil:
		return m.queue.notStored(errTooLong)
	case bad != nil:
		return &store.NotStoredError{Err: bad}
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
