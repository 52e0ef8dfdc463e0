package peer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
)

// A call that was not written at all, because another line took the stream for
// too long or its payload is not JSON, leaves room for the next.
func TestCallNeverBegunLeavesItsPlace(t *testing.T) {
	bubble(t, peer.Config{Limits: peer.Limits{Pending: 2}}, func(t *testing.T, far *otherSide) {
		first := far.call(t.Context(), peer.Call{Subtype: "first"}) // it waits for us to read
		synctest.Wait()
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			late := far.call(ctx, peer.Call{Subtype: "late"})
			synctest.Wait()
			cancel()
			if got := <-late; !errors.Is(got.err, ndjson.ErrNotBegun) {
				t.Errorf("a call that was never begun: %v", got.err)
			}
			if _, err := far.peer.Call(t.Context(), peer.Call{Subtype: "odd", Payload: 1}); err == nil || errors.Is(err, peer.ErrTooManyCalls) {
				t.Errorf("a call with a payload that is not an object: %v", err)
			}
		}
		far.expect(request("req_0", "first"))
		far.send(success("req_0", "{}"))
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
	})
}
