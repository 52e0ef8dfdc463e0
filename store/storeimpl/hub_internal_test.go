package storeimpl

import (
	"context"
	"errors"
	"testing"
)

// A source may fail at the moment at which the last reader leaves, before its context ends.
func TestSourceFailsAtTheEnd(t *testing.T) {
	leaves := make(chan struct{})
	h := NewHub(func(context.Context) error {
		<-leaves
		return errors.New("failed")
	})
	for range 2 { // the next reader finds a hub that works
		ended := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		h.stop, h.ended = stop, ended
		go h.run(ctx, ended)
		h.mu.Lock()
		h.stop = nil // as the last reader does, which calls it then
		h.mu.Unlock()
		leaves <- struct{}{}
		<-ended
		stop()
		if h.closed != nil || h.stop != nil {
			t.Error("the hub is not as it was")
		}
	}
}
