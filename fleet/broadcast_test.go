package fleet_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// radio carries live text between fleets. It delays what it carries, and loses some.
type radio struct {
	mu      sync.Mutex
	random  *rand.Rand
	lossy   bool
	workers []*fleet.Fleet
	ears    map[int]chan []byte
	next    int
}

func newRadio(seed uint64, lossy bool) *radio {
	return &radio{random: rand.New(rand.NewPCG(seed, 0)), lossy: lossy, ears: make(map[int]chan []byte)}
}

func (r *radio) Publish(_ string, frame []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ear := range r.ears {
		if r.lossy && r.random.IntN(10) == 0 {
			continue
		}
		ear <- frame
	}
}

func (r *radio) Listen(_ context.Context, _ string, do func([]byte)) (func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ear, done := make(chan []byte, 100_000), make(chan struct{})
	r.next++
	n := r.next
	r.ears[n] = ear
	go func() {
		defer close(done)
		for frame := range ear {
			if r.lossy {
				<-time.After(time.Millisecond)
			}
			do(frame)
		}
	}()
	return func() {
		r.mu.Lock()
		delete(r.ears, n)
		r.mu.Unlock()
		close(ear)
		<-done
	}, nil
}

func (r *radio) Ask(ctx context.Context, key string) ([]byte, error) {
	r.mu.Lock()
	workers, silent := r.workers, r.lossy && r.random.IntN(4) == 0
	r.mu.Unlock()
	for _, w := range workers {
		if state, here := w.LiveState(key); here && !silent {
			return state, nil
		}
	}
	return nil, fleet.ErrElsewhere
}

// Readers in another process see an answer while it is written, from wherever they
// join, without a gap and without a double, and then once from the store: even when
// what carries it loses a tenth and is slow.
func TestEventsLiveElsewhere(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			r := newRadio(seed, seed > 0)
			db := store.Memory()
			cli, answer := slowWriter()
			client, worker := apart(t, db, cli, func(o *fleet.Options) {
				partial(o)
				o.Live = r
			})
			defer closeFleet(t, worker)
			defer closeFleet(t, client)
			r.workers = append(r.workers, worker)
			send2(t, client, "ada", "hello")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var pages [3]page
			for n := range pages {
				go pages[n].follow(ctx, t, client, 0)
				<-time.After(500 * time.Millisecond)
				if n == 1 && pages[1].text() == "" {
					t.Errorf("seed %d: a reader that joins in the middle of an answer sees nothing of it", seed)
				}
			}
			<-time.After(time.Minute)
			send2(t, client, "ada", "again")
			<-time.After(time.Minute)
			cancel()
			synctest.Wait()
			for n := range pages {
				p := &pages[n]
				if len(p.stored) != 4 || p.stored[1] != answer || p.stored[3] != answer || p.live != "" || p.ended != 2 && (seed == 0 || p.ended > 2) {
					t.Errorf("seed %d, page %d: stored %d, live %q, %d results", seed, n, len(p.stored), p.live, p.ended)
				}
				if p.pieces < 30 {
					t.Errorf("seed %d, page %d: %d pieces", seed, n, p.pieces)
				}
			}
		})
	}
}
