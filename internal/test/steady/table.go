package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
)

// test names a test of a package. Without a name it is the package: its binary died, or
// ended badly although no test failed.
type test struct{ pkg, name string }

// failure holds the knowledge about a test that failed.
type failure struct {
	times int
	first []byte // what its package printed
}

// table has the tests that failed.
type table map[test]*failure

// failed finds the failed tests in the output of a test binary.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// add adds the failures of a round, and returns how many there were.
func (t *table) add(outcomes []outcome) (n int) {
	if *t == nil {
		*t = make(table)
	}
	for _, o := range outcomes {
		if o.err == nil {
			continue
		}
		names := failed.FindAllSubmatch(o.output, -1)
		if len(names) == 0 {
			names = [][][]byte{{nil, nil}}
		}
		for _, name := range names {
			id := test{o.pkg, string(name[1])}
			f := (*t)[id]
			if f == nil {
				f = &failure{first: fmt.Appendf(o.output, "%v\n", o.err)}
				(*t)[id] = f
			}
			f.times++
			n++
		}
	}
	return n
}

// most is how much of the output of a package is printed.
const most = 64 << 10

// print prints the output of the first failures, and the table.
func (t table) print(w io.Writer, times int) {
	ids := slices.SortedFunc(maps.Keys(t), func(a, b test) int {
		return cmp.Or(cmp.Compare(t[b].times, t[a].times), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	var printed [][]byte
	for _, id := range ids {
		first := t[id].first
		if slices.ContainsFunc(printed, func(other []byte) bool { return bytes.Equal(other, first) }) {
			continue // another test of that binary
		}
		printed = append(printed, first)
		fmt.Fprintf(w, "\n== %s %s\n%s", id.pkg, id.name, first[max(0, len(first)-most):])
	}
	if len(ids) == 0 {
		fmt.Fprintf(w, "all tests passed %d times\n", times)
		return
	}
	fmt.Fprintf(w, "\nfailed | test\n")
	for _, id := range ids {
		fmt.Fprintf(w, "%2d of %-2d | %s %s\n", t[id].times, times, id.pkg, cmp.Or(id.name, "(died)"))
	}
}
