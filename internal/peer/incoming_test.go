package peer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

func TestIncomingIsAnsweredOnce(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		second := make(chan bool, 2)
		far.handle = func(_ context.Context, in *peer.Incoming) {
			if !in.Pending() {
				t.Error("not pending before its answer")
			}
			in.Reply(json.RawMessage(`{"ok":true}`))
			second <- in.Reply(json.RawMessage(`{"again":true}`))
			second <- in.Pending()
		}
		far.send(request("u-1", "hook_callback"))
		far.expect(success("u-1", `{"ok":true}`))
		if again, pending := <-second, <-second; again || pending {
			t.Error("a second answer was accepted")
		}
		if far.accepted[0] != "hook_callback" {
			t.Errorf("accepted %q", far.accepted)
		}
	})
}

func TestIncomingHandlersThatGoWrong(t *testing.T) {
	tests := map[string]struct {
		handle func(context.Context, *peer.Incoming)
		want   string
	}{
		"panic":       {func(context.Context, *peer.Incoming) { panic("boom") }, "the handler panicked"},
		"Goexit":      {func(context.Context, *peer.Incoming) { runtime.Goexit() }, "the handler gave no answer"},
		"no answer":   {func(context.Context, *peer.Incoming) {}, "the handler gave no answer"},
		"broken JSON": {func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage("{\n")) }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
				far.handle = tt.handle
				far.send(request("u-1", "x"))
				got := far.receive()
				if tt.want == "" {
					if !strings.Contains(got, `"subtype":"error"`) {
						t.Errorf("got %s", got)
					}
				} else if got != failure("u-1", tt.want) {
					t.Errorf("got %s", got)
				}
				synctest.Wait()
				if n := far.peer.Running(); n != 0 {
					t.Errorf("%d still running", n)
				}
			})
		})
	}
}

func TestIncomingCancelled(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		cause := make(chan error, 1)
		far.handle = func(ctx context.Context, in *peer.Incoming) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			in.Reply(json.RawMessage(`{}`)) // must not be written
		}
		far.send(request("u-1", "x"))
		synctest.Wait()
		far.send(cancelled("u-1"))
		if err := <-cause; !errors.Is(err, peer.ErrCancelled) {
			t.Errorf("cause = %v", err)
		}
		far.send(cancelled("unknown"))
		far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(nil) }
		far.send(request("u-2", "x"))
		far.expect(`{"type":"control_response","response":{"subtype":"success","request_id":"u-2"}}`)
	})
}

func TestIncomingTimerAnswersFirst(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(_ context.Context, in *peer.Incoming) {
			time.AfterFunc(time.Second, func() { in.Reply(json.RawMessage(`{"continue":true}`)) })
			<-release
			in.Reply(json.RawMessage(`{"late":true}`))
		}
		far.send(request("u-1", "x"))
		far.expect(success("u-1", `{"continue":true}`))
		if n := far.peer.Running(); n != 1 {
			t.Errorf("%d running, want the timed-out one to count", n)
		}
		close(release)
	})
}

func TestTooManyRunning(t *testing.T) {
	bubble(t, peer.Config{Limits: peer.Limits{Running: 3}}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(_ context.Context, in *peer.Incoming) {
			<-release
			in.Reply(json.RawMessage(`{}`))
		}
		for i := range 3 {
			far.send(request(fmt.Sprint("u-", i), "x"))
		}
		far.send(request("u-3", "x"))
		far.expect(success("u-3", `{"refused":true}`))
		if log := far.log.String(); !strings.Contains(log, "level=WARN msg=\"too many requests are being handled\" count=3") {
			t.Errorf("log:\n%s", log)
		}
		close(release)
		for range 3 {
			far.receive()
		}
	})
}

// Requests that are handled aside take no places, and need none.
func TestAside(t *testing.T) {
	bubble(t, peer.Config{Limits: peer.Limits{Running: 1}}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(_ context.Context, in *peer.Incoming) {
			if in.Subtype == "aside" {
				<-release
			}
			in.Reply(json.RawMessage(`{}`))
		}
		for i := range 3 {
			far.send(request(fmt.Sprint("a-", i), "aside"))
		}
		for i := range 8 { // the reader also trusts in handlers that return at once
			far.send(request(fmt.Sprint("u-", i), "x"))
			far.expect(success(fmt.Sprint("u-", i), `{}`))
			synctest.Wait()
		}
		close(release)
		for range 3 {
			if got := far.receive(); !strings.HasSuffix(got, `"response":{}}}`) {
				t.Error(got)
			}
		}
	})
}

