package claude_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// brim is a CLI without a process that reports when all its output was read.
type brim struct {
	loop
	text    []byte
	drained chan struct{}
}

func (b *brim) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	_, err := b.loop.Start(ctx, launch)
	return b, err
}

func (b *brim) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.over {
		if n := copy(p, b.out); n > 0 { // what the handshake needs
			b.out = b.out[n:]
			return n, nil
		}
		if n := copy(p, b.text); n > 0 {
			b.text = b.text[n:]
			return n, nil
		}
		if b.drained != nil {
			close(b.drained)
			b.drained = nil
		}
		b.ready.Wait()
	}
	return 0, io.EOF
}

// feed writes a text and returns when it was read, or when the session has
// ended.
func (b *brim) feed(s *claude.Session, text []byte) {
	drained := make(chan struct{})
	b.mu.Lock()
	b.text, b.drained = text, drained
	b.ready.Signal()
	b.mu.Unlock()
	select {
	case <-drained:
	case <-s.Done():
	}
}

// Limits.Unread bounds memory: unread messages hold no more, however their
// lines arrive.
func TestUnreadBoundsMemory(t *testing.T) {
	const limit = 1 << 20
	padded := func(kind string, n int) string {
		return fmt.Sprintf(`{"type":%q,"pad":%q}`+"\n", kind, strings.Repeat("x", n))
	}
	for name, tt := range map[string]struct {
		piece string
		times int // in a step
	}{
		"deltas among lines that are not kept": {padded("keep_alive", 17<<10) + costDelta, 200},
		"deltas at once":                       {costDelta, 400},
		"deltas among requests for nothing":    {padded("control_cancel_request", 24<<10) + costDelta + costDelta, 200},
		"messages a little over the buffer":    {padded("assistant", 33<<10), 4},
		"messages of many buffers":             {padded("assistant", 130<<10), 1},
		"tiny messages":                        {`{"type":"x"}` + "\n", 1000},
		"results":                              {`{"type":"result"}` + "\n", 1000},
		"long names":                           {`{"type":"` + strings.Repeat("y", 5000) + `"}` + "\n", 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := new(brim)
			s, err := claude.Connect(t.Context(), &claude.Options{Transport: b, Limits: claude.Limits{Unread: limit}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				s.Close()
				s.Wait() // nothing of it is left for the next one to see freed
			}()
			text := []byte(strings.Repeat(tt.piece, tt.times))
			b.feed(s, text) // for what is allocated once
			before, most := heap(), 0
			every := long.Pick(4, 1) // to measure takes two collections
			for i := range 16 {
				b.feed(s, text)
				if i%every == every-1 {
					most = max(most, heap()-before)
				}
			}
			runtime.KeepAlive(s)
			t.Logf("%d KiB held at most", most>>10)
			if most > limit+limit/4 {
				t.Errorf("unread messages hold %d KiB, the limit is %d KiB", most>>10, limit>>10)
			}
			if most < limit/8 {
				t.Errorf("unread messages hold %d KiB only: the test shows nothing", most>>10)
			}
		})
	}
}

// heap returns the memory allocated and in use. The contents of pools go with
// the second collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
