package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const oldAPI = `a field T.X int
a func New(string) *T
a interface Closed.Do() error
a interface Closed: others cannot implement it
a interface Open.Do() error
a type Closed interface
a type Open interface
a type T struct
b func Run()
`

func TestBreaks(t *testing.T) {
	for name, c := range map[string]struct {
		gone, added string
		want        []string
	}{
		"nothing":                      {"", "", nil},
		"additions":                    {"", "a field T.Y int\na func Old()\na interface New.Do()\na type New interface\n", nil},
		"a sealed interface grows":     {"", "a interface Closed.More()\n", nil},
		"an open interface grows":      {"", "a interface Open.More()\n", []string{"a interface Open.More()"}},
		"a function goes":              {"b func Run()\n", "", []string{"b func Run()"}},
		"a function changes":           {"a func New(string) *T\n", "a func New(int) *T\n", []string{"a func New(string) *T"}},
		"a sealed interface is opened": {"a interface Closed: others cannot implement it\n", "", []string{"a interface Closed: others cannot implement it"}},
	} {
		if got := breaks(oldAPI, strings.Replace(oldAPI, c.gone, "", 1)+c.added); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestObjections(t *testing.T) {
	p := promise{"a": true, "b": false}
	for _, c := range []struct {
		from, to string
		want     int // of a break in a, which is stable, and one in b, which is not
	}{
		{"0.1.0", "0.2.0", 0}, {"0.1.0", "0.1.1", 2}, {"0.9.0", "1.0.0", 0},
		{"1.0.0", "1.1.0", 1}, {"1.0.0", "1.0.1", 2}, {"1.0.0", "1.1.0-rc.1", 1},
	} {
		if got := p.objections(c.from, c.to, []string{"a func New(string) *T", "b func Run()"}); len(got) != c.want {
			t.Errorf("%s after %s: %q, want %d", c.to, c.from, got, c.want)
		}
	}
}

func TestPrevious(t *testing.T) {
	tags := []string{"v0.9.0", "v0.10.0", "v0.10.1-rc.1", "a/v0.11.0", "v1.0.0", "nonsense", "v2"}
	for version, want := range map[string]string{"0.9.0": "", "0.9.1": "0.9.0", "0.11.0": "0.10.0", "1.0.0-rc.1": "0.10.0", "1.0.1": "1.0.0"} {
		if got := previous(tags, version); got != want {
			t.Errorf("before %s: %q, want %q", version, got, want)
		}
	}
}

// Every public package of every module is either stable or not, by the tables of the
// promise, and they name no others.
func TestPromiseIsWhole(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, stabilityFile))
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPromise(string(page))
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadFile(filepath.Join(top, apiFile))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{"claudectl": true} // a program
	for line := range strings.Lines(string(names)) {
		pkg, _, _ := strings.Cut(line, " ")
		packages[pkg] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if _, named := p[pkg]; !named {
			t.Errorf("%s does not name %s", stabilityFile, pkg)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(p)) {
		if !packages[pkg] {
			t.Errorf("%s names %s, which is not a package", stabilityFile, pkg)
		}
	}
	if !p["claude"] || p["fleet"] {
		t.Error("the tables are mixed up")
	}
}

func TestReadPromise(t *testing.T) {
	if _, err := readPromise("nothing"); err == nil {
		t.Error("a page without tables")
	}
	if _, err := readPromise("| stable from 1.0 on | why |\n|---|---|\n| `a` | x |\n\n| not stable yet | until |\n|---|---|\n| `a` | y |\n"); err == nil {
		t.Error("a package in both tables")
	}
	p, err := readPromise("| stable from 1.0 on | why |\n|---|---|\n| `a`, `b/c` | `x` |\n\n`d`\n\n| not stable yet | until |\n|---|---|\n| `e` | y |\n")
	if err != nil || !maps.Equal(p, promise{"a": true, "b/c": true, "e": false}) {
		t.Errorf("%v, %v", p, err)
	}
}

// The command refuses a patch that lacks a name of the version before it.
func TestReleaseComparesWithTheLastTag(t *testing.T) {
	root := t.TempDir()
	stability, err := os.ReadFile(filepath.Join(top, stabilityFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range tree(map[string]string{apiFile: oldAPI, stabilityFile: string(stability)}) {
		write(t, filepath.Join(root, name), file.Data)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "first")
	git("tag", "v0.1.0")
	write(t, filepath.Join(root, apiFile), []byte(strings.Replace(oldAPI, "b func Run()\n", "", 1)))
	var said strings.Builder
	if err := run(&said, root, "0.1.1", false); err == nil || !strings.Contains(said.String(), "a patch must not break programs, and 0.1.1 did: b func Run()") {
		t.Errorf("a patch: %v\n%s", err, said.String())
	}
	said.Reset()
	if err := run(&said, root, "0.2.0", false); err != nil {
		t.Errorf("a minor version: %v\n%s", err, said.String())
	}
}
