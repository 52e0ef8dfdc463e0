package outcomelog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// writer is the owner of a conversation: it writes one mark after another.
func writer(ctx context.Context, l *Log, key string, token int64, from, to int) error {
	for n := from; n < to; n++ {
		c, err := l.Mark(fmt.Sprintf("c/%s/%d", key, n), Entry{Key: key, Prompt: fmt.Sprint(n), Status: "answered", At: time.Unix(int64(1000-n), 0)}, store.Fence{Token: token})
		if err != nil {
			return err
		}
		for l.PutMark(ctx, c, store.Fence{}) != nil { // until it is stored
		}
	}
	return nil
}

// read reads the log from a place on, and at times again, like a reader that has
// crashed. It collects new marks, and returns when it has seen enough entries.
func read(ctx context.Context, l *Log, rng *rand.Rand, want int) (order map[string][]string, twice int, err error) {
	order = make(map[string][]string)
	seen, places := make(map[string]bool), make(map[int64]Entry)
	for at, kept := int64(0), int64(0); len(seen) < want && ctx.Err() == nil; {
		if rng.IntN(10) == 0 {
			at = kept
		}
		if l.Collect(ctx) != nil {
			continue
		}
		entries, err := l.Read(ctx, at)
		if errors.Is(err, storefault.ErrFault) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			if old, ok := places[at]; ok && !old.is(&e) {
				return nil, 0, fmt.Errorf("place %d was %+v and is %+v", at, old, e)
			} else if _, ok := places[at]; !ok && seen[e.Key+"/"+e.Prompt] {
				twice++
			}
			places[at] = e
			if id := e.Key + "/" + e.Prompt; !seen[id] {
				seen[id] = true
				order[e.Key] = append(order[e.Key], e.Prompt)
			}
			if at++; rng.IntN(4) == 0 {
				kept = at
			}
		}
	}
	return order, twice, ctx.Err()
}

