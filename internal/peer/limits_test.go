package peer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
)

// TestDefaultLimits holds the numbers of the specification.
func TestDefaultLimits(t *testing.T) {
	t.Run("pending", func(t *testing.T) {
		bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
			ctx, cancel := context.WithCancel(t.Context())
			var calls []<-chan outcome
			for range 64 {
				calls = append(calls, far.call(ctx, peer.Call{Subtype: "x"}))
				far.receive()
			}
			_, err := far.peer.Call(ctx, peer.Call{Subtype: "x"})
			want := "too many pending control requests (max 64). Check for stuck operations or excessive concurrency"
			if !errors.Is(err, peer.ErrTooManyCalls) || err.Error() != want {
				t.Errorf("65th: %v", err)
			}
			if log := far.log.String(); !strings.Contains(log, `level=WARN msg="limit of outgoing requests reached" count=64`) {
				t.Errorf("log:\n%s", log)
			}
			cancel()
			for _, c := range calls {
				if got := <-c; !errors.Is(got.err, context.Canceled) {
					t.Error(got.err)
				}
			}
			for range calls {
				far.receive()
			}
		})
	})
	t.Run("queued", func(t *testing.T) {
		bubble(t, peer.Config{HoldUntilOpen: true}, func(t *testing.T, far *otherSide) {
			ctx, cancel := context.WithCancel(t.Context())
			for range 16 {
				far.call(ctx, peer.Call{Subtype: "x"})
			}
			synctest.Wait()
			_, err := far.peer.Call(ctx, peer.Call{Subtype: "x"})
			want := "too many control operations queued during initialization (max 16). Is the CLI responding?"
			if !errors.Is(err, peer.ErrQueueFull) || err.Error() != want {
				t.Errorf("17th: %v", err)
			}
			if log := far.log.String(); !strings.Contains(log, `level=WARN msg="limit of outgoing requests reached" count=16`) {
				t.Errorf("log:\n%s", log)
			}
			cancel()
			synctest.Wait()
		})
	})
	t.Run("running", func(t *testing.T) {
		bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
			release := make(chan struct{})
			far.handle = func(_ context.Context, in *peer.Incoming) {
				<-release
				in.Reply(json.RawMessage(`{}`))
			}
			for i := range 33 {
				far.send(request(fmt.Sprint("u-", i), "x"))
			}
			far.expect(success("u-32", `{"refused":true}`))
			close(release)
			for range 32 {
				far.receive()
			}
		})
	})
}

// TestLogLevels holds at which level the engine reports what.
func TestLogLevels(t *testing.T) {
	for what, tt := range map[string]struct {
		do   func(*otherSide)
		want string
	}{
		"orphan reply":   {func(f *otherSide) { f.send(success("nobody", "{}")) }, `level=WARN msg="orphan reply dropped" request_id=nobody`},
		"unknown cancel": {func(f *otherSide) { f.send(cancelled("nobody")) }, `level=DEBUG msg="cancel for a request that is not pending" request_id=nobody`},
		"late reply": {func(f *otherSide) {
			done := f.call(f.t.Context(), peer.Call{Subtype: "x", Timeout: time.Second})
			f.receive()
			<-done
			f.receive()
			f.send(success("req_0", "{}"))
		}, `level=DEBUG msg="late reply dropped" request_id=req_0`},
		"panic": {func(f *otherSide) {
			f.handle = func(context.Context, *peer.Incoming) { panic("boom") }
			f.send(request("u-1", "x"))
			f.receive()
		}, `level=ERROR msg="panic in a request handler" subtype=x request_id=u-1 panic=boom`},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
				tt.do(far)
				synctest.Wait()
				if log := far.log.String(); !strings.Contains(log, tt.want) {
					t.Errorf("log:\n%swant %s", log, tt.want)
				}
			})
		})
	}
}
