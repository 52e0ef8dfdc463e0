package natsfleet

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// waiting are the calls that wait for an answer. If the connection breaks, the answer
// is lost with it, even if another connection is made at once. So the calls are woken,
// and can ask again; otherwise they would wait until their timeout.
type waiting struct {
	mu  sync.Mutex
	all map[*context.CancelCauseFunc]bool
}

// begin returns a context that ends when the connection breaks. When the wait is over,
// end must be called with its error, and returns errBroken if that was the reason.
func (w *waiting) begin(ctx context.Context) (until context.Context, end func(error) error) {
	until, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[*context.CancelCauseFunc]bool)
	}
	w.all[&cancel] = true
	return until, func(err error) error {
		if errors.Is(err, context.Canceled) && context.Cause(until) == errBroken {
			err = errBroken
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, &cancel)
		cancel(nil)
		return err
	}
}

// tell ends all waits.
func (w *waiting) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.all {
		(*cancel)(errBroken)
	}
}

// watch calls tell whenever a connection breaks, until stop is called.
func (w *waiting) watch(nc *nats.Conn) (stop func()) {
	broken := nc.StatusChanged(nats.RECONNECTING)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range broken {
			w.tell()
		}
	})
	return func() {
		nc.RemoveStatusListener(broken)
		wg.Wait()
	}
}