// However many write, collect and fail at the same time: each reader sees everything,
// an entry stays at its place, and a conversation is in order, although its clock is
// not.
func TestNothingIsLost(t *testing.T) {
	const conversations, each, readers = 4, 60, 3
	for _, rate := range []float64{0, 0.05, 0.3} {
		t.Run(fmt.Sprintf("%.2f faults", rate), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			db := store.Memory()
			faults := []storefault.Kind{storefault.Fail, storefault.LostReply, storefault.Duplicate, storefault.Late, storefault.Later}
			open := func(seed uint64) *Log {
				return New(storefault.Wrap(db, storefault.Seeded(seed, rate, faults...)), "p", nil)
			}
			var all sync.WaitGroup
			for n := range conversations {
				all.Go(func() {
					key := fmt.Sprint("conversation", n)
					for token := range 3 { // owners, one after another, each in a process of its own
						if err := writer(ctx, open(uint64(10*n+token)), key, int64(token+1), token*each/3, (token+1)*each/3); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for n := range readers {
				all.Go(func() {
					order, twice, err := read(ctx, open(uint64(100+n)), rand.New(rand.NewPCG(uint64(n), 1)), conversations*each)
					if err != nil || len(order) != conversations {
						t.Errorf("reader %d: %d conversations, %v", n, len(order), err)
					}
					for key, got := range order {
						for i, prompt := range got {
							if prompt != fmt.Sprint(i) {
								t.Errorf("%s: %q", key, got)
								break
							}
						}
					}
					if rate == 0 && twice > 0 {
						t.Errorf("%d entries are there twice", twice)
					}
				})
			}
			all.Wait()
		})
	}
}

// filled returns a log with so many entries, one for each hour.
func filled(t *testing.T, db store.Records, n int) *Log {
	t.Helper()
	l := New(db, "p", nil)
	for i := range n {
		c, err := l.Mark(fmt.Sprintf("c/ada/%03d", i), Entry{Key: "ada", Prompt: fmt.Sprint(i), At: time.Unix(0, 0).Add(time.Duration(i) * time.Hour)}, store.Fence{Token: 1})
		if err == nil {
			err = l.PutMark(t.Context(), c, store.Fence{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// Whole pages go, but for the last. A place before what is left is too old, and one that
// the log has not reached is not valid; the next one is just not there yet.
func TestTrim(t *testing.T) {
	l := filled(t, store.Memory(), 3*pageSize)
	begin := func(want int64) {
		t.Helper()
		if at, err := l.Begin(t.Context()); err != nil || at != want {
			t.Errorf("begins at %d, %v; want %d", at, err, want)
		}
	}
	begin(0)
	if err := l.Trim(t.Context(), time.Unix(0, 0).Add((2*pageSize-1)*time.Hour)); err != nil {
		t.Fatal(err)
	}
	begin(pageSize)
	for range 2 {
		if err := l.Trim(t.Context(), time.Unix(0, 0).Add(1000*time.Hour)); err != nil {
			t.Fatal(err)
		}
		begin(2 * pageSize)
	}
	for at, want := range map[int64]error{0: ErrTooOld, 2*pageSize - 1: ErrTooOld, 2 * pageSize: nil, 3*pageSize - 1: nil, 3 * pageSize: nil, 3*pageSize + 1: store.ErrInvalid, 4 * pageSize: store.ErrInvalid} {
		if _, err := l.Read(t.Context(), at); !errors.Is(err, want) {
			t.Errorf("place %d: %v, want %v", at, err, want)
		}
	}
	empty := New(store.Memory(), "p", nil)
	for at, want := range map[int64]error{0: nil, 1: store.ErrInvalid, pageSize: store.ErrInvalid} {
		if got, err := empty.Read(t.Context(), at); !errors.Is(err, want) || len(got) > 0 {
			t.Errorf("of an empty log, place %d: %v, %v; want %v", at, got, err, want)
		}
	}
}

// Numbers are not used again after a crash between a new page and the head.
func TestStaleHead(t *testing.T) {
	db := store.Memory()
	l := filled(t, db, pageSize)
	before, err := store.Get(t.Context(), db, l.key(KindLog, headName))
	if err != nil {
		t.Fatal(err)
	}
	l = filled(t, db, 2*pageSize+10) // the first are marked once more
	now, err := store.Get(t.Context(), db, l.key(KindLog, headName))
	if err == nil {
		_, err = store.Put(t.Context(), db, now.Key, before.Value, now.Revision, store.Fence{})
	}
	if err == nil {
		err = l.Trim(t.Context(), time.Unix(0, 0).Add(1000*time.Hour))
	}
	if err != nil {
		t.Fatal(err)
	}
	end := l.count(t)
	filled(t, db, 1)
	if got := l.count(t); got != end+1 {
		t.Errorf("the log ends at %d, want %d", got, end+1)
	}
}

// count returns the place behind the last entry.
func (l *Log) count(t *testing.T) (at int64) {
	t.Helper()
	at, err := l.Begin(t.Context())
	for {
		var entries []Entry
		if err == nil {
			entries, err = l.Read(t.Context(), at)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return at
		}
		at += int64(len(entries))
	}
}

// A mark is held back until nothing can come before it: one that only the second scan
// has found waits for the next, unless the first has found something behind it.
func TestSettled(t *testing.T) {
	m := func(key, prompt string, token, number int64, at int) mark {
		e := Entry{Key: key, Prompt: prompt, Token: token, Number: number, At: time.Unix(int64(at), 0)}
		return mark{Entry: e, key: store.RecordKey{Name: key + "/" + prompt}}
	}
	a1, a2, a3 := m("a", "1", 1, 9, 30), m("a", "2", 2, 1, 10), m("a", "3", 2, 2, 40)
	b1, free := m("b", "1", 7, 1, 20), m("b", "free", 0, 5, 90)
	for name, c := range map[string]struct {
		first, second []mark
		want          string
	}{
		"by conversation, then by time": {[]mark{a3, a2, a1, b1}, []mark{a1, a2, a3, b1}, "b1 a1 a2 a3"},
		"missed by the first":           {[]mark{a2}, []mark{a1, a2}, "a1 a2"},
		"too new":                       {[]mark{a1}, []mark{a1, a2, a3, b1}, "a1"},
		"collected meanwhile":           {[]mark{a1, b1}, []mark{b1}, "b1"},
		"without a lease":               {[]mark{b1}, []mark{b1, free}, "bfree b1"},
	} {
		var got []string
		for _, e := range settled(c.first, c.second) {
			got = append(got, e.Key+e.Prompt)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

// blind is a store whose scans for marks overlook some, which were made before others that
// they find. Each scan overlooks the next of names.
type blind struct {
	store.Records
	names [][]string
	scans int
}

func (b *blind) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	all := b.Records.Scan(ctx, in, after)
	if in.Kind != KindMark || b.scans >= len(b.names) {
		return all
	}
	overlooked := b.names[b.scans]
	b.scans++
	return func(yield func(store.Record, error) bool) {
		for r, err := range all {
			if !slices.Contains(overlooked, r.Key.Name) && !yield(r, err) {
				return
			}
		}
	}
}

// A conversation is in order although each scan overlooks a mark that was made before
// another one which it finds.
func TestOverlookedMarks(t *testing.T) {
	db := &blind{Records: store.Memory(), names: [][]string{{"c/a/0", "c/a/2", "c/a/3"}, {"c/a/2"}}}
	l := New(db, "p", nil)
	if err := writer(t.Context(), l, "a", 1, 0, 4); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := l.Read(t.Context(), 0)
	if err != nil || len(entries) != 4 {
		t.Fatalf("%+v, %v", entries, err)
	}
	for n, e := range entries {
		if e.Prompt != fmt.Sprint(n) {
			t.Errorf("prompt %s is at place %d", e.Prompt, n)
		}
	}
}

// Members that a newer program has added to an entry, a page or the head survive.
func TestUnknownMembers(t *testing.T) {
	db := store.Memory()
	l := filled(t, db, 1)
	for _, name := range []string{headName, pageName(0)} {
		r, err := store.Get(t.Context(), db, l.key(KindLog, name))
		if err != nil {
			t.Fatal(err)
		}
		value := strings.Replace(strings.Replace(string(r.Value), `{"v":1,`, `{"v":1,"more":[1],`, 1), `{"key":`, `{"extra":true,"key":`, 1)
		if _, err := store.Put(t.Context(), db, r.Key, []byte(value), r.Revision, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
	filled(t, db, pageSize+5)
	for name, want := range map[string][]string{headName: {`"more":[1]`}, pageName(0): {`"more":[1]`, `"extra":true`}} {
		r, err := store.Get(t.Context(), db, l.key(KindLog, name))
		for _, member := range want {
			if err != nil || !strings.Contains(string(r.Value), member) {
				t.Errorf("%s lacks %s: %s, %v", name, member, r.Value, err)
			}
		}
	}
	// And a newer version is refused.
	r, err := store.Get(t.Context(), db, l.key(KindLog, headName))
	if err == nil {
		_, err = store.Put(t.Context(), db, r.Key, []byte(`{"v":`+fmt.Sprint(recordform.Version+1)+`}`), r.Revision, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Mark("c/ada/late", Entry{Key: "ada"}, store.Fence{})
	if err == nil {
		err = l.PutMark(t.Context(), c, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Collect(t.Context()); !errors.Is(err, store.ErrNewer) {
		t.Errorf("collected: %v", err)
	}
	if marks, err := l.scan(t.Context()); err != nil || !slices.ContainsFunc(marks, func(m mark) bool { return m.key == c.Key }) {
		t.Errorf("the mark is gone: %v, %v", marks, err)
	}
}

// A mark that cannot be read is reported once, stays, and delays no other.
func TestUnreadableMark(t *testing.T) {
	db := store.Memory()
	var reported []string
	l := New(db, "p", func(name string, err error) {
		if !errors.Is(err, store.ErrDamaged) {
			t.Error(err)
		}
		reported = append(reported, name)
	})
	if _, err := store.Put(t.Context(), db, l.key(KindMark, "c/ada/1"), []byte("{"), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		c, err := l.Mark("c/bob/"+strconv.Itoa(i), Entry{Key: "bob", Prompt: strconv.Itoa(i)}, store.Fence{})
		if err == nil {
			err = l.PutMark(t.Context(), c, store.Fence{})
		}
		if err == nil {
			err = l.Collect(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.Read(t.Context(), 0); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if !slices.Equal(reported, []string{"c/ada/1"}) {
		t.Errorf("reported %q", reported)
	}
	if _, err := store.Get(t.Context(), db, l.key(KindMark, "c/ada/1")); err != nil {
		t.Error(err)
	}
}
