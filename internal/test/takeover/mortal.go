package takeover

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// mortal is a store whose process dies at one of its writes. Renewals of leases do not
// count: they come by the clock.
type mortal struct {
	store.Fleet
	at     Moment
	leases string // a file

	mu     sync.Mutex
	writes int
}

// count returns how many writes there were.
func (m *mortal) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// write makes a write, unless this process dies before.
func write[T any](m *mortal, do func() (T, error)) (T, error) {
	m.mu.Lock()
	m.writes++
	last := m.writes == m.at.Write
	m.mu.Unlock()
	if last && !m.at.After {
		die()
	}
	out, err := do()
	if last {
		die()
	}
	return out, err
}

// die kills this process as the system would.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // there is no one to report it to
	}
	select {}
}

// run is write for what returns an error only.
func (m *mortal) run(do func() error) error {
	_, err := write(m, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// Append implements [store.Transcripts].
func (m *mortal) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return m.run(func() error { return m.Fleet.Append(ctx, k, b) })
}

// Acquire implements [store.Leases].
func (m *mortal) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	return write(m, func() (store.Lease, error) {
		l, err := m.Fleet.Acquire(ctx, project, name, owner, ttl)
		if err == nil {
			err = noteLease(m.leases, l)
		}
		return l, err
	})
}

// Release implements [store.Leases].
func (m *mortal) Release(ctx context.Context, l store.Lease) error {
	return m.run(func() error { return m.Fleet.Release(ctx, l) })
}

// Change implements [store.Records].
func (m *mortal) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	return write(m, func() ([]int64, error) { return m.Fleet.Change(ctx, f, c...) })
}
