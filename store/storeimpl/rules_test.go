package storeimpl_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// The bounds of owners and times are exactly those that are documented: a lease that one
// store gave out must not be refused by another.
func TestCheckAcquire(t *testing.T) {
	name := func(n int) string { return strings.Repeat("a", n) }
	for what, c := range map[string]struct {
		err error
		ok  bool
	}{
		"the longest owner": {storeimpl.CheckAcquire("p", "n", name(1000), time.Minute), true},
		"a longer owner":    {storeimpl.CheckAcquire("p", "n", name(1001), time.Minute), false},
		"the shortest time": {storeimpl.CheckAcquire("p", "n", "o", time.Millisecond), true},
		"a shorter time":    {storeimpl.CheckAcquire("p", "n", "o", time.Millisecond-1), false},
		"the longest time":  {storeimpl.CheckAcquire("p", "n", "o", 366*24*time.Hour), true},
		"a longer time":     {storeimpl.CheckAcquire("p", "n", "o", 366*24*time.Hour+1), false},
		"no owner":          {storeimpl.CheckAcquire("p", "n", "", time.Minute), false},
		"no project":        {storeimpl.CheckAcquire("", "n", "o", time.Minute), false},
		"no name":           {storeimpl.CheckAcquire("p", "", "o", time.Minute), false},
	} {
		if c.ok != (c.err == nil) || c.err != nil && !errors.Is(c.err, store.ErrInvalid) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
}

// A program reads the layouts up to its own, and nothing that is newer or not a version.
func TestCheckLayout(t *testing.T) {
	for version, want := range map[string]error{
		"1": nil, " 2\n": nil, "3": store.ErrNewer, "0": store.ErrDamaged, "-1": store.ErrDamaged, "": store.ErrDamaged, "two": store.ErrDamaged,
	} {
		if err := storeimpl.CheckLayout(version, 2); !errors.Is(err, want) {
			t.Errorf("version %q: %v, want %v", version, err, want)
		}
	}
}

// The names of a folder are between its bounds, and no others.
func TestBetween(t *testing.T) {
	for _, c := range []struct{ folder, after, inside, outside string }{
		{"", "", "0 a a/b z~", ""},
		{"", "a", "a/b b", "a 0"},
		{"a", "", "a/0 a/b a/b/c a/z~", "a a-b a.b a0 ab b"},
		{"a", "a/b", "a/b/c a/c", "a/a a/b a0"},
		{"a", "0", "a/0", "a a0"},
		{"a", "b", "", "a/b b c"},
	} {
		from, to := storeimpl.Between(store.Folder{Project: "p", Kind: "k", Name: c.folder}, c.after)
		between := func(name string) bool { return name > from && (to == "" || name < to) }
		for name := range strings.FieldsSeq(c.inside) {
			if !between(name) {
				t.Errorf("folder %q after %q: %s is not between %q and %q", c.folder, c.after, name, from, to)
			}
		}
		for name := range strings.FieldsSeq(c.outside) {
			if between(name) {
				t.Errorf("folder %q after %q: %s is between %q and %q", c.folder, c.after, name, from, to)
			}
		}
	}
}

// A view is in the order of kinds and names, and has each record once.
func TestSortView(t *testing.T) {
	var all []store.Record
	for _, k := range [][2]string{{"b", "a"}, {"a", "b"}, {"a", "a/b"}, {"a", "b"}, {"a", "a"}} {
		all = append(all, store.Record{Key: store.RecordKey{Project: "p", Kind: k[0], Name: k[1]}})
	}
	var got []string
	for _, r := range storeimpl.SortView(all) {
		got = append(got, r.Key.String())
	}
	if got, want := strings.Join(got, " "), "p/a/a p/a/a/b p/a/b p/b/a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A summary that cannot be read counts as none, not as far as it could be read.
func TestFoldOfUnreadable(t *testing.T) {
	e := store.Entry(`{"type":"user","uuid":"1","message":{"role":"user","content":"one"}}`)
	titled := string(storeimpl.Fold(nil, store.Entry(`{"type":"custom-title","customTitle":"another"}`)))
	want := string(storeimpl.Fold(nil, e))
	if !strings.Contains(titled, "another") {
		t.Fatalf("the summary is %s", titled)
	}
	for _, data := range []string{"", "null", titled[:len(titled)-1], titled + "x", titled[:len(titled)-1] + `,"created":[7]}`} {
		if got := string(storeimpl.Fold([]byte(data), e)); got != want {
			t.Errorf("on %s: %s, want %s", data, got, want)
		}
	}
}
