package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

// note is the note of a change of a record: its revision is ten times its number.
func note(name string, number int64) string {
	c := store.Changed{Record: store.RecordKey{Project: "p", Kind: "k", Name: name}, Revision: 10 * number}
	return noted("p", []change{{c, number}})[0]
}

func TestOrder(t *testing.T) {
	const session = "00000000-0000-4000-8000-000000000001"
	transcript := noted("p", []change{{what: store.Changed{Transcript: store.Key{Project: "p", Session: session}}}})[0]
	for name, c := range map[string]struct {
		notes []string
		want  string // revisions that come, and "?" where something was missed
	}{
		"in order":            {[]string{note("a", 1), note("a", 2) + "\n" + note("b", 3)}, "10 20 30"},
		"of several records":  {[]string{note("a", 2), note("b", 1)}, "20 10"},
		"overtaken":           {[]string{note("a", 2), note("a", 1), note("a", 3)}, "20 ? 30"},
		"overtaken among two": {[]string{note("a", 2), note("b", 1) + "\n" + note("a", 1)}, "20 10 ?"},
		"sent twice":          {[]string{note("a", 1), note("a", 1), note("a", 2)}, "10 20"},
		"a transcript":        {[]string{transcript, note("a", 1), transcript}, "0 10 0"},
		"one that is missed":  {[]string{missedNote("p"), note("a", 1)}, "? 10"},
		"of a newer program":  {[]string{"p 7 workspace w 1 - 0", "p x record k n 1 - 0", "", note("a", 1)}, "? ? ? 10"},
	} {
		t.Run(name, func(t *testing.T) {
			var o order
			if got := sorted(&o, c.notes...); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// sorted returns what readers get from notes.
func sorted(o *order, notes ...string) string {
	var out []string
	for _, n := range notes {
		changes, whole := o.sort(n)
		for _, c := range changes {
			out = append(out, fmt.Sprint(c.Revision))
		}
		if !whole {
			out = append(out, "?")
		}
	}
	return strings.Join(out, " ")
}

// What is remembered is bounded. A change that may be older than one that was forgotten is not
// trusted.
func TestOrderForgets(t *testing.T) {
	var o order
	n := int64(0)
	next := func() (string, int64) {
		n++
		return fmt.Sprint("r", n), n
	}
	first, _ := next()
	sorted(&o, note(first, n))
	for range 3 * maxRemembered {
		if got := sorted(&o, note(next())); got != fmt.Sprint(10*n) {
			t.Fatalf("a new record: %s", got)
		}
	}
	if all := len(o.last) + len(o.before); all > 2*maxRemembered || all < maxRemembered {
		t.Errorf("%d records are remembered", all)
	}
	highest := n - int64(len(o.last)+len(o.before)) // of those that were forgotten
	last, _ := next()
	for what, c := range map[string][]string{
		"a late change of a record that was forgotten": {note("other", 2), "?"},
		"one from just before the latest of those":     {note("other", highest-1), "?"},
		"the next change of it":                        {note(first, n), fmt.Sprint(10 * n)},
		"another one":                                  {note(last, n+1), fmt.Sprint(10 * (n + 1))},
	} {
		if got := sorted(&o, c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", what, got, c[1])
		}
	}
}

// A view reads each record once: what is in another folder of the view is left out.
func TestApart(t *testing.T) {
	folder := func(kind, name string) store.Folder { return store.Folder{Project: "p", Kind: kind, Name: name} }
	for _, c := range []struct {
		folders []store.Folder
		keys    []string // of kind k
		want    string
	}{
		{[]store.Folder{folder("k", "a")}, []string{"a", "a/b", "ab", "a/b/c"}, "a/ a ab"},
		{[]store.Folder{folder("k", "a/b"), folder("k", "a"), folder("k", "a-b")}, nil, "a/ a-b/"},
		{[]store.Folder{folder("k", "a"), folder("k", "a")}, []string{"x", "x"}, "a/ x"},
		{[]store.Folder{folder("k", "a"), folder("k", "")}, []string{"x", "a/x"}, "/"},
		{[]store.Folder{folder("other", "")}, []string{"x"}, "/ x"},
		{nil, []string{"b", "a"}, "b a"},
	} {
		v := store.View{Folders: c.folders}
		for _, name := range c.keys {
			v.Keys = append(v.Keys, store.RecordKey{Project: "p", Kind: "k", Name: name})
		}
		var got []string
		for _, p := range apart(v) {
			if p.key {
				got = append(got, p.Name)
			} else {
				got = append(got, p.Name+"/")
			}
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%v and %v: %q, want %q", c.folders, c.keys, got, want)
		}
	}
}
