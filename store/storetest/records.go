package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

func records() []contract {
	return []contract{
		{"what was put is there", recordPut},
		{"a change on an old revision is refused", recordConflict},
		{"what was dropped is gone, and so are its revisions", recordDropped},
		{"a scan is in order, and only of its kind", recordScan},
		{"a long scan", recordLongScan},
		{"a scan of large records", recordLargeScan},
		{"what a caller does to its bytes changes nothing", recordOwnBytes},
		{"a folder has what is below it, and nothing else", recordBelow},
		{"many change it, nothing is lost", recordContended},
		{"a fence is looked at", recordFenced},
		{"bad keys and ended contexts", recordRefused},
		{"the clock runs", clockRuns},
	}
}

func recordPut(s *subject) {
	r := s.Fleet
	k := store.RecordKey{Project: s.project, Kind: "question", Name: "a/1"}
	value := string([]byte{0, 1, 0xff, '\n', '"', '\''})
	rev := s.put(r, k, value, 0)
	got, err := store.Get(s.t.Context(), s.again(), k)
	if err != nil || got.Key != k || string(got.Value) != value || got.Revision != rev {
		s.t.Fatalf("GetRecord = %+v, %v", got, err)
	}
	rev = s.put(r, k, "", rev)
	if got, err = store.Get(s.t.Context(), r, k); err != nil || len(got.Value) != 0 || got.Revision != rev {
		s.t.Errorf("an empty value: %+v, %v", got, err)
	}
	big := bytes.Repeat([]byte("x"), store.MaxRecord)
	if _, err := store.Put(s.t.Context(), r, k, big, rev, store.Fence{}); err != nil {
		s.t.Errorf("a large value: %v", err)
	}
	_, err = store.Put(s.t.Context(), r, k, append(big, 'x'), rev, store.Fence{})
	s.wantsError("a value that is too large", err, store.ErrInvalid)
}

func recordConflict(s *subject) {
	r := s.Fleet
	k := store.RecordKey{Project: s.project, Kind: "question", Name: "a"}
	_, err := store.Put(s.t.Context(), r, k, nil, 7, store.Fence{})
	s.wantsError("a change of what is not there", err, store.ErrConflict)
	one := s.put(r, k, "1", 0)
	_, err = store.Put(s.t.Context(), r, k, []byte("x"), 0, store.Fence{})
	s.wantsError("making what is there", err, store.ErrConflict)
	two := s.put(r, k, "2", one)
	_, err = store.Put(s.t.Context(), r, k, []byte("x"), one, store.Fence{})
	s.wantsError("an old revision", err, store.ErrConflict)
	s.wantsError("dropping an old revision", store.Drop(s.t.Context(), r, k, one, store.Fence{}), store.ErrConflict)
	if got, err := store.Get(s.t.Context(), r, k); err != nil || string(got.Value) != "2" || got.Revision != two {
		s.t.Errorf("GetRecord = %+v, %v", got, err)
	}
}

func recordDropped(s *subject) {
	r := s.Fleet
	k := store.RecordKey{Project: s.project, Kind: "question", Name: "a"}
	s.wantsError("dropping what is not there", store.Drop(s.t.Context(), r, k, 1, store.Fence{}), store.ErrNotFound)
	seen := map[int64]bool{}
	for range 5 {
		rev := s.put(r, k, "1", 0)
		if seen[rev] {
			s.t.Fatalf("revision %d is used again", rev)
		}
		seen[rev] = true
		if err := store.Drop(s.t.Context(), r, k, rev, store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
		_, err := store.Get(s.t.Context(), r, k)
		s.wantsError("GetRecord", err, store.ErrNotFound)
		_, err = store.Put(s.t.Context(), r, k, nil, rev, store.Fence{})
		s.wantsError("a change of what was dropped", err, store.ErrConflict)
	}
}

func recordScan(s *subject) {
	r := s.Fleet
	names := []string{"a", "a-b", "a.b", "a/1", "a/1/x", "a/10", "a/2", "a_b", "aB", "ab", "b/1", "B", "0", "z"}
	for _, name := range names {
		s.put(r, store.RecordKey{Project: s.project, Kind: "queue", Name: name}, "v "+name, 0)
	}
	s.put(r, store.RecordKey{Project: s.project, Kind: "other", Name: "a"}, "", 0)
	s.put(r, store.RecordKey{Project: s.project + "-b", Kind: "queue", Name: "a"}, "", 0)
	slices.Sort(names)
	for i, after := range append([]string{""}, names...) {
		var got []string
		for rec, err := range s.again().Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue"}, after) {
			if err != nil {
				s.t.Fatal(err)
			}
			if string(rec.Value) != "v "+rec.Key.Name || rec.Revision == 0 {
				s.t.Errorf("record %+v", rec)
			}
			got = append(got, rec.Key.Name)
		}
		if want := names[i:]; !slices.Equal(got, want) {
			s.t.Errorf("after %q: %q, want %q", after, got, want)
		}
	}
	for range r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue"}, "") {
		break
	}
	if got := collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "none"}, "")); len(got) != 0 {
		s.t.Errorf("an unknown kind: %v", got)
	}
}

