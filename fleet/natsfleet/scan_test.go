package natsfleet_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// below reads the records of a folder: their revisions, by their names.
func below(t *testing.T, s store.Records, folder string) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	for r, err := range store.ScanBelow(t.Context(), s, "p", "k", folder) {
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Value) != r.Key.Name {
			t.Fatalf("%s has the value %q", r.Key.Name, r.Value)
		}
		found[r.Key.Name] = r.Revision
	}
	return found
}

func create(t *testing.T, s store.Records, name string) int64 {
	t.Helper()
	revision, err := s.PutRecord(t.Context(), store.RecordKey{Project: "p", Kind: "k", Name: name}, []byte(name), 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func drop(t *testing.T, s store.Records, name string, revision int64) {
	t.Helper()
	if err := s.DropRecord(t.Context(), store.RecordKey{Project: "p", Kind: "k", Name: name}, revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

// A folder is read again for what it has, not for what was dropped.
func TestScanSkipsWhatWasDropped(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	const dropped = 300
	for i := range dropped {
		name := fmt.Sprintf("a/%d", i)
		drop(t, s, name, create(t, s, name))
	}
	cost := func() int {
		before := s.Received()
		below(t, s, "a")
		return int(s.Received() - before)
	}
	if first := cost(); first < dropped {
		t.Fatalf("the first scan reads %d messages of %d; this test shows nothing", first, dropped)
	}
	const most = 4 // the answers to the barrier and to the request, and the barrier
	if again := cost(); again > most {
		t.Errorf("the second scan reads %d messages; want at most %d", again, most)
	}
	create(t, s, "a/live")
	for i := range 5 {
		if again := cost(); again > most+1 {
			t.Errorf("scan %d with a record reads %d messages; want at most %d", i, again, most+1)
		}
	}
}

// Whatever is changed between two scans, by this process or another, both see what
// there is.
func TestScanAgain(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	stores := []*natsfleet.Store{openStore(t, c.URL()), openStore(t, c.URL())}
	want := make(map[string]map[string]int64)
	for step := range 400 {
		s, folder := stores[rand.IntN(2)], fmt.Sprint(rand.IntN(2))
		if want[folder] == nil {
			want[folder] = make(map[string]int64)
		}
		name := fmt.Sprintf("%s/%d", folder, rand.IntN(5))
		revision, there := want[folder][name]
		switch {
		case there && rand.IntN(2) == 0:
			drop(t, s, name, revision)
			delete(want[folder], name)
		default:
			next, err := s.PutRecord(t.Context(), store.RecordKey{Project: "p", Kind: "k", Name: name}, []byte(name), revision, store.Fence{})
			if err != nil {
				t.Fatal(err)
			}
			want[folder][name] = next
		}
		if rand.IntN(3) > 0 {
			continue
		}
		if got := below(t, stores[rand.IntN(2)], folder); !maps.Equal(got, want[folder]) {
			t.Fatalf("step %d: folder %s has %v; want %v", step, folder, got, want[folder])
		}
	}
}

// A stream that was made anew counts from the beginning, and what it has is found.
func TestScanOfAnotherStream(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	for i := range 20 {
		name := fmt.Sprintf("a/%d", i)
		drop(t, s, name, create(t, s, name))
	}
	if got := below(t, s, "a"); len(got) != 0 {
		t.Fatalf("it has %v", got)
	}
	if err := newStranger(t, c.URL()).js.DeleteStream(t.Context(), "claude"); err != nil {
		t.Fatal(err)
	}
	other := openStore(t, c.URL()) // makes it
	want := map[string]int64{"a/new": create(t, other, "a/new")}
	if got := below(t, s, "a"); !maps.Equal(got, want) {
		t.Errorf("it has %v; want %v", got, want)
	}
}
