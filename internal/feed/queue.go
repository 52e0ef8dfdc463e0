package feed

import (
	"context"
	"iter"
	"sync"
)

// Most is how many items wait in a queue. One more, and all of them give way to a single
// zero item.
const Most = 1000

// Queue holds the items that wait for one watcher. Its methods may be called from
// any goroutine.
type Queue[T any] struct {
	ready chan struct{} // one slot: there is something to take

	mu    sync.Mutex
	items []T
	err   error
}

// NewQueue makes an empty queue.
func NewQueue[T any]() *Queue[T] { return &Queue[T]{ready: make(chan struct{}, 1)} }

// Put adds items. It never waits.
func (q *Queue[T]) Put(items ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items)+len(items) > Most {
		q.items = make([]T, 1) // the zero item; the old array would keep its size
	} else {
		q.items = append(q.items, items...)
	}
	q.wake()
}

// Miss replaces all that waits by the zero item.
func (q *Queue[T]) Miss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = make([]T, 1)
	q.wake()
}

// Fail ends the loop over the queue with an error, after what waits. The first error
// counts.
func (q *Queue[T]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.wake()
}

// wake lets the watcher look. The lock is held.
func (q *Queue[T]) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns all that waits. If that is nothing, it returns the error.
func (q *Queue[T]) take() ([]T, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, q.err
	}
	items := q.items
	q.items = nil
	return items, nil
}

// All yields what is put into the queue, for one loop at a time. It ends without an error
// when the context does.
func (q *Queue[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			items, err := q.take()
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if ctx.Err() != nil || !yield(item, nil) {
					return
				}
			}
			if len(items) > 0 {
				continue
			}
			select {
			case <-q.ready:
			case <-ctx.Done():
				return
			}
		}
	}
}
