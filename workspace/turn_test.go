package workspace

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One caller has the turn at a time. Waiting ends with the context, and a caller that gave
// up does nothing.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		if err := turn.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			done <- turn.run(ctx, func() error { t.Error("two have the turn"); return nil })
		}()
		select {
		case err := <-done:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("behind another: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the wait has no end")
			turn.end()
			<-done
			return
		}
		turn.end()
		ran := errors.New("ran")
		if err := turn.run(t.Context(), func() error { return ran }); err != ran {
			t.Errorf("in turn: %v", err)
		}
		if err := turn.take(t.Context()); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}
