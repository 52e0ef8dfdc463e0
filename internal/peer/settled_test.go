package peer_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/peer"
)

// Settled is called once for each request, when nothing is unanswered on its
// account, whatever its handler does.
func TestSettled(t *testing.T) {
	var side *otherSide
	var open []int // what was unanswered each time
	cfg := peer.Config{Limits: peer.Limits{Running: 1}, OnSettled: func() { open = append(open, side.peer.Unanswered()) }}
	bubble(t, cfg, func(t *testing.T, far *otherSide) {
		side = far
		release := make(chan struct{})
		defer close(release)
		far.handle = func(context.Context, *peer.Incoming) { <-release }
		want := func(n int, when string) {
			t.Helper()
			synctest.Wait()
			if len(open) != n || n > 0 && open[n-1] != 0 {
				t.Errorf("%s: settled %d times with %v unanswered, want %d times", when, len(open), open, n)
			}
		}
		far.send(request("u-1", "x"))
		want(0, "asked")
		far.send(cancelled("u-1"))
		want(1, "withdrawn, though its handler runs")
		far.send(request("u-2", "x"))
		want(1, "refused, but not yet written")
		far.expect(success("u-2", `{"refused":true}`))
		want(2, "refused")
	})
}
