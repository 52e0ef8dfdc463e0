package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is a package that has each kind of mutant.
const sample = `package sample

import "errors"

var ErrBig = errors.New("big")

func Add(a, b int) (int, error) {
	n := a + b
	if n > 10 && a != b || n < 0 { // both sides
		return 0, ErrBig
	}
	for n >= 8 {
		n--
	}
	defer func() { n = 0 }()
	return n, nil
}

func Unused() bool { return len("x") > 2 }
`

const sampleTest = `package sample

import "testing"

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		a, b, n int
		err     error
	}{{1, 2, 3, nil}, {9, 2, 0, ErrBig}, {8, 8, 7, nil}, {-2, 1, 0, ErrBig}, {4, 4, 7, nil}, {9, 1, 7, nil}, {1, -1, 0, nil}} {
		if n, err := Add(c.a, c.b); n != c.n || err != c.err {
			t.Errorf("Add(%d, %d) = %d, %v", c.a, c.b, n, err)
		}
	}
}
`

// inModule makes a module of one package and goes there.
func inModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/sample\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func TestTry(t *testing.T) {
	inModule(t, map[string]string{"sample.go": sample, "sample_test.go": sampleTest})
	f, err := try(t.Context(), target{".", []string{"."}}, options{workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var survived []string
	for _, s := range f.survivors() {
		survived = append(survived, s.key()+unreached(s))
	}
	// What the test cannot see: an unnamed result was copied before the defer,
	// and nothing calls Unused.
	want := []string{
		"Add: left out: defer func() { n = 0 }()",
		"Add: left out: n = 0",
		"Unused: always false: len(\"x\") > 2 (no test reaches it)",
	}
	for _, w := range want[:2] {
		if !slices.Contains(survived, w) {
			t.Errorf("%q did not survive; survivors: %q", w, survived)
		}
	}
	if len(survived) > 3 || f.total < 12 || len(f.tried) != f.total {
		t.Errorf("%d mutants, %d tried, survivors %q", f.total, len(f.tried), survived)
	}
}

func TestWovenKeepsLinesAndNesting(t *testing.T) {
	text := []byte("f(a && b)")
	got := string(woven(text, []*mutant{
		{start: 2, end: 8, prefix: "<1 ", suffix: " 1>"},
		{start: 2, end: 3, prefix: "<2 ", suffix: " 2>"},
		{start: 2, end: 3, prefix: "<3 ", suffix: " 3>"},
		{start: 7, end: 8, prefix: "<4 ", suffix: " 4>"},
	}))
	if want := "f(<1 <2 <3 a 3> 2> && <4 b 4> 1>)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSampleStaysTheSame(t *testing.T) {
	inModule(t, map[string]string{"sample.go": sample})
	keys := func(o options, known map[string]string) []string {
		src, err := load(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, one := range chosen(src.mutants(), o, known) {
			out = append(out, one.key())
		}
		return out
	}
	five := keys(options{sample: 5}, nil)
	if again := keys(options{sample: 5}, nil); len(five) != 5 || !slices.Equal(five, again) {
		t.Errorf("sampled %q, then %q", five, again)
	}
	all := keys(options{}, nil)
	without := keys(options{}, map[string]string{all[0]: "looked at"})
	if len(without) >= len(all) || slices.Contains(without, all[0]) {
		t.Errorf("an accepted mutant is tried again: %q", without)
	}
	for _, key := range keys(options{in: "Unused"}, nil) {
		if !strings.HasPrefix(key, "Unused: ") {
			t.Errorf("-in Unused tries %q", key)
		}
	}
}

// A mutant that was accepted and no longer exists hides nothing, but says so.
func TestAcceptedExist(t *testing.T) {
	known, err := readAccepted()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	for _, target := range targets() {
		own := known[target.pkg]
		delete(known, target.pkg)
		if len(own) == 0 {
			continue
		}
		src, err := load(t.Context(), target.pkg)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range src.mutants() {
			delete(own, m.key())
		}
		for key := range own {
			t.Errorf("accepted.txt names a mutant that does not exist: %s | %s", target.pkg, key)
		}
	}
	for pkg := range known {
		t.Errorf("accepted.txt names %s, which is not a target", pkg)
	}
}
