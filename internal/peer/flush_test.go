package peer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
)

// A line that the other side does not take keeps what was held behind it from
// being written, but not from ending in its time.
func TestHeldCallEndsBehindABlockedLine(t *testing.T) {
	bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
		sent := make(chan error, 1)
		go func() { sent <- far.peer.Send(t.Context(), []byte(`{"type":"user"}`)) }()
		synctest.Wait()
		held := far.call(t.Context(), peer.Call{Subtype: "held", Timeout: time.Second})
		synctest.Wait()
		<-time.After(time.Hour)
		begin := time.Now()
		far.peer.Open() // and no one reads
		synctest.Wait()
		late := far.call(t.Context(), peer.Call{Subtype: "late", Timeout: 2 * time.Second})
		for i, call := range []<-chan outcome{held, late} {
			want := time.Duration(i+1) * time.Second
			select {
			case got := <-call:
				if e, ok := errors.AsType[*peer.TimeoutError](got.err); !ok || e.ID != "" {
					t.Errorf("error = %v, want a timeout of a call that was not sent", got.err)
				}
				if took := time.Since(begin); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
			case <-time.After(time.Minute):
				t.Errorf("call %d waits without bound", i)
			}
		}
		far.expect(`{"type":"user"}`)
		if err := <-sent; err != nil {
			t.Error(err)
		}
		// Of the two calls nothing is written any more.
		go func() { sent <- far.peer.Send(t.Context(), []byte(`{"type":"next"}`)) }()
		far.expect(`{"type":"next"}`)
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}
