package eventlog

import (
	"context"
	"iter"
	"slices"

	"github.com/claude-agent-go/claude/serve/api"
)

// logWalk reads a stored log from any event on, in both directions. It reads only the
// segments on its way, however long the log is. It is for one goroutine.
type logWalk struct {
	book Store
	key  string
	head Head

	// last is the segment that was read last, and number which one.
	last   Head
	number int
}

// walk begins a walk through a log as it is now.
func (b Store) walk(ctx context.Context, key string) (*logWalk, error) {
	head, _, err := b.Head(ctx, key)
	return &logWalk{book: b, key: key, head: head, number: -1}, err
}

// part returns a segment, or the head, which comes behind the last segment.
func (w *logWalk) part(ctx context.Context, i int) (Head, error) {
	if i >= w.head.Segments {
		return w.head, nil
	}
	if i != w.number {
		part, err := w.book.wholeSegment(ctx, w.key, i)
		if err != nil {
			return Head{}, err
		}
		w.last, w.number = part, i
	}
	return w.last, nil
}

// find returns the number of the part with an event. Segments have about the same size,
// so the first guess is often right; every second one halves what is left, so it takes few
// even if they have not.
func (w *logWalk) find(ctx context.Context, seq int64) (int, error) {
	low, high := 0, w.head.Segments      // it is in one of them, if not in the head
	first, end := int64(1), w.head.First // their events
	for guess := true; low < high && seq < end; guess = !guess {
		i := low + (high-low)/2
		if guess {
			i = low + int(max(0, seq-first)*int64(high-low)/max(1, end-first))
		}
		part, err := w.part(ctx, i)
		if err != nil {
			return 0, err
		}
		switch {
		case seq < part.First:
			high, end = i, part.First
		case seq > part.Last():
			low, first = i+1, part.Last()+1
		default:
			return i, nil
		}
	}
	return high, nil
}

// backward yields the events before a number, part by part, the newest part first.
func (w *logWalk) backward(ctx context.Context, before int64) iter.Seq2[[]Stored, error] {
	return func(yield func([]Stored, error) bool) {
		i, err := w.find(ctx, before-1)
		for ; err == nil && i >= 0; i-- {
			var part Head
			if part, err = w.part(ctx, i); err != nil {
				break
			}
			n := min(max(0, before-part.First), int64(len(part.Events)))
			if n > 0 && !yield(part.Events[:n:n], nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// forward yields the events between two numbers, part by part.
func (w *logWalk) forward(ctx context.Context, from, to int64) iter.Seq2[[]Stored, error] {
	return func(yield func([]Stored, error) bool) {
		i, err := w.find(ctx, from)
		for ; err == nil && i <= w.head.Segments; i++ {
			var part Head
			if part, err = w.part(ctx, i); err != nil || part.First >= to {
				break
			}
			some := slices.Clone(part.Events)
			some = slices.DeleteFunc(some, func(e Stored) bool { return e.Seq < from || e.Seq >= to })
			if len(some) > 0 && !yield(some, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// lastMessage returns the cursor of the last message before a number, empty if there is
// none.
func (w *logWalk) lastMessage(ctx context.Context, before int64) (string, error) {
	for events, err := range w.backward(ctx, before) {
		if err != nil {
			return "", err
		}
		if cursor := lastCursor(events); cursor != "" {
			return cursor, nil
		}
	}
	return "", nil
}

// prompt returns the acceptance of a prompt before a number.
func (w *logWalk) prompt(ctx context.Context, before int64, id string) (p api.Prompt, found bool, err error) {
	for events, err := range w.backward(ctx, before) {
		if err != nil {
			return p, false, err
		}
		for _, e := range slices.Backward(events) {
			if e.Type == api.EventPrompt && e.Prompt.ID == id {
				return *e.Prompt, true, nil
			}
		}
	}
	return p, false, nil
}
