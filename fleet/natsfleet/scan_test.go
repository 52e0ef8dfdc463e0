package natsfleet_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// below reads the records of a folder: their revisions, by their names.
func below(t *testing.T, s store.Records, folder string) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	for r, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "k", Name: folder}, "") {
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
	revision, err := store.Put(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: name}, []byte(name), 0, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func drop(t *testing.T, s store.Records, name string, revision int64) {
	t.Helper()
	if err := store.Drop(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: name}, revision, store.Fence{}); err != nil {
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
			next, err := store.Put(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: name}, []byte(name), revision, store.Fence{})
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

// A scan of more than it may remember yields all records in order, with the values that
// they have when it comes to them.
func TestScanOfMuch(t *testing.T) {
	t.Parallel()
	const most = 20 << 10
	c := natstest.Start(t, natstest.Options{Configure: func(o *server.Options) { o.MaxPayload = 64 << 10 }})
	o := natsfleet.Options{URL: c.URL(), Logger: quiet()}
	o.ScanBytes(most)
	s, err := natsfleet.OpenStore(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := func(i int) store.RecordKey {
		return store.RecordKey{Project: "p", Kind: "k", Name: fmt.Sprintf("%d/%03d", i%7, i)}
	}
	const records = 450
	values, revisions := make(map[string]string), make(map[string]int64)
	put := func(i int, value string) {
		k := key(i)
		revision, err := store.Put(t.Context(), s, k, []byte(value), revisions[k.Name], store.Fence{})
		if err != nil {
			t.Fatal(err)
		}
		values[k.Name], revisions[k.Name] = value, revision
	}
	for i := range records {
		size := rand.IntN(2 << 10)
		if i%100 == 50 {
			size = 150 << 10 // more than a message has
		}
		put(i, strings.Repeat("x", size))
	}
	if n, err := s.Remembered(t.Context(), "p", "k"); err != nil || n == 0 || n > most {
		t.Errorf("a scan remembers %d bytes, %v; want some, and at most %d", n, err, most)
	}
	stranger := newStranger(t, c.URL())
	var last string
	for r, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "k"}, "") {
		if err != nil {
			t.Fatal(err)
		}
		name := r.Key.Name
		if name <= last {
			t.Errorf("%s comes after %s", name, last)
		}
		if last == "" { // what the scan has not read yet, it reads as it is now
			for _, i := range []int{445, 446, 447} { // in folders 4, 5 and 6
				put(i, "changed")
			}
			k := key(433) // in folder 6, like the foreign message
			if err := store.Drop(t.Context(), s, k, revisions[k.Name], store.Fence{}); err != nil {
				t.Fatal(err)
			}
			delete(values, k.Name)
			stranger.store("claude.r.p.k.6.440", nil, []byte("nonsense"))
		}
		last = name
		if want, ok := values[name]; !ok || string(r.Value) != want || r.Revision != revisions[name] {
			t.Errorf("%s has %d bytes of revision %d; want %d of %d", name, len(r.Value), r.Revision, len(want), revisions[name])
		}
		delete(values, name)
	}
	if len(values) > 0 {
		t.Errorf("%d records were not found, such as %q", len(values), slices.Sorted(maps.Keys(values))[0])
	}
}

// The floors of resting folders are forgotten.
func TestFloorsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f natsfleet.Floors
		for i := range 1000 {
			f.Set(fmt.Sprint("rests/", i), 7)
		}
		if from := f.Of("rests/1"); from != 7 {
			t.Fatalf("a folder is read from %d; want 7", from)
		}
		<-time.After(2 * natsfleet.FloorAge)
		f.Set("new", 9)
		if n := f.Len(); n != 1 || f.Of("new") != 9 || f.Of("rests/1") != 1 {
			t.Errorf("%d folders are remembered; want 1", n)
		}
	})
}

// A scan leaves nothing directly in the folder: an owner that knows the folder to be empty
// need not look again.
func TestScanLeavesFolder(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	for _, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt", Name: "c/ada"}, "") {
		t.Error("found something", err)
	}
	stream, err := newStranger(t, c.URL()).js.Stream(t.Context(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]error{"claude.r.p.prompt.c.ada.*": jetstream.ErrMsgNotFound, "claude.r.p.prompt.c.ada.>": nil} {
		if m, err := stream.GetLastMsgForSubject(t.Context(), subject); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", subject, m, err, want)
		}
	}
}