func recordLongScan(s *subject) {
	r := s.Fleet
	for i := range 250 {
		s.put(r, store.RecordKey{Project: s.project, Kind: "queue", Name: fmt.Sprintf("%05d", i)}, "", 0)
	}
	if got := collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue"}, "")); len(got) != 250 || got[249].Key.Name != "00249" {
		s.t.Errorf("%d records", len(got))
	}
}

// recordLargeScan reads more than a store fetches at once: a page of few records that are
// large is not the last.
func recordLargeScan(s *subject) {
	r := s.Fleet
	const count = 6
	for i := range count {
		value := bytes.Repeat([]byte{'0' + byte(i)}, store.MaxRecord)
		if _, err := store.Put(s.t.Context(), r, store.RecordKey{Project: s.project, Kind: "queue", Name: fmt.Sprintf("a/%d", i)}, value, 0, store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, folder := range []string{"", "a"} {
		got := collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue", Name: folder}, ""))
		if len(got) != count {
			s.t.Fatalf("below %q: %d records, want %d", folder, len(got), count)
		}
		for i, rec := range got {
			if rec.Key.Name != fmt.Sprintf("a/%d", i) || len(rec.Value) != store.MaxRecord || rec.Value[0] != '0'+byte(i) {
				s.t.Errorf("below %q: record %d is %v with %d bytes", folder, i, rec.Key, len(rec.Value))
			}
		}
	}
}

// recordOwnBytes overwrites the bytes that it gave to the store, and those that each way
// of reading returns: they are the caller's, and the store keeps its own.
func recordOwnBytes(s *subject) {
	const text = "as it was put"
	r := s.Fleet
	k := store.RecordKey{Project: s.project, Kind: "queue", Name: "a/1"}
	given := []byte(text)
	if _, err := store.Put(s.t.Context(), r, k, given, 0, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	clear(given)
	get := func() []store.Record {
		rec, err := store.Get(s.t.Context(), r, k)
		if err != nil {
			s.t.Fatal(err)
		}
		return []store.Record{rec}
	}
	scan := func() []store.Record {
		return collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue", Name: "a"}, ""))
	}
	for _, read := range []struct {
		how string
		all func() []store.Record
	}{{"GetRecord", get}, {"Scan", scan}, {"GetRecord after that", get}, {"Scan after that", scan}} {
		all := read.all()
		if len(all) != 1 || string(all[0].Value) != text {
			s.t.Fatalf("%s: %+v, want one record with %q", read.how, all, text)
		}
		clear(all[0].Value)
	}
}

func recordBelow(s *subject) {
	r := s.Fleet
	for _, name := range []string{"a", "a-b/1", "a.b/1", "a/2", "a/1", "a/1/x", "aa/1", "b/a/1"} {
		s.put(r, store.RecordKey{Project: s.project, Kind: "queue", Name: name}, "v "+name, 0)
	}
	for folder, want := range map[string][]string{"a": {"a/1", "a/1/x", "a/2"}, "a/1": {"a/1/x"}, "b": {"b/a/1"}, "a.b": {"a.b/1"}, "none": nil} {
		var got []string
		for _, rec := range collect(s.t, s.again().Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue", Name: folder}, "")) {
			if string(rec.Value) != "v "+rec.Key.Name {
				s.t.Errorf("record %+v", rec)
			}
			got = append(got, rec.Key.Name)
		}
		if !slices.Equal(got, want) {
			s.t.Errorf("below %q: %q, want %q", folder, got, want)
		}
	}
	var rest []string
	for _, rec := range collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue", Name: "a"}, "a/1")) {
		rest = append(rest, rec.Key.Name)
	}
	if want := []string{"a/1/x", "a/2"}; !slices.Equal(rest, want) {
		s.t.Errorf("below a, behind a/1: %q, want %q", rest, want)
	}
	for _, after := range []string{"a/2", "aa", "zz"} {
		if got := collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue", Name: "a"}, after)); len(got) != 0 {
			s.t.Errorf("below a, behind %s: %v", after, got)
		}
	}
	err := lastError(r.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: "queue", Name: "../a"}, ""))
	if _, ok := errors.AsType[*store.KeyError](err); !ok {
		s.t.Errorf("a bad folder: %v, want a *KeyError", err)
	}
}