func TestIncomingClosed(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		cause := make(chan error, 1)
		answered := make(chan bool, 1)
		far.handle = func(ctx context.Context, in *peer.Incoming) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			answered <- in.Pending() || in.Reply(json.RawMessage(`{}`))
		}
		far.send(request("u-1", "x"))
		synctest.Wait()
		gone := errors.New("gone")
		far.peer.Close(gone)
		if err := <-cause; err != gone {
			t.Errorf("cause = %v", err)
		}
		if <-answered {
			t.Error("a request could be answered after the close")
		}
		far.send(request("u-2", "x"))
		far.send(`{"type":"assistant"}`)
		synctest.Wait()
		if len(far.messages) != 1 {
			t.Errorf("messages after close: %q, want them still handed over", far.messages)
		}
	})
}

func TestIncomingValues(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "v"))
	cancel()
	bubble(t, peer.Config{Context: ctx}, func(t *testing.T, far *otherSide) {
		far.handle = func(ctx context.Context, in *peer.Incoming) {
			if ctx.Err() != nil || ctx.Value(key{}) != "v" {
				t.Errorf("context: %v, %v", ctx.Err(), ctx.Value(key{}))
			}
			in.Reply(nil)
		}
		far.send(request("u-1", "x"))
		far.receive()
	})
}

func TestDuplicateIDIsDropped(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(_ context.Context, in *peer.Incoming) {
			<-release
			in.Reply(json.RawMessage(`{"n":1}`))
		}
		far.send(request("u-1", "x"))
		far.send(request("u-1", "x"))
		synctest.Wait()
		close(release)
		far.expect(success("u-1", `{"n":1}`))
		if !strings.Contains(far.log.String(), "still pending") {
			t.Errorf("log:\n%s", far.log)
		}
	})
}

func TestLinesThatAreNoFrames(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		far.send("Starting up")
		far.send(`{"type":"control_request","request":{"subtype":"x"}}`)
		far.send(`{"type":"control_request","request_id":"u-1"}`)
		far.expect(failure("u-1", "Missing required field: request"))
		far.send(`{"type":"control_request","request_id":"u-2","request":{"a":1}}`)
		far.expect(failure("u-2", "Missing required field: request.subtype"))
		far.send(`{"type":"control_response"}`)
		far.send(`{"type":"keep_alive"}`)
		far.send(`{"type":"a","Type":"b"}`)
		far.send(`{"type":"control_request","request_id":"u-3","request":{"subtype":"x","pad":"` + strings.Repeat("x", 200<<10) + `"}}`)
		far.expect(failure("u-3", "request is over the line limit"))
		far.send(`{"type":"control_response","request_id":"u-4","pad":"` + strings.Repeat("x", 200<<10) + `"}`) // asks for nothing
		synctest.Wait()                                                                                         // an answer would be the next line
		far.send(`{"type":"assistant"}`)
		far.send(`{"type":"control_request","request_id":"u-5"}`)
		far.expect(failure("u-5", "Missing required field: request"))
		synctest.Wait()
		if len(far.faults) != 9 || len(far.messages) != 1 {
			t.Errorf("%d faults %q, %d messages", len(far.faults), far.faults, len(far.messages))
		}
	})
}

// A handler's context ends with it, so that what it has started does not stay.
func TestContextEndsWithTheHandler(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		var kept context.Context
		far.handle = func(ctx context.Context, in *peer.Incoming) {
			kept = ctx
			in.Reply(nil)
		}
		far.send(request("u-1", "x"))
		far.receive()
		synctest.Wait()
		if kept.Err() == nil {
			t.Error("the context of a handler that has returned is not done")
		}
	})
}

// Wait returns when the last handler has.
func TestWaitForHandlers(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(context.Context, *peer.Incoming) { <-release }
		far.send(request("u-1", "x"))
		synctest.Wait()
		far.peer.Close(errors.New("gone"))
		waited := make(chan struct{})
		go func() { far.peer.Wait(); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("Wait returned while a handler runs")
		default:
		}
		close(release)
		<-waited
	})
}

// A last line that lacks nothing but its line feed is routed like any other.
func TestRouteLastLine(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage(`{}`)) }
		far.peer.RouteLastLine([]byte(`{"type":"assistant"}`))
		far.peer.RouteLastLine([]byte(request("u-1", "x")))
		far.expect(success("u-1", `{}`))
		if len(far.messages) != 1 {
			t.Errorf("messages %q", far.messages)
		}
	})
}

// The maker of a peer may say where lines go.
func TestClassifyOfTheConfig(t *testing.T) {
	odd := errors.New("odd line")
	cfg := peer.Config{Classify: func(line []byte) (wire.Frame, error) { return wire.Frame{Line: line}, odd }}
	bubble(t, cfg, func(t *testing.T, far *otherSide) {
		far.send(`{"type":"assistant"}`)
		synctest.Wait()
		if len(far.messages) != 0 || len(far.faults) != 1 || far.faults[0] != odd.Error() {
			t.Errorf("messages %q, faults %q", far.messages, far.faults)
		}
	})
}
