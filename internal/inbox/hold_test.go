package inbox_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/internal/inbox"
)

// What comes while the consumer waits for something else does not count against
// the bound, neither then nor later. What comes afterwards does.
func TestHold(t *testing.T) {
	b := inbox.New(4000)
	b.Acquire()
	b.Hold(true)
	for i := range 100 {
		if _, err := b.Put(frame(t, fmt.Sprintf(`{"type":"assistant","n":%d}`, i))); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
	b.Hold(false)
	counted := 0
	for ; counted < 100; counted++ {
		if _, err := b.Put(frame(t, `{"type":"assistant"}`)); errors.Is(err, inbox.ErrFull) {
			break
		}
	}
	if counted < 10 || counted == 100 {
		t.Errorf("%d frames had room after the wait", counted)
	}
	for i := range 100 + counted {
		if _, err := b.Next(t.Context()); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
}

// A result carries what Mark said when it came. One that was put back is the
// next one, unless its prompt was abandoned.
func TestPutBack(t *testing.T) {
	for _, abandoned := range []bool{false, true} {
		b := inbox.New(0)
		marks := uint64(0)
		b.Mark = func() uint64 { marks++; return marks }
		b.Acquire()
		b.Sent("a")
		b.Put(frame(t, `{"type":"system","subtype":"init"`+ids("a")+`}`))
		b.Put(frame(t, `{"type":"result","subtype":"success"`+ids("a")+`}`))
		b.Put(frame(t, `{"type":"system","subtype":"status"}`))
		var it inbox.Item
		for range 2 {
			var err error
			if it, err = b.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if it.Frame.Type != "result" || it.Barrier() != 1 {
			t.Fatalf("%s has barrier %d", it.Frame.Line, it.Barrier())
		}
		b.PutBack(it)
		want := "result"
		if abandoned {
			b.Abandon("a")
			want = "system"
		}
		if it, err := b.Next(t.Context()); err != nil || it.Frame.Type != want {
			t.Errorf("abandoned: %v: %s comes next, %v; want %s", abandoned, it.Frame.Line, err, want)
		}
	}
}
