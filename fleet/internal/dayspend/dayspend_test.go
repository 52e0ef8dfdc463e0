package dayspend_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/store"
)

// A day is one of UTC, wherever the time was taken, and ends at its midnight.
func TestDay(t *testing.T) {
	east := time.FixedZone("east", 10*3600)
	at := time.Date(2026, 3, 1, 9, 59, 59, 0, east)
	if d := dayspend.Of(at); d != "2026-02-28" || !d.Ends().Equal(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%s, ends %v", d, d.Ends())
	}
	if d := dayspend.Of(at.Add(time.Second)); d != "2026-03-01" {
		t.Errorf("a second later it is %s", d)
	}
	if !dayspend.Day("").Ends().IsZero() {
		t.Error("no day has an end")
	}
}

// The cost of a conversation is added up for one day only.
func TestToday(t *testing.T) {
	var now dayspend.Today
	now = now.Plus("2026-11-17", 1).Plus("2026-11-17", 2)
	if now.USD != 3 {
		t.Errorf("%+v", now)
	}
	if now = now.Plus("2026-11-18", 4); now.Day != "2026-11-18" || now.USD != 4 {
		t.Errorf("the next day: %+v", now)
	}
	if now = now.Plus("2026-11-17", 5); now.Day != "2026-11-18" || now.USD != 9 {
		t.Errorf("the clock went back over midnight: %+v", now)
	}
	if now = now.Plus("2026-11-15", 5); now.Day != "2026-11-15" || now.USD != 5 {
		t.Errorf("the clock was far ahead: %+v", now)
	}
}

// book is a book over a store that counts its scans.
func book(s *store.MemoryStore, scans *int) *dayspend.Book {
	return dayspend.New(s, "p", func(folder string) iter.Seq2[store.Record, error] {
		*scans++
		return s.Scan(context.Background(), store.Folder{Project: "p", Kind: dayspend.Kind, Name: folder}, "")
	}, noSkip)
}

func put(t *testing.T, s *store.MemoryStore, b *dayspend.Book, place string, created time.Time, now dayspend.Today) {
	t.Helper()
	c, err := b.Change(t.Context(), place, created, now)
	if err == nil {
		_, err = store.Put(t.Context(), s, c.Key, c.Value, c.Revision, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func noSkip(string, error) {}

func sums(t *testing.T, b *dayspend.Book, day dayspend.Day, tenant string) dayspend.Spent {
	t.Helper()
	s, err := b.Spent(t.Context(), day, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The sum of a day is that of its conversations, and of a tenant that of its own.
// Writing the same again adds nothing; a conversation that was deleted and begun again
// does. Writes of other processes are seen after two seconds, without a scan for each
// question.
func TestSums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		var scans, others int
		b, other := book(s, &scans), book(s, &others)
		const day = "2026-11-17"
		first, second := time.Unix(1, 0), time.Unix(2, 0)
		put(t, s, b, "t/acme/a", first, dayspend.Today{Day: day, USD: 1})
		put(t, s, b, "t/acme/a", first, dayspend.Today{Day: day, USD: 3})
		put(t, s, b, "t/acme/a", first, dayspend.Today{Day: day, USD: 3})
		put(t, s, b, "t/acme/a", second, dayspend.Today{Day: day, USD: 10})
		put(t, s, b, "t/other/a", first, dayspend.Today{Day: day, USD: 100})
		put(t, s, b, "c/ada", first, dayspend.Today{Day: day, USD: 1000})
		put(t, s, b, "c/ada", first, dayspend.Today{Day: "2026-11-16", USD: 5000})
		if got, other := sums(t, b, day, "acme"), sums(t, b, day, "other"); got.USD != 1113 || got.TenantUSD != 13 || other.TenantUSD != 100 || scans != 1 {
			t.Errorf("%+v, %+v, %d scans", got, other, scans)
		}
		put(t, s, other, "c/bob", first, dayspend.Today{Day: day, USD: 10000})
		for range 2 { // even when the scan has seen it
			b.Note("t/acme/a", first, dayspend.Today{Day: day, USD: 4})
			b.Note("t/acme/a", first, dayspend.Today{Day: day, USD: 3})
			b.Note("t/acme/a", first, dayspend.Today{Day: "2026-11-16", USD: 7})
		}
		if got := sums(t, b, day, "acme"); got.USD != 1114 || got.TenantUSD != 14 || scans != 1 {
			t.Errorf("with what was noted here: %+v, %d scans", got, scans)
		}
		<-time.After(2 * time.Second)
		if got := sums(t, b, day, ""); got.USD != 11113 || scans != 2 { // the note was not written
			t.Errorf("after a while: %+v, %d scans", got, scans)
		}
		if got := sums(t, b, "2026-11-16", ""); got.USD != 5000 || scans != 3 {
			t.Errorf("another day: %+v, %d scans", got, scans)
		}
	})
}

// A store that takes long to sum up is not asked all the time.
func TestSlowSums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scans := 0
		b := dayspend.New(store.Memory(), "p", func(string) iter.Seq2[store.Record, error] {
			scans++
			<-time.After(time.Second)
			return func(func(store.Record, error) bool) {}
		}, noSkip)
		begin := time.Now()
		for time.Since(begin) < 210*time.Second {
			sums(t, b, "2026-11-17", "")
			<-time.After(100 * time.Millisecond)
		}
		if scans < 9 || scans > 11 {
			t.Errorf("%d scans in 210 seconds", scans)
		}
	})
}

