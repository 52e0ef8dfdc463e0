package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

func keeps() []contract {
	return []contract{
		{"what is kept stays as it is", keepsStay},
		{"one that has changed refuses all", keepsRefused},
		{"a fence is looked at", keepsFenced},
		{"of two that each keep what the other changes, one is made", keepsSkewed},
		{"what is kept cannot be changed too", keepsBad},
	}
}

func keepsStay(s *subject) {
	r := s.Fleet
	kept, changed := s.put(r, s.recordKey("kept"), "k", 0), s.put(r, s.recordKey("changed"), "1", 0)
	got, err := s.change(r, store.Fence{},
		store.RecordChange{Key: s.recordKey("kept"), Keep: true, Revision: kept},
		store.RecordChange{Key: s.recordKey("changed"), Value: []byte("2"), Revision: changed},
		store.RecordChange{Key: s.recordKey("none"), Keep: true},
		store.RecordChange{Key: s.recordKey("made"), Value: []byte("m"), IfEmpty: "folder"},
	)
	if err != nil || len(got) != 4 || got[0] != kept || got[1] == 0 || got[1] == changed || got[2] != 0 || got[3] == 0 {
		s.t.Fatalf("Change = %v, %v; the kept one has %d", got, err, kept)
	}
	s.wantsRecord("kept", "k", kept)
	s.wantsRecord("changed", "2", got[1])
	s.wantsRecord("none", "", 0)
	s.wantsRecord("made", "m", got[3])
	alone, err := s.change(r, store.Fence{}, store.RecordChange{Key: s.recordKey("kept"), Keep: true, Revision: kept}, store.RecordChange{Key: s.recordKey("none"), Keep: true})
	if err != nil || len(alone) != 2 || alone[0] != kept || alone[1] != 0 {
		s.t.Errorf("nothing but kept ones: %v, %v", alone, err)
	}
	s.wantsRecord("kept", "k", kept)
	s.wantsRecord("none", "", 0)
	// What was kept has lost nothing: it can still be changed and dropped.
	next := s.put(r, s.recordKey("kept"), "l", kept)
	if err := store.Drop(s.t.Context(), r, s.recordKey("kept"), next, store.Fence{}); err != nil {
		s.t.Errorf("dropping what was kept: %v", err)
	}
	s.put(r, s.recordKey("none"), "", 0)
}

func keepsRefused(s *subject) {
	r := s.Fleet
	old := s.put(r, s.recordKey("there"), "1", 0)
	now := s.put(r, s.recordKey("there"), "2", old)
	gone := s.put(r, s.recordKey("gone"), "", 0)
	if err := store.Drop(s.t.Context(), r, s.recordKey("gone"), gone, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	other := s.put(r, s.recordKey("other"), "x", 0)
	for name, kept := range map[string]store.RecordChange{
		"an old revision":         {Key: s.recordKey("there"), Revision: old},
		"a revision to come":      {Key: s.recordKey("there"), Revision: 1 << 40},
		"none where there is one": {Key: s.recordKey("there")},
		"one that is gone":        {Key: s.recordKey("gone"), Revision: gone},
		"one that never was":      {Key: s.recordKey("never"), Revision: 7},
	} {
		kept.Keep = true
		fine := []store.RecordChange{{Key: s.recordKey("new")}, {Key: s.recordKey("other"), Drop: true, Revision: other}}
		for _, all := range [][]store.RecordChange{append([]store.RecordChange{kept}, fine...), append(fine, kept), {kept}} {
			_, err := s.change(r, store.Fence{}, all...)
			s.wantsError(name, err, store.ErrConflict)
		}
		s.wantsRecord("there", "2", now)
		s.wantsRecord("other", "x", other)
		s.wantsRecord("new", "", 0)
		s.wantsRecord("gone", "", 0)
	}
}

func keepsFenced(s *subject) {
	r := s.Fleet
	kept := s.put(r, s.recordKey("kept"), "k", 0)
	lease := s.acquire(r, "me", time.Minute)
	keep := store.RecordChange{Key: s.recordKey("kept"), Keep: true, Revision: kept}
	if got, err := s.change(r, lease.Fence, keep); err != nil || got[0] != kept {
		s.t.Errorf("under the lease: %v, %v", got, err)
	}
	if err := r.Release(s.t.Context(), lease); err != nil {
		s.t.Fatal(err)
	}
	_, err := s.change(r, lease.Fence, keep, store.RecordChange{Key: s.recordKey("new")})
	s.wantsError("under a lost lease", err, store.ErrLeaseLost)
	_, err = s.change(r, lease.Fence, keep)
	s.wantsError("nothing but kept ones under a lost lease", err, store.ErrLeaseLost)
	s.wantsRecord("new", "", 0)
}

// keepsSkewed: each of two changes one record and keeps the other. Were what is kept only
// looked at, and not held until the change is made, both could be made.
func keepsSkewed(s *subject) {
	const rounds = 10
	for round := range rounds {
		names := [2]string{fmt.Sprint(round, "/a"), fmt.Sprint(round, "/b")}
		revisions := [2]int64{s.put(s.Fleet, s.recordKey(names[0]), "", 0), s.put(s.Fleet, s.recordKey(names[1]), "", 0)}
		var errs [2]error
		var wg sync.WaitGroup
		for i := range names {
			r := s.again()
			wg.Go(func() {
				_, errs[i] = s.change(r, store.Fence{},
					store.RecordChange{Key: s.recordKey(names[i]), Value: []byte("mine"), Revision: revisions[i]},
					store.RecordChange{Key: s.recordKey(names[1-i]), Keep: true, Revision: revisions[1-i]})
			})
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else if !errors.Is(err, store.ErrConflict) {
				s.t.Fatal(err)
			}
		}
		if made != 1 {
			s.t.Fatalf("round %d: %d of two were made: %v", round, made, errs)
		}
	}
}

func keepsBad(s *subject) {
	k := s.recordKey("a")
	for name, bad := range map[string]store.RecordChange{
		"a value":          {Key: k, Keep: true, Value: []byte("x"), Revision: 1},
		"a drop":           {Key: k, Keep: true, Drop: true, Revision: 1},
		"an empty folder":  {Key: k, Keep: true, IfEmpty: "folder"},
		"a strange number": {Key: k, Keep: true, Revision: -1},
		"one that is made": {Key: s.recordKey("other"), Keep: true},
	} {
		_, err := s.change(s.Fleet, store.Fence{}, store.RecordChange{Key: s.recordKey("other")}, bad)
		s.wantsError(name, err, store.ErrInvalid)
	}
	s.wantsRecord("other", "", 0)
}
