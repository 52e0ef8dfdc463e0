package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

func changes() []contract {
	return []contract{
		{"changes are made at once", changesMade},
		{"one that is refused refuses all", changesRefused},
		{"what was dropped can be made again at once", changesAgain},
		{"a fence is looked at", changesFenced},
		{"a large value among others", changesLarge},
		{"many change two records, both or none", changesContended},
		{"a record is made if a folder is empty, or not at all", changesIfEmpty},
		{"a folder is looked at before the changes", changesIfBefore},
		{"a record that others made is never overlooked", changesIfOthers},
		{"bad changes and ended contexts", changesBad},
	}
}

func changesMade(s *subject) {
	r := s.Fleet
	changed, dropped := s.put(r, s.recordKey("changed"), "1", 0), s.put(r, s.recordKey("dropped"), "1", 0)
	got, err := s.change(r, store.Fence{}, []store.RecordChange{
		{Key: s.recordKey("changed"), Value: []byte("2"), Revision: changed},
		{Key: s.recordKey("made/here"), Value: []byte("new")},
		{Key: s.recordKey("dropped"), Drop: true, Revision: dropped},
		{Key: s.recordKey("empty")},
	}...)
	if err != nil || len(got) != 4 || got[0] == changed || got[0] == 0 || got[1] == 0 || got[2] != 0 || got[3] == 0 {
		s.t.Fatalf("Change = %v, %v", got, err)
	}
	s.wantsRecord("changed", "2", got[0])
	s.wantsRecord("made/here", "new", got[1])
	s.wantsRecord("dropped", "", 0)
	s.wantsRecord("empty", "", got[3])
	if next, err := s.change(r, store.Fence{}, []store.RecordChange{{Key: s.recordKey("changed"), Value: []byte("3"), Revision: got[0]}}...); err != nil {
		s.t.Errorf("one change: %v", err)
	} else {
		s.wantsRecord("changed", "3", next[0])
	}
}

func changesRefused(s *subject) {
	r := s.Fleet
	rev := s.put(r, s.recordKey("there"), "1", 0)
	fine := []store.RecordChange{{Key: s.recordKey("new"), Value: []byte("x")}, {Key: s.recordKey("there"), Value: []byte("2"), Revision: rev}}
	for name, c := range map[string]struct {
		change store.RecordChange
		want   error
	}{
		"a change of what is not there": {store.RecordChange{Key: s.recordKey("none"), Revision: 7}, store.ErrConflict},
		"an old revision":               {store.RecordChange{Key: s.recordKey("other"), Revision: 1 << 40}, store.ErrConflict},
		"making what is there":          {store.RecordChange{Key: s.recordKey("other")}, store.ErrConflict},
		"dropping what is not there":    {store.RecordChange{Key: s.recordKey("none"), Drop: true, Revision: 7}, store.ErrNotFound},
		"dropping another revision":     {store.RecordChange{Key: s.recordKey("other"), Drop: true, Revision: 1 << 40}, store.ErrConflict},
	} {
		other, err := store.Get(s.t.Context(), r, s.recordKey("other"))
		if errors.Is(err, store.ErrNotFound) {
			other.Revision = s.put(r, s.recordKey("other"), "1", 0)
		}
		for at := range len(fine) + 1 { // wherever it stands
			changes := slices.Insert(slices.Clone(fine), at, c.change)
			_, err := s.change(r, store.Fence{}, changes...)
			s.wantsError(fmt.Sprint(name, " at ", at), err, c.want)
		}
		s.wantsRecord("there", "1", rev)
		s.wantsRecord("new", "", 0)
		s.wantsRecord("other", "1", other.Revision)
		s.wantsRecord("none", "", 0)
	}
}