// A note that is made while a scan runs counts once, whether the scan has seen it or
// not, and the scan is as good as any other.
func TestNotedDuringScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		const day = "2026-11-17"
		var b *dayspend.Book
		scans := 0
		b = dayspend.New(s, "p", func(folder string) iter.Seq2[store.Record, error] {
			scans++
			return func(yield func(store.Record, error) bool) {
				seen := dayspend.Today{Day: day, USD: 1}
				put(t, s, b, "c/ada", time.Unix(1, 0), seen)
				for r, err := range s.Scan(context.Background(), store.Folder{Project: "p", Kind: dayspend.Kind, Name: folder}, "") {
					yield(r, err)
				}
				missed := dayspend.Today{Day: day, USD: 10}
				put(t, s, b, "c/bob", time.Unix(1, 0), missed)
				b.Note("c/ada", time.Unix(1, 0), seen)
				b.Note("c/bob", time.Unix(1, 0), missed)
			}
		}, noSkip)
		for range 2 {
			if got := sums(t, b, day, ""); got.USD != 11 || scans != 1 {
				t.Errorf("%+v after %d scans", got, scans)
			}
		}
	})
}

// A caller that gives up leaves the scan to the others, and waits for it no longer.
func TestScanIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scans := 0
		b := dayspend.New(store.Memory(), "p", func(string) iter.Seq2[store.Record, error] {
			scans++
			<-time.After(time.Minute)
			return func(func(store.Record, error) bool) {}
		}, noSkip)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := b.Spent(ctx, "2026-11-17", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if sums(t, b, "2026-11-17", ""); scans != 1 || time.Since(begin) != time.Minute {
			t.Errorf("%d scans, %v", scans, time.Since(begin))
		}
	})
}

// A record that cannot be read stops nothing. The sum of a newer one counts, and a damaged
// one is replaced by the next turn of its conversation.
func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, scans := store.Memory(), 0
		var skipped []string
		b := dayspend.New(s, "p", func(folder string) iter.Seq2[store.Record, error] {
			scans++
			return s.Scan(context.Background(), store.Folder{Project: "p", Kind: dayspend.Kind, Name: folder}, "")
		}, func(name string, _ error) { skipped = append(skipped, name) })
		const day = "2026-11-17"
		put(t, s, b, "c/ada", time.Unix(1, 0), dayspend.Today{Day: day, USD: 1})
		for name, value := range map[string]string{"c/bob/0": `{"v":2,"usd":10}`, "c/eve/0": `{"v":2}`, "c/joe/0000000000000000": `{"v":1,"usd":"x"}`} {
			if _, err := store.Put(t.Context(), s, store.RecordKey{Project: "p", Kind: dayspend.Kind, Name: day + "/" + name}, []byte(value), 0, store.Fence{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if got := sums(t, b, day, ""); got.USD != 11 || len(skipped) != 2 {
				t.Errorf("%+v, skipped %q", got, skipped)
			}
			<-time.After(3 * time.Second)
		}
		put(t, s, b, "c/joe", time.Unix(0, 0), dayspend.Today{Day: day, USD: 100})
		if got := sums(t, b, day, ""); got.USD != 111 || scans != 3 {
			t.Errorf("%+v after %d scans", got, scans)
		}
	})
}

// Days that are over are removed, and no others.
func TestForget(t *testing.T) {
	s := store.Memory()
	var scans int
	b := book(s, &scans)
	for _, day := range []dayspend.Day{"2026-11-14", "2026-11-15", "2026-11-16"} {
		put(t, s, b, "c/ada", time.Unix(1, 0), dayspend.Today{Day: day, USD: 1})
		put(t, s, b, "t/acme/a", time.Unix(1, 0), dayspend.Today{Day: day, USD: 1})
	}
	if err := dayspend.Forget(t.Context(), s, "p", "2026-11-16"); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: dayspend.Kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		left++
	}
	if got := sums(t, b, "2026-11-16", ""); left != 2 || got.USD != 2 {
		t.Errorf("%d records are left, %+v", left, got)
	}
}
