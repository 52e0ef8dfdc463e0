package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// strengths are the promises of views that differ by their strength, and those about
// their size.
func strengths() []contract {
	return []contract{
		{"a strong view has what others have changed", strongOthers},
		{"a view that is content with what is known has what a strong one has read", knownRead},
		{"a strong view shows one moment", func(s *subject) { viewsMoment(s, 50, "", false) }},
		{"a view of whole kinds", viewsKinds},
		{"a view with a record in two folders has it once", viewsTwice},
		{"as many records as fit, and one more", viewsMany},
		{"as many bytes as fit, and one more", viewsBytes},
	}
}

// strongOthers: a change that has returned to its author is in every later strong view, of
// any process.
func strongOthers(s *subject) {
	other := s.again()
	v := s.asked([]string{"there"}, []string{"queue"})
	const times = 30
	revision := int64(0)
	for i := range times {
		author, reader := s.Fleet, other
		if i%2 == 0 {
			author, reader = other, s.Fleet
		}
		value := fmt.Sprint(i)
		revision = s.put(author, s.recordKey("there"), value, revision)
		made := s.put(author, s.recordKey("queue/"+value), value, 0)
		all, err := reader.View(s.t.Context(), v)
		if err != nil || len(all) != 2 || all[0].Revision != made || all[1].Revision != revision || string(all[1].Value) != value {
			s.t.Fatalf("%d was changed and made; a strong view has %+v, %v", i, all, err)
		}
		if err := store.Drop(s.t.Context(), author, s.recordKey("queue/"+value), made, store.Fence{}); err != nil {
			s.t.Fatal(err)
		}
		if all, err := reader.View(s.t.Context(), v); err != nil || len(all) != 1 {
			s.t.Fatalf("%d was dropped; a strong view has %+v, %v", i, all, err)
		}
	}
}

// knownRead: what this store has read is known to it.
func knownRead(s *subject) {
	other, mine := s.again(), s.Fleet
	v := s.asked([]string{"there"}, nil)
	known := v
	known.Known = true
	const times = 30
	revision := int64(0)
	for i := range times {
		revision = s.put(other, s.recordKey("there"), fmt.Sprint(i), revision)
		if all, err := mine.View(s.t.Context(), v); err != nil || len(all) != 1 || all[0].Revision != revision {
			s.t.Fatalf("a strong view has %+v, %v", all, err)
		}
		if all, err := mine.View(s.t.Context(), known); err != nil || len(all) != 1 || all[0].Revision != revision {
			s.t.Fatalf("revision %d was read, and the next view has %+v, %v", revision, all, err)
		}
	}
}

func viewsKinds(s *subject) {
	var want []string
	for _, k := range []store.RecordKey{{Kind: "a", Name: "1"}, {Kind: "a", Name: "1/2"}, {Kind: "b", Name: "x"}, {Kind: "c", Name: "1"}} {
		k.Project = s.project
		s.put(s.Fleet, k, "", 0)
		if k.Kind != "c" {
			want = append(want, k.String())
		}
	}
	for _, known := range []bool{false, true} {
		all, err := s.Fleet.View(s.t.Context(), store.View{Known: known, Folders: []store.Folder{{Project: s.project, Kind: "b"}, {Project: s.project, Kind: "a"}, {Project: s.project, Kind: "none"}}})
		var got []string
		for _, r := range all {
			got = append(got, r.Key.String())
		}
		if err != nil || !slices.Equal(got, want) {
			s.t.Errorf("known %v: %q, %v; want %q", known, got, err, want)
		}
	}
}

func viewsTwice(s *subject) {
	for _, name := range []string{"a/1", "a/b/1", "a/b/2"} {
		s.put(s.Fleet, s.recordKey(name), "", 0)
	}
	for _, known := range []bool{false, true} {
		v := s.asked([]string{"a/b/1", "a/b/1"}, []string{"a/b", "a", ""})
		v.Known = known
		if all, err := s.Fleet.View(s.t.Context(), v); err != nil || len(all) != 3 {
			s.t.Errorf("known %v: %+v, %v; want 3 records", known, all, err)
		}
	}
}

// fill makes records with a value in a folder, as many as may be made at once at a time.
func (s *subject) fill(folder string, count int, value []byte) {
	s.t.Helper()
	var all []store.RecordChange
	for i := range count {
		all = append(all, store.RecordChange{Key: s.recordKey(fmt.Sprintf("%s/%04d", folder, i)), Value: value})
	}
	most := max(1, min(store.MaxChanges, store.MaxViewedBytes/4/max(1, len(value))))
	for some := range slices.Chunk(all, most) {
		if _, err := s.change(s.Fleet, store.Fence{}, some...); err != nil {
			s.t.Fatal(err)
		}
	}
}

func viewsMany(s *subject) {
	s.fill("many", store.MaxViewed, nil)
	s.put(s.Fleet, s.recordKey("one"), "", 0)
	s.wantsTooLarge(s.asked(nil, []string{"many"}), s.asked([]string{"one"}, []string{"many"}), store.MaxViewed)
	s.put(s.Fleet, s.recordKey("many/more"), "", 0)
	_, err := s.Fleet.View(s.t.Context(), s.asked(nil, []string{"many"}))
	s.wantsError("a folder that is too large", err, store.ErrTooLarge)
}

func viewsBytes(s *subject) {
	s.fill("large", store.MaxViewedBytes/store.MaxRecord, []byte(strings.Repeat("x", store.MaxRecord)))
	s.put(s.Fleet, s.recordKey("one"), "1", 0)
	s.wantsTooLarge(s.asked(nil, []string{"large"}), s.asked([]string{"one"}, []string{"large"}), store.MaxViewedBytes/store.MaxRecord)
}

// wantsTooLarge wants one view to be as large as can be, and another to be too large.
func (s *subject) wantsTooLarge(fits, large store.View, want int) {
	s.t.Helper()
	for _, known := range []bool{false, true} {
		fits.Known, large.Known = known, known
		if all, err := s.Fleet.View(s.t.Context(), fits); err != nil || len(all) != want {
			s.t.Errorf("known %v: a view that fits has %d records, %v; want %d", known, len(all), err, want)
		}
		_, err := s.Fleet.View(s.t.Context(), large)
		s.wantsError(fmt.Sprint("known ", known, ": a view that is too large"), err, store.ErrTooLarge)
	}
}
