package peer_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Requests that come one after the other are handled by the same two
// goroutines, and reading continues while any number of them is handled.
func TestReadingContinues(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(_ context.Context, in *peer.Incoming) {
			if in.Subtype == "slow" {
				<-release
			}
			in.Reply(json.RawMessage(`{}`))
		}
		for range 3 {
			far.send(request("quick", "x"))
			far.expect(success("quick", `{}`))
		}
		far.send(request("a", "slow"))
		far.send(request("b", "slow"))
		far.send(request("quick", "x"))
		far.expect(success("quick", `{}`))
		far.send(`{"type":"assistant"}`)
		synctest.Wait()
		if n := far.peer.Running(); n != 2 {
			t.Errorf("%d are running, want 2", n)
		}
		close(release)
		far.receive()
		far.receive()
	})
}

// A goroutine waits for the role of the reader between requests, and none while
// the peer rests: neither one that waited before, nor one that is done later.
func TestRest(t *testing.T) {
	waiting := func() int {
		synctest.Wait()
		stacks := make([]byte, 1<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "awaitReaderRole(")
	}
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		release := make(chan struct{})
		far.handle = func(_ context.Context, in *peer.Incoming) {
			in.Reply(json.RawMessage(`{}`))
			if in.Subtype == "slow" {
				<-release
			}
		}
		ask := func(subtype string) {
			far.send(request(subtype, subtype))
			far.expect(success(subtype, `{}`))
		}
		for range 3 {
			ask("quick")
			if n := waiting(); n != 1 {
				t.Errorf("%d wait between requests, want 1", n)
			}
			far.peer.Rest()
			far.peer.Rest()
			if n := waiting(); n != 0 {
				t.Errorf("%d wait while the peer rests, want none", n)
			}
		}
		ask("slow")
		far.peer.Rest()
		close(release)
		if n := waiting(); n != 0 {
			t.Errorf("%d wait after a slow request, want none", n)
		}
		far.send(`{"type":"assistant"}`)
		synctest.Wait()
		if len(far.messages) != 1 {
			t.Errorf("%d messages were read, want 1", len(far.messages))
		}
	})
}

// Rest may come at any moment: there is always one reader, and every request is
// answered.
func TestRestAmongRequests(t *testing.T) {
	bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
		far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage(`{}`)) }
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					far.peer.Rest()
					runtime.Gosched()
				}
			}
		}()
		for i := range 2000 {
			id := strconv.Itoa(i)
			far.send(request(id, "x"))
			far.expect(success(id, `{}`))
		}
		close(stop)
		<-stopped
	})
}

// The peer may be closed at the moment the role of the reader is passed on: a
// goroutine reads on to the end anyway.
func TestCloseWhileReaderRoleIsPassed(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			h := &closing{otherSide: otherSide{handle: func(context.Context, *peer.Incoming) {}}}
			p := peer.New(peer.Config{Writer: ndjson.NewWriter(io.Discard), Handler: h, Log: slog.New(slog.DiscardHandler)})
			h.peer = p
			ended := make(chan error, 1)
			p.Serve(ndjson.NewReader(in), func(err error) { ended <- err })
			say := func(line string) { io.WriteString(out, line+"\n") }
			say(request("a", "x"))
			synctest.Wait() // a goroutine waits for the role now
			say(request("b", "close"))
			say(`{"type":"assistant"}`)
			out.Close()
			if err := <-ended; err != nil || len(h.messages) != 1 {
				t.Errorf("%d messages before %v", len(h.messages), err)
			}
			p.Wait()
		})
	}
}

// closing closes its peer in the middle of taking a request in.
type closing struct{ otherSide }

func (c *closing) Accept(r wire.Request) bool {
	if r.Subtype == "close" {
		c.peer.Close(io.EOF)
	}
	return false
}
