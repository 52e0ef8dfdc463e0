package peer_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
)

// What cannot be served is not answered either when its id is that of a request
// which is: the other side would take the answer for that one's.
func TestMalformedDuplicateIsDropped(t *testing.T) {
	for name, line := range map[string]string{
		"no request":   `{"type":"control_request","request_id":"u-1"}`,
		"no subtype":   `{"type":"control_request","request_id":"u-1","request":{}}`,
		"two subtypes": `{"type":"control_request","request_id":"u-1","request":{"subtype":"x","Subtype":"y"}}`,
		"wrapped":      `{"type":"control_request","message":{"request_id":"u-1","request":{}}}`,
		"no type":      `{"request_id":"u-1","request":{"subtype":"x"}}`,
		"oversized":    `{"type":"control_request","request_id":"u-1","request":{"subtype":"x","pad":"` + strings.Repeat("x", 200<<10) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
				release := make(chan struct{})
				far.handle = func(_ context.Context, in *peer.Incoming) {
					<-release
					in.Reply(json.RawMessage(`{"n":1}`))
				}
				far.send(request("u-1", "x"))
				far.send(line)
				synctest.Wait()
				close(release)
				far.expect(success("u-1", `{"n":1}`))
				if log := far.log.String(); len(far.faults) != 1 || !strings.Contains(log, "level=WARN msg=\"request with an id that is still pending dropped\"") {
					t.Errorf("faults %q, log:\n%s", far.faults, log)
				}
				// Answered, the id is free again: this one is refused.
				far.send(line)
				if got := far.receive(); !strings.Contains(got, `"subtype":"error","request_id":"u-1"`) {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}

// A refusal that waits for the stream holds its id, and a cancel ends it.
func TestRefusalHoldsItsID(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		blocker := far.call(t.Context(), peer.Call{Subtype: "blocks", Timeout: time.Minute}) // no one reads: the stream is taken
		synctest.Wait()
		far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage(`{"n":1}`)) }
		for _, id := range []string{"u-1", "u-2"} {
			far.send(`{"type":"control_request","request_id":"` + id + `","request":{}}`)
			synctest.Wait()
		}
		if n := far.peer.Unanswered(); n != 2 {
			t.Errorf("%d unanswered, want 2", n)
		}
		far.send(request("u-1", "x")) // dropped
		far.send(cancelled("u-2"))
		synctest.Wait()
		far.expect(request("req_0", "blocks"))
		far.expect(failure("u-1", "Missing required field: request.subtype"))
		far.send(success("req_0", "{}"))
		if got := <-blocker; got.err != nil {
			t.Error(got.err)
		}
		far.send(request("u-2", "x"))
		far.expect(success("u-2", `{"n":1}`))
	})
}

func TestLinesWithoutType(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		for _, line := range []string{
			`{"request_id":"u-1","request":{"subtype":"can_use_tool"}}`,
			`{"type":null,"request_id":"u-1","request":{"subtype":"can_use_tool"}}`,
			`{"type":7,"request_id":"u-1"}`,
		} {
			far.send(line)
			far.expect(failure("u-1", "Missing required field: type"))
		}
		if len(far.faults) != 3 || len(far.accepted) != 0 {
			t.Errorf("faults %q, accepted %q", far.faults, far.accepted)
		}
		far.send(`{"request_id":"u-1","response":{"subtype":"success"}}`) // a reply is not answered
		far.send(`{"a":1}`)                                               // nor what asks for nothing
		far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(nil) }
		far.send(request("u-2", "x"))
		far.expect(`{"type":"control_response","response":{"subtype":"success","request_id":"u-2"}}`)
		if len(far.messages) != 2 {
			t.Errorf("messages %q, want 2", far.messages)
		}
	})
}

// Both sides may use one id at the same time: ours and theirs do not mix.
func TestIDsOfTheTwoSidesAreApart(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		ended := make(chan error, 1)
		far.handle = func(ctx context.Context, in *peer.Incoming) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
		call := far.call(t.Context(), peer.Call{Subtype: "ours"})
		far.expect(request("req_0", "ours"))
		far.send(request("req_0", "theirs"))
		synctest.Wait()
		if n := far.peer.Unanswered(); n != 1 {
			t.Fatalf("%d unanswered requests, want 1: the id of our call is free for theirs", n)
		}
		far.send(cancelled("req_0")) // their request
		if err := <-ended; !errors.Is(err, peer.ErrCancelled) {
			t.Errorf("cause = %v", err)
		}
		synctest.Wait()
		far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage(`{"theirs":1}`)) }
		far.send(request("req_0", "theirs"))
		far.expect(success("req_0", `{"theirs":1}`)) // and does not end ours
		select {
		case got := <-call:
			t.Fatalf("the call ended: %+v", got)
		default:
		}
		far.send(success("req_0", `{"ours":1}`))
		if got := <-call; got.err != nil || got.payload != `{"ours":1}` {
			t.Errorf("call = %+v", got)
		}
	})
}
