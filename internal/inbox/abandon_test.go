package inbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inbox"
)

// A prompt may be abandoned when its whole turn, with its result, already waits
// in the queue: all that is left of it is dropped, however much the consumer
// has taken, and the next turn stays.
func TestAbandonedRest(t *testing.T) {
	const n = 100
	for taken := range n + 1 {
		b := inbox.New(0)
		b.Acquire()
		for _, id := range []string{"a", "b"} {
			b.Sent(id)
			b.Put(frame(t, `{"type":"system","subtype":"init"`+ids(id)+`}`))
			for i := range n {
				b.Put(frame(t, fmt.Sprintf(`{"type":"assistant","text":"%s%d"}`, id, i)))
			}
			b.Put(frame(t, `{"type":"result","subtype":"success"`+ids(id)+`}`))
		}
		for range taken {
			if _, err := b.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.Abandon("a")
		b.Close(context.Canceled)
		count := 0
		for {
			it, err := b.Next(t.Context())
			if err != nil {
				break
			}
			count++
			if text := it.Frame.Text("text"); strings.HasPrefix(text, "a") || it.Ends("a") != inbox.NotYet {
				t.Fatalf("%d frames were taken, then %s came", taken, it.Frame.Line)
			}
		}
		if count != n+2 {
			t.Errorf("%d frames were taken, then %d came, want %d", taken, count, n+2)
		}
		b.Release()
	}
}