func recordContended(s *subject) {
	const workers, times = 6, 10
	k := store.RecordKey{Project: s.project, Kind: "count", Name: "a"}
	s.put(s.Fleet, k, "0", 0)
	var wg sync.WaitGroup
	for range workers {
		r := s.again()
		wg.Go(func() {
			for n := 0; n < times; {
				rec, err := store.Get(s.t.Context(), r, k)
				if err != nil {
					s.t.Error(err)
					return
				}
				i, _ := strconv.Atoi(string(rec.Value)) // 0 fails the count
				switch _, err := store.Put(s.t.Context(), r, k, []byte(strconv.Itoa(i+1)), rec.Revision, store.Fence{}); {
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
	got, err := store.Get(s.t.Context(), s.Fleet, k)
	if err != nil || string(got.Value) != strconv.Itoa(workers*times) {
		s.t.Errorf("counted %q, %v; want %d", got.Value, err, workers*times)
	}
}

func recordFenced(s *subject) {
	l := s.Fleet
	r := s.Fleet
	k := store.RecordKey{Project: s.project, Kind: "state", Name: "a"}
	lease := s.acquire(l, "me", time.Minute)
	rev, err := store.Put(s.t.Context(), r, k, []byte("1"), 0, lease.Fence)
	if err != nil {
		s.t.Fatal(err)
	}
	old := lease.Fence
	old.Token--
	_, err = store.Put(s.t.Context(), r, k, []byte("2"), rev, old)
	s.wantsError("an old token", err, store.ErrLeaseLost)
	s.wantsError("an old token drops", store.Drop(s.t.Context(), r, k, rev, old), store.ErrLeaseLost)
	if err := store.Drop(s.t.Context(), r, k, rev, lease.Fence); err != nil {
		s.t.Error(err)
	}
}

func recordRefused(s *subject) {
	r := s.Fleet
	for _, k := range []store.RecordKey{{}, {Project: "..", Kind: "k", Name: "n"}, {Project: s.project, Kind: "../k", Name: "n"}, {Project: s.project, Kind: "k", Name: "../n"}, {Project: s.project, Kind: "k"}} {
		_, err := store.Put(s.t.Context(), r, k, nil, 0, store.Fence{})
		_, err2 := store.Get(s.t.Context(), r, k)
		for _, err := range []error{err, err2, store.Drop(s.t.Context(), r, k, 1, store.Fence{})} {
			if _, ok := errors.AsType[*store.KeyError](err); !ok {
				s.t.Errorf("%v: %v, want a *KeyError", k, err)
			}
		}
	}
	k := store.RecordKey{Project: s.project, Kind: "k", Name: "n"}
	if _, err := store.Put(ended(s.t), r, k, nil, 0, store.Fence{}); err == nil {
		s.t.Error("PutRecord works with a context that has ended")
	}
	_, err := store.Get(s.t.Context(), r, k)
	s.wantsError("GetRecord", err, store.ErrNotFound)
}

func clockRuns(s *subject) {
	one, err := s.Fleet.Now(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	other := s.again()
	begin := time.Now()
	for two := one; !two.After(one); s.tick() { // it may tell whole seconds
		if two, err = other.Now(s.t.Context()); err != nil || two.Before(one) || two.Sub(one) > time.Minute || time.Since(begin) > 10*time.Second {
			s.t.Fatalf("%v, then %v, %v", one, two, err)
		}
	}
}
