package inbox

import (
	"errors"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/internal/wire"
)

// What an item brings along counts, so that a flood of tiny lines is bounded.
func TestOverhead(t *testing.T) {
	least := reflect.TypeFor[Item]().Size() + reflect.TypeFor[ending]().Size() + reflect.TypeFor[turn]().Size()
	if overhead < least {
		t.Errorf("an item is counted as %d bytes beside its line, and has %d", overhead, least)
	}
}

// A line counts for the memory that it keeps from being freed.
func TestRetainedMemoryCounts(t *testing.T) {
	b := New(10_000)
	for i := range 5 {
		_, err := b.Put(wire.Frame{Type: "assistant", Line: []byte("{}"), Retained: 3000})
		if full := i == 3; errors.Is(err, ErrFull) != full {
			t.Errorf("frame %d: %v, want full: %v", i+1, err, full)
		}
	}
}

// In a turn chunks are kept for the frames to come; a session that waits for its
// next prompt keeps none.
func TestWaitingKeepsNoChunks(t *testing.T) {
	b := New(0)
	b.Acquire()
	put := func(typ, subtype string, n int) {
		for range n {
			b.Put(wire.Frame{Type: typ, Subtype: subtype, Line: []byte("{}")})
		}
		for range n {
			if _, err := b.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() int {
		n := 0
		for c := b.queue.spare; c != nil; c = c.next {
			n++
		}
		if n != b.queue.spares {
			t.Errorf("%d chunks are spare, and counted as %d", n, b.queue.spares)
		}
		for _, c := range []*chunk{b.queue.first, b.batch.chunk} {
			if c != nil {
				n++
			}
		}
		return n
	}
	for range 2 {
		put("system", "init", 1)
		put("stream_event", "", 2*leadFrames)
		if n := kept(); n != maxSpares {
			t.Errorf("%d chunks are kept in a turn, want %d", n, maxSpares)
		}
		put("result", "", 1)
		if n := kept(); n != 0 {
			t.Errorf("%d chunks are kept after a turn, want none", n)
		}
	}
}
