package storetest

import "github.com/claude-agent-go/claude/store"

// layouts are the promises of a store that writes the version of its layout beside its
// data.
func layouts() []contract {
	return []contract{
		{"data without a version is read", layoutWithout},
		{"a newer layout is refused, and left as it is", layoutNewer},
		{"what is not a version is refused", layoutDamaged},
	}
}

// layoutWithout is a store of before there were versions.
func layoutWithout(s *subject) {
	k := s.session()
	s.append(k, line("one"))
	s.target.Layout(s.t, s.Fleet, "")
	later := s.again()
	if got := collect(s.t, store.Entries(s.t.Context(), later, k)); len(got) != 1 {
		s.t.Errorf("%d entries, want 1", len(got))
	}
	if err := later.Append(s.t.Context(), k, batch("", line("two"))); err != nil {
		s.t.Errorf("Append: %v", err)
	}
}

// layoutNewer is a store with the layout of a newer program.
func layoutNewer(s *subject) {
	k, r := s.session(), store.RecordKey{Project: s.project, Kind: "thing", Name: "a"}
	s.append(k, line("one"))
	if _, err := store.Put(s.t.Context(), s, r, []byte("1"), 0, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	s.target.Layout(s.t, s.Fleet, "1000")
	s.refused(s.again(), k, r, store.ErrNewer)
	s.target.Layout(s.t, s.Fleet, "1")
	later := s.again()
	if got := collect(s.t, store.Entries(s.t.Context(), later, k)); len(got) != 1 {
		s.t.Errorf("%d entries, want 1", len(got))
	}
	if got := collect(s.t, later.Scan(s.t.Context(), store.Folder{Project: s.project, Kind: r.Kind}, "")); len(got) != 1 || string(got[0].Value) != "1" {
		s.t.Errorf("the records are %v", got)
	}
}

func layoutDamaged(s *subject) {
	k := s.session()
	s.append(k, line("one"))
	for _, odd := range []string{"x", "0", "-1", "1.5"} {
		s.target.Layout(s.t, s.Fleet, odd)
		s.refused(s.again(), k, store.RecordKey{Project: s.project, Kind: "thing", Name: "a"}, store.ErrDamaged)
	}
	s.target.Layout(s.t, s.Fleet, "1")
}