func changesAgain(s *subject) {
	r := s.Fleet
	seen := make(map[int64]bool)
	other := s.put(r, s.recordKey("other"), "", 0)
	for i := range 4 {
		value := strconv.Itoa(i)
		got, err := s.change(r, store.Fence{}, []store.RecordChange{{Key: s.recordKey("other"), Revision: other}, {Key: s.recordKey("a"), Value: []byte(value)}}...)
		if err != nil || seen[got[1]] {
			s.t.Fatalf("%d: %v, %v", i, got, err)
		}
		other, seen[got[1]] = got[0], true
		s.wantsRecord("a", value, got[1])
		if err := store.Drop(s.t.Context(), r, s.recordKey("a"), got[1], store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func changesFenced(s *subject) {
	l := s.Fleet
	r := s.Fleet
	one, two := s.put(r, s.recordKey("1"), "x", 0), s.put(r, s.recordKey("2"), "x", 0)
	changes := []store.RecordChange{{Key: s.recordKey("1"), Value: []byte("y"), Revision: one}, {Key: s.recordKey("2"), Drop: true, Revision: two}}
	lease := s.acquire(l, "me", time.Minute)
	old := lease.Fence
	old.Token--
	_, err := s.change(r, old, changes...)
	s.wantsError("an old token", err, store.ErrLeaseLost)
	s.wantsRecord("1", "x", one)
	got, err := s.change(r, lease.Fence, changes...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wantsRecord("1", "y", got[0])
	s.wantsRecord("2", "", 0)
	if err := l.Release(s.t.Context(), lease); err != nil {
		s.t.Fatal(err)
	}
	_, err = s.change(r, lease.Fence, []store.RecordChange{{Key: s.recordKey("1"), Revision: got[0]}, {Key: s.recordKey("3")}}...)
	s.wantsError("a lease that was given back", err, store.ErrLeaseLost)
	s.wantsRecord("1", "y", got[0])
}

func changesLarge(s *subject) {
	r := s.Fleet
	values := map[string]string{"small": "1", "last": "3"}
	// Some names are folders of others.
	for i, name := range []string{"big/below/it", "big/below", "big", "big/v", "other"} {
		values[name] = strings.Repeat(string(rune('a'+i)), store.MaxRecord)
	}
	var changes []store.RecordChange
	for _, name := range []string{"small", "big/below/it", "big/below", "big", "big/v", "other", "last"} {
		changes = append(changes, store.RecordChange{Key: s.recordKey(name), Value: []byte(values[name])})
	}
	got, err := s.change(r, store.Fence{}, changes...)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, c := range changes {
		s.wantsRecord(c.Key.Name, values[c.Key.Name], got[i])
	}
}

func changesContended(s *subject) {
	const workers, times = 4, 5
	names := [2]string{"a", "b"}
	for _, name := range names {
		s.put(s.Fleet, s.recordKey(name), "0", 0)
	}
	var wg sync.WaitGroup
	for i := range workers {
		r := s.again()
		wg.Go(func() {
			for n := 0; n < times; {
				changes := make([]store.RecordChange, len(names))
				for at := range names {
					name := names[(at+i)%len(names)] // in either order
					rec, err := store.Get(s.t.Context(), r, s.recordKey(name))
					if err != nil {
						s.t.Error(err)
						return
					}
					count, _ := strconv.Atoi(string(rec.Value)) // 0 fails the count
					changes[at] = store.RecordChange{Key: s.recordKey(name), Value: []byte(strconv.Itoa(count + 1)), Revision: rec.Revision}
				}
				switch _, err := s.change(r, store.Fence{}, changes...); {
				case err == nil:
					n++
				case !errors.Is(err, store.ErrConflict):
					s.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		got, err := store.Get(s.t.Context(), s.Fleet, s.recordKey(name))
		if err != nil || string(got.Value) != strconv.Itoa(workers*times) {
			s.t.Errorf("%s counted %q, %v; want %d", name, got.Value, err, workers*times)
		}
	}
}

func changesIfEmpty(s *subject) {
	r := s.Fleet
	for _, name := range []string{"queue", "queue.b/1", "queue0/1", "queu/1", "before/queue/1", "queue/a/below", "queue/new/below", "queue/z/far/below"} { // which are not in the folder
		s.put(r, s.recordKey(name), "", 0)
	}
	elsewhere := s.recordKey("queue/a")
	elsewhere.Kind = "other"
	s.put(r, elsewhere, "", 0)
	for _, made := range []string{"queue/new", "queue/0/new", "away/new", "new"} {
		changes := []store.RecordChange{{Key: s.recordKey("other")}, {Key: s.recordKey(made), Value: []byte("1"), IfEmpty: "queue"}}
		for _, name := range []string{"queue/a", "queue/z", made} {
			there := s.put(r, s.recordKey(name), "x", 0)
			_, err := s.change(r, store.Fence{}, changes...)
			s.wantsError(made+" beside "+name, err, store.ErrConflict)
			s.wantsRecord("other", "", 0)
			s.wantsRecord(name, "x", there)
			if err := store.Drop(s.t.Context(), r, s.recordKey(name), there, store.Fence{}); err != nil {
				s.t.Fatal(err)
			}
		}
		got, err := s.change(r, store.Fence{}, changes...)
		if err != nil {
			s.t.Fatalf("%s if a folder is empty that is: %v", made, err)
		}
		s.wantsRecord("other", "", got[0])
		s.wantsRecord(made, "1", got[1])
		for i, c := range changes {
			if err := store.Drop(s.t.Context(), r, c.Key, got[i], store.Fence{}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// changesIfBefore: other changes of the batch do not count.
func changesIfBefore(s *subject) {
	r := s.Fleet
	there := s.put(r, s.recordKey("queue/a"), "x", 0)
	_, err := s.change(r, store.Fence{}, []store.RecordChange{
		{Key: s.recordKey("queue/a"), Drop: true, Revision: there},
		{Key: s.recordKey("queue/b"), IfEmpty: "queue"},
	}...)
	s.wantsError("while the folder is emptied", err, store.ErrConflict)
	s.wantsRecord("queue/a", "x", there)
	got, err := s.change(r, store.Fence{}, []store.RecordChange{
		{Key: s.recordKey("line/a")},
		{Key: s.recordKey("line/b"), IfEmpty: "line"},
		{Key: s.recordKey("line/0/c"), IfEmpty: "line"},
	}...)
	if err != nil {
		s.t.Fatalf("while the folder is filled: %v", err)
	}
	for i, name := range []string{"line/a", "line/b", "line/0/c"} {
		s.wantsRecord(name, "", got[i])
	}
}

// changesIfOthers: a record that another process has created is visible as soon as that
// call returns, even if the folder was empty for a long time.
func changesIfOthers(s *subject) {
	r := s.Fleet
	other := s.again()
	fence := s.acquire(s, "me", time.Minute).Fence
	made := 0
	empty := func() []store.RecordChange {
		made++
		return []store.RecordChange{{Key: s.recordKey(fmt.Sprint("queue/0/own-", made)), IfEmpty: "queue"}}
	}
	for i := range 10 {
		for range i % 3 {
			own := empty()
			got, err := s.change(r, fence, own...)
			if err != nil {
				s.t.Fatalf("in an empty folder: %v", err)
			}
			if err := store.Drop(s.t.Context(), r, own[0].Key, got[0], fence); err != nil {
				s.t.Fatal(err)
			}
		}
		name := fmt.Sprint("queue/other-", i)
		there := s.put(other, s.recordKey(name), "", 0)
		for range 2 {
			_, err := s.change(r, fence, empty()...)
			s.wantsError("beside another's", err, store.ErrConflict)
		}
		if err := store.Drop(s.t.Context(), other, s.recordKey(name), there, store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.change(r, fence, empty()...); err != nil {
			s.t.Fatalf("after another's: %v", err)
		}
	}
}

func changesBad(s *subject) {
	r := s.Fleet
	a := store.RecordChange{Key: s.recordKey("a")}
	other := a
	other.Key.Project += "-b"
	var many []store.RecordChange
	for i := range store.MaxChanges + 1 {
		many = append(many, store.RecordChange{Key: s.recordKey(fmt.Sprint(i))})
	}
	for name, changes := range map[string][]store.RecordChange{
		"none": nil, "too many": many, "the same twice": {a, a}, "two projects": {a, other},
		"a value that is too large": {a, {Key: s.recordKey("b"), Value: make([]byte, store.MaxRecord+1)}},
		"a drop with a value":       {a, {Key: s.recordKey("b"), Value: []byte("x"), Drop: true, Revision: 1}},
		"a revision that cannot be": {a, {Key: s.recordKey("b"), Revision: -1}},
		"a drop if one is empty":    {a, {Key: s.recordKey("f/b"), IfEmpty: "f", Drop: true, Revision: 1}},
		"a change if one is empty":  {a, {Key: s.recordKey("f/b"), IfEmpty: "f", Revision: 1}},
	} {
		_, err := s.change(r, store.Fence{}, changes...)
		s.wantsError(name, err, store.ErrInvalid)
	}
	for name, bad := range map[string]store.RecordChange{
		"a bad key":    {Key: store.RecordKey{Project: s.project, Kind: "k", Name: "../n"}},
		"a bad folder": {Key: s.recordKey("b"), IfEmpty: "queue/"},
	} {
		_, err := s.change(r, store.Fence{}, []store.RecordChange{a, bad}...)
		if _, ok := errors.AsType[*store.KeyError](err); !ok {
			s.t.Errorf("%s: %v, want a *KeyError", name, err)
		}
	}
	if _, err := r.Change(ended(s.t), store.Fence{}, a); err == nil {
		s.t.Error("Change works with a context that has ended")
	}
	s.wantsRecord("a", "", 0)
	if _, err := s.change(r, store.Fence{}, many[1:]...); err != nil {
		s.t.Errorf("as many as can be: %v", err)
	}
}
