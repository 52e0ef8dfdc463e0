package peer_test

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/peer"
)

// trusted makes the peer one whose handlers have returned at once.
func trusted(far *otherSide) {
	handle := far.handle
	far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage(`{}`)) }
	for range 8 {
		far.send(request("quick", "x"))
		far.expect(success("quick", `{}`))
	}
	synctest.Wait()
	far.handle = handle
}

// While handlers return at once, the goroutine that handles a request reads on
// when it is done: what follows is read after it.
func TestReaderKeepsItsRole(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		far.handle = func(_ context.Context, in *peer.Incoming) {
			synctest.Wait() // all other goroutines wait for us
			far.mu.Lock()
			early := len(far.messages) > 0
			far.mu.Unlock()
			if early {
				t.Error("somebody reads on while the handler has just begun")
			}
			in.Reply(json.RawMessage(`{}`))
		}
		trusted(far)
		begin := time.Now()
		io.WriteString(far.in, request("a", "x")+"\n"+`{"type":"assistant"}`+"\n")
		far.expect(success("a", `{}`))
		synctest.Wait()
		if len(far.messages) != 1 || time.Since(begin) != 0 {
			t.Errorf("messages %q after %v", far.messages, time.Since(begin))
		}
	})
}

// A handler that does not return loses the role: reading continues within
// milliseconds, and from then on at once.
func TestStuckHandlerLosesTheRole(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		ended := make(chan error, 1)
		release := make(chan struct{})
		far.handle = func(ctx context.Context, in *peer.Incoming) {
			if in.Subtype == "cancelled" {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return
			}
			<-release
			in.Reply(json.RawMessage(`{}`))
		}
		for range 3 { // it can happen again
			trusted(far)
			begin := time.Now()
			far.send(request("a", "cancelled"))
			far.send(cancelled("a"))
			if err := <-ended; err != peer.ErrCancelled {
				t.Errorf("ended by %v", err)
			}
			if took := time.Since(begin); took == 0 || took > 4*time.Millisecond {
				t.Errorf("the cancel was read after %v", took)
			}
		}
		trusted(far)
		far.send(request("b", "x"))
		<-time.After(time.Second)
		begin := time.Now()
		for _, id := range []string{"c", "d", "e"} { // no goroutine is trusted while one is stuck
			far.send(request(id, "x"))
		}
		far.send(`{"type":"assistant"}`)
		synctest.Wait()
		if n := far.peer.Running(); n != 4 || len(far.messages) != 1 {
			t.Errorf("%d are running, messages %q", n, far.messages)
		}
		if took := time.Since(begin); took > 4*time.Millisecond {
			t.Errorf("the next ones were read after %v", took)
		}
		close(release)
		for range 4 {
			far.receive()
		}
	})
}

// A handler that is not quick, although it returns, is not waited for again.
func TestSlowHandlerIsNotTrusted(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		far.handle = func(_ context.Context, in *peer.Incoming) {
			<-time.After(time.Millisecond)
			in.Reply(json.RawMessage(`{}`))
		}
		trusted(far)
		begin := time.Now()
		for range 10 {
			far.send(request("u-"+strings.Repeat("x", int(time.Since(begin))%7), "x")) // ids differ
			far.receive()
		}
		begin = time.Now()
		far.send(request("a", "x"))
		far.send(request("b", "x"))
		far.receive()
		far.receive()
		if took := time.Since(begin); took != time.Millisecond {
			t.Errorf("two handlers of 1 ms took %v: they did not run at once", took)
		}
	})
}

// A handler that ends its goroutine while that is the reader does not end the
// reading.
func TestGoexitOfTheReader(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		far.handle = func(context.Context, *peer.Incoming) { runtime.Goexit() }
		for range 3 {
			trusted(far)
			begin := time.Now()
			far.send(request("a", "x"))
			far.expect(failure("a", "the handler gave no answer"))
			far.send(`{"type":"assistant"}`)
			if time.Since(begin) != 0 {
				t.Error("reading had to wait")
			}
		}
		synctest.Wait()
		if len(far.messages) != 3 {
			t.Errorf("messages %q", far.messages)
		}
	})
}
