package sqlstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// A transcript that lasts for several pages and is not there, or not whole, when the next one
// is read does not look as if it ended there.
func TestTranscriptLostWhileItIsRead(t *testing.T) {
	const entries, session = 1200, "00000000-0000-4000-8000-000000000001"
	for name, c := range map[string]struct {
		lose func(t *testing.T, s store.Fleet, file string)
		want error
		read int // entries before the error
	}{
		"deleted": {func(t *testing.T, s store.Fleet, _ string) { remove(t, s, session) }, store.ErrNotFound, 500},
		"an entry is lost": {func(t *testing.T, _ store.Fleet, file string) {
			command(t, "sqlite", file, "delete from claude_entries where seq = 600")
		}, store.ErrDamaged, 500},
		"the first is lost": {func(t *testing.T, _ store.Fleet, file string) {
			command(t, "sqlite", file, "delete from claude_entries where seq = 500")
		}, store.ErrDamaged, 500},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "s.db")
			s := open(t, "sqlite:"+file)
			k := store.Key{Project: "p", Session: session}
			var b store.Batch
			for n := range entries {
				b.Entries = append(b.Entries, store.Entry(fmt.Sprintf(`{"type":"user","uuid":"%d"}`, n)))
			}
			if err := s.Append(t.Context(), k, b); err != nil {
				t.Fatal(err)
			}
			n := 0
			var end error
			for _, err := range s.Load(t.Context(), k, 0) {
				if end = err; err != nil {
					break
				}
				if n++; n == 1 {
					c.lose(t, s, file)
				}
			}
			if n != c.read || !errors.Is(end, c.want) {
				t.Errorf("%d entries, then %v; want %d, then %v", n, end, c.read, c.want)
			}
		})
	}
}

func remove(t *testing.T, s store.Fleet, session string) {
	t.Helper()
	if err := s.Delete(t.Context(), store.Key{Project: "p", Session: session}, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

// An entry that a batch has twice is stored once.
func TestTwiceInABatch(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "s.db"))
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	e := store.Entry(`{"type":"user","uuid":"1"}`)
	if err := s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{e, e}}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range s.Load(t.Context(), k, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d entries", n)
	}
}
