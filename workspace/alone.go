package workspace

import (
	"context"
	"sync"
)

// aloneLocks are locks by name within one process, for file systems that have none.
type aloneLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the lock is free
}

// lock waits for a lock, no longer than the context, and returns what frees it.
func (l *aloneLocks) lock(ctx context.Context, name string) (free func(), err error) {
	for {
		taken := l.try(name)
		if taken == nil {
			return func() { l.free(name) }, nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try takes a lock, or returns when it will be free.
func (l *aloneLocks) try(name string) (taken <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until, ok := l.held[name]; ok {
		return until
	}
	if l.held == nil {
		l.held = make(map[string]chan struct{})
	}
	l.held[name] = make(chan struct{})
	return nil
}

func (l *aloneLocks) free(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[name])
	delete(l.held, name)
}
