package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// Of the answers that are kept for Idempotency-Keys, a server removes those that are too
// old and those that nobody can read. It leaves those of a newer server to that one.
func TestOldAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		answer := func(version int, age time.Duration) string {
			return fmt.Sprintf(`{"v":%d,"request":"r","at":%q,"status":200}`, version, time.Now().Add(-age).UTC().Format(time.RFC3339Nano))
		}
		for name, test := range map[string]struct {
			value string
			stays bool
		}{
			"fresh":              {answer(1, 0), true},
			"at its edge":        {answer(1, idempotencyLife), true},
			"just too old":       {answer(1, idempotencyLife+1), false},
			"newer":              {answer(2, 0), true},
			"newer and old":      {answer(2, 2*idempotencyLife), true},
			"cannot be read":     {`{"v":1,"at":`, false},
			"of another's shape": {`{"v":1,"at":"yesterday"}`, false},
		} {
			k := store.RecordKey{Project: "p", Kind: kindOnce, Name: "k"}
			revisions, err := db.Change(t.Context(), store.Fence{}, store.RecordChange{Key: k, Value: []byte(test.value)})
			if err != nil {
				t.Fatal(err)
			}
			(&recovery{records: db, project: "p"}).forgetOld(t.Context())
			_, err = store.Get(t.Context(), db, k)
			if stays := err == nil; stays != test.stays {
				t.Errorf("%s: it stays: %v, %v", name, stays, err)
			}
			if err == nil {
				if err := store.Drop(t.Context(), db, k, revisions[0], store.Fence{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// brittle are records of which one call fails, once: the one after as many as left says.
type brittle struct {
	store.Records
	left int
}

var errBrittle = errors.New("the store fails for a moment")

func (b *brittle) fails() error {
	if b.left--; b.left == -1 {
		return errBrittle
	}
	return nil
}

func (b *brittle) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Records.View(ctx, v)
}

func (b *brittle) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Records.Change(ctx, f, c...)
}

func (b *brittle) Scan(ctx context.Context, f store.Folder, from string) iter.Seq2[store.Record, error] {
	if err := b.fails(); err != nil {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, err) }
	}
	return b.Records.Scan(ctx, f, from)
}

// Whichever call of the store fails while a conversation is removed, its cost is known
// before and after, the failure is reported, and the next attempt removes the rest.
func TestErasedDespiteFaults(t *testing.T) {
	t.Parallel()
	for nth := 0; ; nth++ {
		whole := store.Memory()
		db := &brittle{Records: whole, left: 1 << 30}
		const key, by = "ada/1", "me"
		logger := slog.New(slog.DiscardHandler)
		er := &eraser{notes: noteStore{db, "p"}, book: eventlog.NewStore(db, "p"), records: db, project: "p", journal: &journal{logger: logger}}
		er.logs = newLogs(t.Context(), nil, er.book, nil, logger)
		n := note{Key: key, Owner: "ada", Preset: "shop", Created: time.Unix(1, 0), Deleted: time.Unix(3, 0)}
		if err := er.notes.create(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		l := eventlog.New(key, er.book, eventlog.Hooks{Exists: func(context.Context, string) (bool, error) { return true, nil }, Touched: func(string) {}})
		ended := fleet.Ticket{Prompt: "p", Status: fleet.PromptAnswered, Ended: time.Unix(2, 0), Cost: fleet.Ledger{USD: 1, Turns: 1}}
		answer := idempotencyRecord{Request: "r", Body: []byte("hello"), About: key}
		at := store.RecordKey{Project: "p", Kind: kindOnce, Name: "k"}
		_, putErr := recordio.Put(t.Context(), db, at, &answer, 0)
		if err := errors.Join(
			l.Load(t.Context()), l.Accepted(t.Context(), api.Prompt{ID: "p"}), l.Progress(t.Context(), &ended, fleet.Ledger{USD: 2, Turns: 1}), putErr,
			er.book.BeginErasing(t.Context(), key, by, func(*eventlog.Head, time.Time) error { return nil }),
		); err != nil {
			t.Fatal(err)
		}
		cost := func() (usd float64) {
			sums := newTally(func(_ *note, _ string, d *eventlog.DaySum) { usd += d.CostUSD })
			if head, revision, err := eventlog.NewStore(whole, "p").Head(t.Context(), key); err == nil && revision != 0 {
				sums.add(&n, &head)
			}
			if err := sums.addDeleted(t.Context(), whole, "p", "", func(n *note) bool { return n.Owner == "ada" && n.Preset == "shop" }); err != nil {
				t.Fatal(err)
			}
			return usd
		}
		db.left = nth
		err := er.eraseRest(t.Context(), key, by)
		met := db.left < 0
		db.left = 1 << 30
		if usd := cost(); usd != 3 || met != errors.Is(err, errBrittle) {
			t.Errorf("call %d fails: %v, and $%v are known", nth, err, usd)
		}
		if err := er.eraseRest(t.Context(), key, by); err != nil {
			t.Errorf("after call %d: %v", nth, err)
		}
		kept, err := store.Get(t.Context(), whole, at)
		_, logged, headErr := er.book.Head(t.Context(), key)
		_, noted, _ := er.notes.loadAny(t.Context(), key)
		if usd := cost(); usd != 3 || logged != 0 || noted != 0 || err != nil || headErr != nil || bytes.Contains(kept.Value, []byte("aGVsbG8")) {
			t.Errorf("after call %d: $%v, log %d, note %d, %s, %v, %v", nth, usd, logged, noted, kept.Value, err, headErr)
		}
		if !met {
			if nth < 6 {
				t.Errorf("only %d calls", nth)
			}
			return
		}
	}
}
