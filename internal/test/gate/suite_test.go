package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var root = filepath.Join("..", "..", "..")

// arranged returns the suite of this module: listing its packages takes a while.
var arranged = sync.OnceValues(func() ([][]run, error) { return suite(context.Background(), root) })

// TestSuite sees that every package of every module is tested once on the long level, or only
// on the quick level if its tests do not tell the two apart, and on the quick level only with
// the race detector.
func TestSuite(t *testing.T) {
	stages, err := arranged()
	if err != nil {
		t.Fatal(err)
	}
	quick, times := make(map[string]int), make(map[string]int) // by the folder of a package, or of a module
	for _, r := range slices.Concat(stages...) {
		level := times
		if r.quick {
			level = quick
			if !slices.Contains(r.flags, "-race") {
				t.Errorf("%v finds nothing that the long level does not", r)
			}
		}
		some := slices.ContainsFunc(r.limits, func(limit string) bool { return strings.HasPrefix(limit, "-run=") })
		for _, pkg := range r.packages {
			if !some {
				level[filepath.Join(r.dir, strings.TrimSuffix(pkg, "/..."))]++
			}
		}
	}
	same := 0
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "tools") {
			return filepath.SkipDir
		}
		dir := filepath.Dir(path)
		if d.Name() == "go.mod" && times[dir] != 1 {
			t.Errorf("the module in %s is tested %d times", dir, times[dir])
		}
		if !strings.HasSuffix(path, "_test.go") || module(dir) != root || times[dir] == 1 {
			return nil
		}
		same++
		source, err := os.ReadFile(path)
		if times[dir] > 1 || quick[dir] != 1 || tellsApart(source) {
			t.Errorf("%s is tested %d times on the long level and %d times on the quick one", path, times[dir], quick[dir])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if same == 0 {
		t.Error("all packages are tested on the long level")
	}
}

// tellsApart reports whether a test is another one on the long level, or without the race
// detector.
func tellsApart(source []byte) bool {
	constraint, _, _ := bytes.Cut(source, []byte("\n"))
	return bytes.Contains(source, []byte(`"`+levels+`"`)) || raceTag.Match(constraint)
}

var raceTag = regexp.MustCompile(`^//go:build .*\brace\b`)

func TestTellsApart(t *testing.T) {
	for source, want := range map[string]bool{
		"package p\n\nimport \"" + levels + "\"\n":       true,
		"//go:build !race\n\npackage p\n":                true,
		"//go:build unix && race\n\npackage p\n":         true,
		"//go:build unix\n\npackage p\n\n// It races.\n": false,
		"package p\n\nimport \"" + levels + "er\"\n":     false,
	} {
		if got := tellsApart([]byte(source)); got != want {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	}
}

// TestSlowest sees that the slow packages exist and are the first to start.
func TestSlowest(t *testing.T) {
	stages, err := arranged()
	if err != nil {
		t.Fatal(err)
	}
	if got := stages[0][0].packages[:len(slowest())]; !slices.Equal(got, slowest()) {
		t.Errorf("the first packages are %q, want %q", got, slowest())
	}
}

// TestStages sees that two commands of a stage run at once, and that a stage begins when the
// one before has ended.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		started := make(map[string]time.Duration)
		took := map[string]time.Duration{"a": 3 * time.Second, "b": 5 * time.Second, "c": time.Second, "d": 4 * time.Second, "e": time.Second}
		var mu sync.Mutex
		each([][]run{{{dir: "a"}}, {{dir: "b"}, {dir: "c"}, {dir: "d"}}, {{dir: "e"}}}, func(r run) {
			mu.Lock()
			started[r.dir] = time.Since(begin)
			mu.Unlock()
			<-time.After(took[r.dir])
		})
		want := map[string]time.Duration{"a": 0, "b": 3 * time.Second, "c": 3 * time.Second, "d": 4 * time.Second, "e": 8 * time.Second}
		if !maps.Equal(started, want) || time.Since(begin) != 9*time.Second {
			t.Errorf("started at %v and ended at %v, want %v and 9s", started, time.Since(begin), want)
		}
	})
}

