// Package watched reads the changes of a store for tests: one by one, or many at once while
// something cuts connections.
package watched

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Project is the project that is watched.
const Project = "p"

// Store is the part of a store that is tested.
type Store interface {
	Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error)
	Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error]
}

// T is the part of testing.T that is needed here.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Error(args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Loop is a loop over the changes of a project.
type Loop struct {
	t    T
	Stop func()     // ends the context of the loop
	End  chan error // gets the last error, or nil, when the loop has ended

	mu   sync.Mutex
	all  []store.Changed
	more chan struct{} // closed with the next one
	read int           // how many were returned by Next
}

// patience is how long a change may take to come.
const patience = time.Minute

// New watches a store until the end of the test, and returns when nothing is missed any more.
func New(t T, s Store) *Loop {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &Loop{t: t, Stop: cancel, End: make(chan error, 1), more: make(chan struct{})}
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		var last error
		for c, err := range s.Watch(ctx, Project) {
			if last = err; err == nil {
				l.add(c)
			}
		}
		l.End <- last
	}()
	l.Zero("at first")
	return l
}

func (l *Loop) add(c store.Changed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, c)
	close(l.more)
	l.more = make(chan struct{})
}

// Next returns the next change.
func (l *Loop) Next(when string) store.Changed {
	l.t.Helper()
	t := time.NewTimer(patience)
	defer t.Stop()
	for {
		l.mu.Lock()
		more := l.more
		if l.read < len(l.all) {
			l.read++
			c := l.all[l.read-1]
			l.mu.Unlock()
			return c
		}
		l.mu.Unlock()
		select {
		case <-more:
		case <-t.C:
			l.t.Fatalf("%s: nothing comes", when)
		}
	}
}

// Skip returns what has come and was not yet read.
func (l *Loop) Skip() []store.Changed {
	l.mu.Lock()
	defer l.mu.Unlock()
	some := l.all[l.read:len(l.all):len(l.all)]
	l.read = len(l.all)
	return some
}

// Zero wants the zero Changed next.
func (l *Loop) Zero(when string) {
	l.t.Helper()
	if c := l.Next(when); !c.IsZero() {
		l.t.Fatalf("%s: %+v comes, want the zero Changed", when, c)
	}
}

// Record wants a change of a record next.
func (l *Loop) Record(when, name string, revision int64) {
	l.t.Helper()
	if c, want := l.Next(when), (store.Changed{Record: Record(name), Revision: revision}); c != want {
		l.t.Fatalf("%s: %+v comes, want %+v", when, c, want)
	}
}

// Record names a record.
func Record(name string) store.RecordKey {
	return store.RecordKey{Project: Project, Kind: "k", Name: name}
}

// Put makes a record, and returns its revision.
func Put(t T, s Store, name string) int64 {
	t.Helper()
	next, err := s.Change(t.Context(), store.Fence{}, store.RecordChange{Key: Record(name)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return next[0]
}

// made is a change, and how much had been read when it was begun.
type made struct {
	c    store.Changed
	mark int
}

// Many lets each of the writers make as many records, and calls cut from time to time. It wants
// each change to be read, or the zero Changed after the change was begun.
func (l *Loop) Many(writers []Store, times int, cut func()) {
	l.t.Helper()
	var mu sync.Mutex
	var all []made
	put := func(s Store, name string) made {
		l.mu.Lock()
		m := made{store.Changed{Record: Record(name)}, len(l.all)}
		l.mu.Unlock()
		next, err := s.Change(l.t.Context(), store.Fence{}, store.RecordChange{Key: Record(name)})
		if err != nil {
			l.t.Error(err)
			return m
		}
		m.c.Revision = next[0]
		mu.Lock()
		defer mu.Unlock()
		all = append(all, m)
		return m
	}
	var wg sync.WaitGroup
	for i, s := range writers {
		wg.Go(func() {
			for n := range times {
				if put(s, fmt.Sprint("many/", i, "/", n)); i == 0 && n%(times/4) == times/8 {
					cut()
				}
			}
		})
	}
	wg.Wait()
	for _, m := range append(all, put(writers[0], "many/last")) {
		l.await(m)
	}
	zeros, named := 0, 0
	for _, c := range l.all {
		if c.IsZero() {
			zeros++
		} else {
			named++
		}
	}
	l.t.Logf("%d changes: %d were read, and %d times the zero Changed", len(all), named, zeros)
}

// await waits until a change was read, or the zero Changed behind its mark.
func (l *Loop) await(m made) {
	l.t.Helper()
	t := time.NewTimer(patience)
	defer t.Stop()
	for {
		l.mu.Lock()
		seen, more := l.all[m.mark:], l.more
		l.mu.Unlock()
		for _, c := range seen {
			if c == m.c || c.IsZero() {
				return
			}
		}
		select {
		case <-more:
		case <-t.C:
			l.t.Fatalf("%+v does not come", m.c)
		}
	}
}
