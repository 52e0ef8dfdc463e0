package feed

import (
	"context"
	"iter"
	"sync"
)

// Feed passes on what happens under a topic, such as a project, to all that watch it. The
// zero Feed is ready for use. Its methods may be called from any goroutine.
type Feed[T any] struct {
	mu     sync.Mutex
	queues map[string]map[*Queue[T]]bool
}

// Publish passes items on to those that watch a topic now. It never waits for them.
// Callers that publish under a lock of their own keep their order.
func (f *Feed[T]) Publish(topic string, items ...T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for q := range f.queues[topic] {
		q.Put(items...)
	}
}

// Missed lets the watchers of all topics know that something may have been missed.
func (f *Feed[T]) Missed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, all := range f.queues {
		for q := range all {
			q.Miss()
		}
	}
}

// Watched reports whether anything watches a topic.
func (f *Feed[T]) Watched(topic string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queues[topic]) > 0
}

// Watch yields the zero item first, when nothing is missed any more, then those that are
// published, until the context ends. After leaving the loop nothing is left.
func (f *Feed[T]) Watch(ctx context.Context, topic string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := NewQueue[T]()
		defer f.Join(topic, q)()
		q.Miss()
		q.All(ctx)(yield)
	}
}

// Join adds a queue to those that watch a topic, until leave is called.
func (f *Feed[T]) Join(topic string, q *Queue[T]) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queues == nil {
		f.queues = make(map[string]map[*Queue[T]]bool)
	}
	if f.queues[topic] == nil {
		f.queues[topic] = make(map[*Queue[T]]bool)
	}
	f.queues[topic][q] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.queues[topic], q); len(f.queues[topic]) == 0 {
			delete(f.queues, topic)
		}
	}
}
