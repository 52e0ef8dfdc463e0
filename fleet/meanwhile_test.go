package fleet_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// meanwhile is a store in which something happens just before one of its reads.
type meanwhile struct {
	*store.MemoryStore
	mu sync.Mutex
	n  int // reads until then; 0: nothing happens
	do func()
}

func (m *meanwhile) set(n int, do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n, m.do = n, do
}

// happened reports whether it has.
func (m *meanwhile) happened() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n == 0
}

func (m *meanwhile) read() {
	m.mu.Lock()
	now := m.n == 1
	m.n = max(0, m.n-1)
	do := m.do
	m.mu.Unlock()
	if now {
		do()
	}
}

func (m *meanwhile) View(ctx context.Context, v store.View) ([]store.Record, error) {
	m.read()
	return m.MemoryStore.View(ctx, v)
}

func (m *meanwhile) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		m.read()
		m.MemoryStore.Scan(ctx, f, after)(yield)
	}
}

// A prompt that ends while its ticket is read is found, at whichever read of the store
// that happens.
func TestEndsMeanwhile(t *testing.T) {
	reads := map[string]func(ctx context.Context, f *fleet.Fleet, id string) error{
		"Prompt": func(ctx context.Context, f *fleet.Fleet, id string) error {
			_, err := f.Prompt(ctx, "ada", id)
			return err
		},
		"Wait": func(ctx context.Context, f *fleet.Fleet, id string) error {
			_, err := f.Wait(ctx, "ada", id)
			return err
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			at := 0
			for n := range 8 {
				synctest.Test(t, func(t *testing.T) {
					db, cli := &meanwhile{MemoryStore: store.Memory()}, newScripted()
					f := open(t, db, cli, nil)
					defer closeFleet(t, f)
					release := sync.OnceFunc(cli.pause())
					id := send(t, f, "ada", "hello")
					synctest.Wait()
					db.set(n+1, func() {
						release()
						<-time.After(time.Minute)
					})
					defer time.AfterFunc(30*time.Minute, release).Stop() // where it is read less often
					if err := read(t.Context(), f, id); err != nil {
						t.Errorf("ended at read %d: %v", n+1, err)
					}
					if db.happened() {
						at = n + 1
					}
					release()
				})
			}
			if at < 3 {
				t.Errorf("only %d reads", at)
			}
		})
	}
}
