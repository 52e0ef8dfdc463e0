package peer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
)

// A session may see any number of requests, as long as the other side takes the
// answers: those that are handled, and those that cannot be.
func TestAnsweredRequestsAreNotAFlood(t *testing.T) {
	for name, line := range map[string]string{
		"handled":   request("u", "x"),
		"malformed": `{"type":"control_request","request_id":"u"}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, peer.Config{}, func(t *testing.T, far *otherSide) {
				far.handle = func(_ context.Context, in *peer.Incoming) { in.Reply(json.RawMessage(`{}`)) }
				for range 5000 {
					far.send(line)
					far.receive()
				}
				far.send(`{"type":"assistant"}`)
				synctest.Wait()
				if len(far.messages) != 1 {
					t.Error("nothing is read any more")
				}
			})
		})
	}
}

// Endless requests whose answers are never read end the session.
func TestFloodEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		answers, to := io.Pipe()
		p := peer.New(peer.Config{Writer: ndjson.NewWriter(to), Handler: new(otherSide), Log: slog.New(slog.DiscardHandler)})
		ended := make(chan error, 1)
		p.Serve(ndjson.NewReader(in), func(err error) { ended <- err; in.Close() })
		for i := range 5000 {
			if _, err := fmt.Fprintf(out, `{"type":"control_request","request_id":%d}`+"\n", i); err != nil {
				break
			}
		}
		if err := <-ended; !errors.Is(err, peer.ErrFlood) {
			t.Errorf("ended with %v, want %v", err, peer.ErrFlood)
		}
		answers.Close()
		p.Close(io.EOF)
		p.Wait()
	})
}
