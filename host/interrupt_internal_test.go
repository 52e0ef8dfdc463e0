package host

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// The client may interrupt as soon as it hears that its prompt waits, which may
// be before the turn has begun. Like the CLI, the session names the prompt as
// queued and ends its turn anyway.
func TestInterruptBeforeTurn(t *testing.T) {
	for name, begins := range map[string]bool{"after the interrupt": false, "while the receipt is written": true} {
		t.Run("the turn begins "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard, answered []string
				agent := AgentFunc(func(ctx context.Context, turn *Turn) error {
					heard = append(heard, turn.Text())
					if begins && turn.Text() == "a" {
						<-ctx.Done()
					}
					if ctx.Err() != nil {
						return ctx.Err()
					}
					answered = append(answered, turn.Text())
					return nil
				})
				var out bytes.Buffer
				s := newSession(t.Context(), struct {
					io.Reader
					io.Writer
				}{strings.NewReader(""), &out}, agent, nil)
				defer s.cancel(nil)
				send := func(text, id string) {
					s.enqueue(&message.User{Header: message.Header{UUID: id}, Content: message.Content{message.Text(text)}})
					s.serving.Wait() // the client knows that it waits
				}
				send("a", "u1")
				reply, err := dispatcher{s}.interrupt(t.Context(), &peer.Incoming{Request: wire.Request{Body: []byte(`{"subtype":"interrupt"}`)}})
				if err != nil {
					t.Fatal(err)
				}
				after := reply.(*then)
				if got := after.payload.(control.Interrupted).StillQueued; !slices.Equal(got, []string{"u1"}) {
					t.Errorf("still queued: %q, want u1", got)
				}
				if begins {
					go s.runNext()
					synctest.Wait()
					after.do()
					synctest.Wait()
				} else {
					after.do()
					s.runNext()
				}
				if got := out.String(); !strings.Contains(got, `"aborted_streaming"`) || !strings.Contains(got, `"subtype":"init"`) {
					t.Errorf("the turn was not interrupted:\n%s", got)
				}
				send("b", "u2")
				s.runNext()
				if !slices.Equal(heard, []string{"a", "b"}) || !slices.Equal(answered, []string{"b"}) {
					t.Errorf("heard %q and answered %q, want both heard and the second answered", heard, answered)
				}
			})
		})
	}
}
