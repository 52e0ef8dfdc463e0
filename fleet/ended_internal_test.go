package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// brokenReads is a store whose records cannot be read while it is broken.
type brokenReads struct {
	*announcer
	broken bool
}

func (b *brokenReads) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if b.broken {
		return nil, errors.New("the store is down")
	}
	return b.announcer.View(ctx, v)
}

// Each end is found once, over the pages of the log. If the log cannot be read, any
// conversation may have changed, and afterwards none is left out.
func TestEndsAreFoundOrAnyMayHaveEnded(t *testing.T) {
	ctx := t.Context()
	db := &brokenReads{announcer: newAnnouncer(store.Memory(), nil)}
	log := outcomelog.New(db, "p", nil)
	other := outcomelog.New(db, "p", nil) // of another process, which also collects
	end := func(key string, n int) {
		t.Helper()
		c, err := other.Mark(fmt.Sprint(key, n), outcomelog.Entry{Key: key, Prompt: fmt.Sprint(n), At: time.Unix(int64(n), 0)}, store.Fence{})
		if err == nil {
			err = other.PutMark(ctx, c, store.Fence{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &endWatch{log: log, logger: slog.New(slog.DiscardHandler)}
	expect := func(all bool, keys ...string) {
		t.Helper()
		found, any := w.look(ctx)
		if got := slices.Sorted(maps.Keys(found)); any != all || !all && !slices.Equal(got, keys) {
			t.Errorf("found %q, all %t instead of %q, %t", got, any, keys, all)
		}
	}
	for n := range 70 { // more than a page
		end("before", n)
	}
	expect(true)
	expect(false)
	end("a", 1)
	end("b", 1)
	expect(false, "a", "b")
	for n := range 130 {
		end("c", n)
		if n%50 == 0 {
			if err := other.Collect(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	end("d", 1)
	expect(false, "c", "d")
	expect(false)
	db.broken = true
	end("e", 1)
	expect(true)
	expect(true)
	db.broken = false
	expect(true) // e is among them
	end("f", 1)
	expect(false, "f")
	w.rest()
	end("g", 1)
	expect(true)
	expect(false)
}
