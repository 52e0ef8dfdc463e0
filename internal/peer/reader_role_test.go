package peer_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
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

// The peer may be closed in the moment in which the role of the reader is passed
// on: somebody reads on to the end anyway.
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
			synctest.Wait() // somebody waits for the role now
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

func (c *closing) Accept(r wire.Request) {
	if r.Subtype == "close" {
		c.peer.Close(io.EOF)
	}
}
