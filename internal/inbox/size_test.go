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