func TestEnvironment(t *testing.T) {
	for _, test := range [][2][]string{
		{{"A=b"}, {"A=b", "LONG_TESTS=1", "GORACE=atexit_sleep_ms=100"}},
		{{"GORACE=halt_on_error=1", "A=b"}, {"GORACE=halt_on_error=1", "A=b", "LONG_TESTS=1"}},
	} {
		if got := environment(test[0], false); !slices.Equal(got, test[1]) {
			t.Errorf("environment(%q) = %q, want %q", test[0], got, test[1])
		}
	}
	if got := environment([]string{"LONG_TESTS=1", "GORACE=a"}, true); !slices.Equal(got, []string{"LONG_TESTS=1", "GORACE=a", "LONG_TESTS="}) {
		t.Errorf("the quick level has %q", got)
	}
}

// module is the folder with the go.mod that dir belongs to.
func module(dir string) string {
	for ; dir != root; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	return dir
}

// TestPlain checks the table of what is tested without the race detector:
// packages in which nothing is concurrent, and tests that exist, in one package
// only: others of that name would not run at all.
func TestPlain(t *testing.T) {
	homes := tests(t)
	for _, p := range plain() {
		for _, name := range p.tests {
			if got := homes[name]; !slices.Equal(got, []string{filepath.Join(root, p.pkg)}) {
				t.Errorf("%s is in %q, want %s only", name, got, p.pkg)
			}
		}
		if len(p.tests) == 0 {
			for _, place := range concurrent(t, filepath.Join(root, p.pkg)) {
				t.Errorf("%s: %s is tested without the race detector", place, p.pkg)
			}
		}
	}
	if got := concurrent(t, filepath.Join(root, "internal", "peer")); len(got) == 0 {
		t.Error("nothing in internal/peer is concurrent: this test sees nothing")
	}
}

// tests finds the folders of all tests. A line that begins with func is enough, since all
// files are formatted: to parse them would take half a second.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	homes := make(map[string][]string)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir // go test sees no packages there
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(source) {
			rest, isFunc := bytes.CutPrefix(line, []byte("func "))
			name, _, ok := bytes.Cut(rest, []byte("("))
			if dir := filepath.Dir(path); isFunc && ok && !slices.Contains(homes[string(name)], dir) {
				homes[string(name)] = append(homes[string(name)], dir)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return homes
}

// concurrent finds where a package starts goroutines, guards something or has a
// channel, its tests aside.
func concurrent(t *testing.T, dir string) (places []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	set := token.NewFileSet()
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ImportSpec)
			guards := ok && strings.HasPrefix(spec.Path.Value, `"sync`)
			_, starts := n.(*ast.GoStmt)
			_, sends := n.(*ast.ChanType)
			if guards || starts || sends {
				places = append(places, set.Position(n.Pos()).String())
			}
			return true
		})
	}
	return places
}

// TestPlainOnce sees that a test without the race detector does not run with it too.
func TestPlainOnce(t *testing.T) {
	stages, err := arranged()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plain() {
		for _, name := range p.tests {
			times := 0
			for _, r := range slices.Concat(stages...) {
				if !slices.Contains(r.packages, "./"+p.pkg) || !r.runs(name) {
					continue
				}
				if times++; slices.Contains(r.flags, "-race") {
					t.Errorf("%s of %s runs with the race detector", name, p.pkg)
				}
			}
			if times != 1 {
				t.Errorf("%s of %s runs %d times", name, p.pkg, times)
			}
		}
	}
}

// runs reports whether the command runs a test, if it is in one of its packages.
func (r run) runs(name string) bool {
	for _, limit := range r.limits {
		if pattern, ok := strings.CutPrefix(limit, "-run="); ok && !regexp.MustCompile(pattern).MatchString(name) {
			return false
		}
		if pattern, ok := strings.CutPrefix(limit, "-skip="); ok && regexp.MustCompile(pattern).MatchString(name) {
			return false
		}
	}
	return true
}
