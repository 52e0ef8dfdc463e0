package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
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

func Unused(s string) bool { return len(s) > 2 }
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

// keepCompiled lets go commands use what was compiled before, wherever the directory for
// caches is afterwards: else they begin with the standard library.
func keepCompiled(t *testing.T) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(dir)))
}

func TestTry(t *testing.T) {
	long.Test(t, "builds and tests mutants")
	inModule(t, map[string]string{"sample.go": sample, "sample_test.go": sampleTest})
	keepCompiled(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f, err := try(t.Context(), target{pkg: ".", tests: []string{"."}}, options{workers: 2, slow: time.Minute}, nil)
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
		"Unused: always false: len(s) > 2 (no test reaches it)",
		"Unused: always true: len(s) > 2 (no test reaches it)",
		"Unused: or equal: len(s) > 2 (no test reaches it)",
	}
	slices.Sort(survived)
	if !slices.Equal(survived, want) {
		t.Errorf("survivors %q, want %q", survived, want)
	}
	if f.total < 12 || len(f.tried) != f.total {
		t.Errorf("%d mutants, %d tried, survivors %q", f.total, len(f.tried), survived)
	}
}

// A mutant that signals all processes reaches only its own.
func TestTestsRunConfined(t *testing.T) {
	outer := confinement()
	if outer == nil {
		if _, err := try(t.Context(), target{pkg: "internal/proc", signals: true}, options{}, nil); !errors.Is(err, errUnconfined) {
			t.Errorf("error = %v, want %v", err, errUnconfined)
		}
		return
	}
	out, err := exec.Command(outer[0], slices.Concat(outer[1:], []string{"sh", "-c", "ls -d /proc/[0-9]*; exit 7"})...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want exit code 7", err)
	}
	if n := len(strings.Fields(string(out))); n < 2 || n > 4 {
		t.Errorf("it sees %d processes, want its own:\n%s", n, out)
	}
}

func TestWovenKeepsLinesAndNesting(t *testing.T) {
	text := []byte("f(a && b)")
	got := string(instrumented(text, []*mutant{
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
	keys := func(o options) []string {
		src, err := load(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, one := range chosen(src.mutants(), o, nil) {
			out = append(out, one.key())
		}
		return out
	}
	five := keys(options{sample: 5})
	if again := keys(options{sample: 5}); len(five) != 5 || !slices.Equal(five, again) {
		t.Errorf("sampled %q, then %q", five, again)
	}
	if !slices.ContainsFunc(five, func(key string) bool { return strings.HasPrefix(key, "Unused: ") }) {
		t.Errorf("a sample without a mutant of Unused: %q", five)
	}
	for _, key := range keys(options{in: "Unused"}) {
		if !strings.HasPrefix(key, "Unused: ") {
			t.Errorf("-in Unused tries %q", key)
		}
	}
}

// An accepted mutant that no longer exists hides nothing, but is reported.
func TestAcceptedExist(t *testing.T) {
	long.Test(t, "loads every package that has mutants")
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

// Mutants that were judged equivalent do not count; those that are only untested
// do.
func TestRateLeavesOutEquivalentMutants(t *testing.T) {
	same, untested := &verdict{true, "a capacity"}, &verdict{false, "needs a full disk"}
	f := &finding{target: target{pkg: "internal/wire"}, total: 9, began: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	for _, one := range []trial{{by: "TestX"}, {by: "TestY"}, {verdict: same}, {verdict: untested}, {}} {
		one.mutant = &mutant{fn: "F", kind: "left out", text: "x()"}
		f.tried = append(f.tried, &one)
	}
	if f.rate() != 0.5 || f.equivalent() != 1 || len(f.survivors()) != 2 {
		t.Errorf("rate %v, %d equivalent, %d survived", f.rate(), f.equivalent(), len(f.survivors()))
	}
	text := render([]*finding{f}, "")
	for _, want := range []string{"| `internal/wire` | 9 | 5 | 1 | 2 | 50.0 % | 2026-11-15 |", "`x()`: needs a full disk\n", "`x()`: a capacity\n", "(no test reaches it)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	// A later run of another package keeps it.
	both := render([]*finding{{target: target{pkg: "hook"}, total: 3}}, text)
	if !strings.Contains(both, "| `hook` | 3 |") || !strings.Contains(both, "needs a full disk") || render(nil, both) != both {
		t.Errorf("a run of one package changed the others:\n%s", both)
	}
}

// The page has every target, and shows for each that its tests are good enough.
func TestPageShowsGoodTests(t *testing.T) {
	text, err := os.ReadFile("../../../docs/mutation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets() {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(target.pkg) + "` \\|.*\\| ([0-9.]+) % \\| [0-9-]+ \\|$").FindStringSubmatch(string(text))
		if row == nil {
			t.Errorf("docs/mutation.md lacks %s", target.pkg)
			continue
		}
		if share, err := strconv.ParseFloat(row[1], 64); err != nil || share < 100*wanted {
			t.Errorf("docs/mutation.md: the tests of %s catch %s %% of its mutants", target.pkg, row[1])
		}
	}
}
