package outcomelog

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// oneByOne is a store that makes changes one after another, and dies after so many of a
// change of several.
type oneByOne struct {
	store.Records
	dies int // 0: never
}

var errDied = errors.New("the process has died")

func (s *oneByOne) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) (revisions []int64, err error) {
	for i, c := range changes {
		if s.dies > 0 && len(changes) > 1 && i == s.dies {
			return nil, errDied
		}
		next, err := s.Records.Change(ctx, f, c)
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, next...)
	}
	return revisions, nil
}

// A mark that comes again is not added again: neither to the page that has it, nor to the
// next one, although that page is full by then and others have been added behind it. A
// process that died while it collected has left such marks.
func TestMarkComesAgain(t *testing.T) {
	for name, before := range map[string]int{"in a page with room": pageSize / 2, "in the last place of a page": pageSize - 1} {
		t.Run(name, func(t *testing.T) {
			db := store.Memory()
			filled(t, db, before)
			mark := func(n int) {
				t.Helper()
				l := New(db, "p", nil)
				c, err := l.Mark(fmt.Sprint("c/bob/", n), Entry{Key: "bob", Prompt: fmt.Sprint(n)}, store.Fence{Token: int64(n)})
				if err == nil {
					err = l.PutMark(t.Context(), c, store.Fence{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			mark(1)
			dying := New(&oneByOne{db, 1}, "p", nil)
			if err := dying.Collect(t.Context()); !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			mark(2)
			l := New(db, "p", nil)
			for range 2 {
				if err := l.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if end, err := l.End(t.Context()); err != nil || end != int64(before+2) || l.count(t) != end {
				t.Errorf("the log ends at %d and %d, %v; want %d", end, l.count(t), err, before+2)
			}
			if marks, err := l.scan(t.Context()); err != nil || len(marks) > 0 {
				t.Errorf("%d marks are left, %v", len(marks), err)
			}
		})
	}
}
