package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/store"
)

func views() []contract {
	return []contract{
		{"a view has what was asked for", viewsAsked},
		{"a view has all changes of its own store", viewsOwn},
		{"a view has old records beside a busy folder", viewsOld},
		{"a view shows one moment", func(s *subject) { viewsMoment(s, 50, "", true) }},
		{"a view of large values shows one moment", func(s *subject) { viewsMoment(s, 10, strings.Repeat(" ", store.MaxRecord-10), true) }},
		{"a large value in a view", viewsLarge},
		{"bad views and ended contexts", viewsBad},
	}
}

func viewsAsked(s *subject) {
	r := s.Fleet
	for _, name := range []string{"a", "a/1", "a/1/x", "a/2", "a.b/1", "ab/1", "b/a/1", "c"} {
		s.put(r, s.recordKey(name), "v "+name, 0)
	}
	other := s.recordKey("a/1")
	other.Kind = "another"
	s.put(r, other, "other", 0)
	dropped := s.put(r, s.recordKey("a/dropped"), "x", 0)
	if err := store.Drop(s.t.Context(), r, s.recordKey("a/dropped"), dropped, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	for _, one := range []struct{ names, folders, want []string }{
		{names: []string{"c", "none", "a"}, want: []string{"a", "c"}},
		{folders: []string{"a"}, want: []string{"a/1", "a/1/x", "a/2"}},
		{names: []string{"a/2", "c", "a/dropped"}, folders: []string{"b", "a"}, want: []string{"a/1", "a/1/x", "a/2", "b/a/1", "c"}},
		{names: []string{"none"}, folders: []string{"c", "nothing", "ab"}, want: []string{"ab/1"}},
	} {
		var got []string
		for _, rec := range s.view(r, one.names, one.folders) {
			if same, err := store.Get(s.t.Context(), r, rec.Key); err != nil || string(rec.Value) != "v "+rec.Key.Name || same.Revision != rec.Revision {
				s.t.Errorf("a view has %+v, and GetRecord %+v, %v", rec, same, err)
			}
			got = append(got, rec.Key.Name)
		}
		if !slices.Equal(got, one.want) {
			s.t.Errorf("view of %q and below %q: %q, want %q", one.names, one.folders, got, one.want)
		}
	}
	got, err := r.View(s.t.Context(), store.View{Keys: []store.RecordKey{s.recordKey("a/1"), other}})
	if err != nil || len(got) != 2 || got[0].Key != other || got[1].Key != s.recordKey("a/1") {
		s.t.Errorf("a view of two kinds: %+v, %v", got, err)
	}
}

// viewsOwn: what the store has changed is in its next view, however soon that is.
func viewsOwn(s *subject) {
	r := s.Fleet
	s.put(r, s.recordKey("there"), "1", 0)
	const times = 100
	for i := range times {
		name := fmt.Sprintf("queue/%d", i)
		revision := s.put(r, s.recordKey(name), "new", 0)
		all := s.view(r, []string{"there"}, []string{"queue"})
		if len(all) != 2 || all[0].Key.Name != name || all[0].Revision != revision {
			s.t.Fatalf("%s was made, and a view has %+v", name, all)
		}
		if err := store.Drop(s.t.Context(), r, s.recordKey(name), revision, store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
		if all := s.view(r, []string{"there"}, []string{"queue"}); len(all) != 1 {
			s.t.Fatalf("%s was dropped, and a view has %+v", name, all)
		}
	}
}

// viewsOld: a record that was not asked for before is found, however long it has not
// changed, and whatever was dropped meanwhile.
func viewsOld(s *subject) {
	r := s.Fleet
	s.put(r, s.recordKey("old"), "1", 0)
	const times = 40
	for i := range times {
		name := fmt.Sprintf("queue/%d", i)
		if err := store.Drop(s.t.Context(), r, s.recordKey(name), s.put(r, s.recordKey(name), "new", 0), store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.put(r, s.recordKey("young"), "1", 0)
	s.put(r, s.recordKey("queue/last"), "1", 0)
	for range 2 {
		if all := s.view(r, []string{"young"}, []string{"queue"}); len(all) != 2 {
			s.t.Fatalf("a view has %+v", all)
		}
	}
	for _, names := range [][]string{{"young", "old"}, {"old"}} {
		if all := s.view(r, names, []string{"queue"}); len(all) != 1+len(names) || all[0].Key.Name != "old" {
			s.t.Errorf("a view of %q and below \"queue\" has %+v", names, all)
		}
	}
}

// viewsMoment: two records that are changed at once are never seen apart.
// What their values say is followed by a text.
func viewsMoment(s *subject, times int, text string, known bool) {
	r := s.Fleet
	revisions := []int64{s.put(r, s.recordKey("one"), "0"+text, 0), s.put(r, s.recordKey("in/two"), "0"+text, 0)}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for i := range times {
			value := []byte(strconv.Itoa(i) + text)
			next, err := s.change(r, store.Fence{},
				store.RecordChange{Key: s.recordKey("one"), Value: value, Revision: revisions[0]},
				store.RecordChange{Key: s.recordKey("in/two"), Value: value, Revision: revisions[1]})
			if err != nil {
				s.t.Error(err)
				return
			}
			revisions = next
		}
	})
	reader, before := s.again(), -1
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		v := s.asked([]string{"one"}, []string{"in"})
		v.Known = known
		all, err := reader.View(s.t.Context(), v)
		if err != nil {
			s.t.Errorf("View: %v", err)
			break
		}
		if len(all) != 2 {
			s.t.Errorf("a view of two records that are changed at once has %d", len(all))
			break
		}
		if string(all[0].Value) != string(all[1].Value) {
			s.t.Errorf("a view of two records that are changed at once has %.9q and %.9q", all[0].Value, all[1].Value)
			break
		}
		now, _ := strconv.Atoi(strings.TrimSuffix(string(all[0].Value), text)) // 0 fails the comparison
		if now < before {
			s.t.Errorf("a view goes back from %d to %d", before, now)
		}
		before = now
	}
	wg.Wait()
}

func viewsLarge(s *subject) {
	r := s.Fleet
	large := slices.Repeat([]byte("large "), store.MaxRecord/len("large "))
	s.put(r, s.recordKey("in/large"), string(large), 0)
	s.put(r, s.recordKey("in/small"), "small", 0)
	all := s.view(r, nil, []string{"in"})
	if len(all) != 2 || string(all[0].Value) != string(large) || string(all[1].Value) != "small" {
		s.t.Errorf("a view with a large value has %d records", len(all))
	}
}

func viewsBad(s *subject) {
	v := s.Fleet
	a := s.recordKey("a")
	other := store.Folder(a)
	other.Project += "-b"
	many := slices.Repeat([]store.RecordKey{a}, store.MaxChanges)
	for name, bad := range map[string]store.View{
		"nothing":      {},
		"too many":     {Keys: many, Folders: []store.Folder{store.Folder(a)}},
		"two projects": {Keys: []store.RecordKey{a}, Folders: []store.Folder{other}},
	} {
		_, err := v.View(s.t.Context(), bad)
		s.wantsError(name, err, store.ErrInvalid)
	}
	for name, bad := range map[string]store.View{
		"a bad key":    {Keys: []store.RecordKey{a, {Project: s.project, Kind: "k"}}},
		"a bad folder": {Keys: []store.RecordKey{a}, Folders: []store.Folder{{Project: s.project, Kind: "k", Name: "../n"}}},
	} {
		_, err := v.View(s.t.Context(), bad)
		if _, ok := errors.AsType[*store.KeyError](err); !ok {
			s.t.Errorf("%s: %v, want a *KeyError", name, err)
		}
	}
	if _, err := v.View(ended(s.t), store.View{Keys: []store.RecordKey{a}}); err == nil {
		s.t.Error("View works with a context that has ended")
	}
}
