package rules

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing/fstest"
)

// reasonsFile has the table of all dependencies.
const reasonsFile = "docs/decisions.md"

func reasonRules() []rule {
	return []rule{{
		name:  "dependencies have a reason",
		check: checkReasons,
		bad: fstest.MapFS{
			reasonsFile: source("| module | version | where | why |", "|---|---|---|---|",
				"| `example.com/a` | v1.0.0 | `x` | good |", "| `example.com/b/c`, `example.com/d` | v1.0.0, v2.0.0 | `x` | good |"),
			"go.mod":           source("module "+modulePath, "require example.com/a v1.0.1", "require (", "\texample.com/b/c v1.0.0", "\texample.com/e v1.0.0", "\texample.com/f v1.0.0 // indirect", ")"),
			"y/go.mod":         source("module "+modulePath+"/y", "require "+modulePath+" v0.1.0", "require example.com/d v2.0.0", "require example.com/b/c/more v9.0.0"),
			"testdata/x/x.mod": source("module x", "require example.com/z v1.0.0"),
		},
		want: []string{
			"go.mod: example.com/a v1.0.1 is in no row of docs/decisions.md, or with another version",
			"go.mod: example.com/e v1.0.0 is in no row of docs/decisions.md, or with another version",
		},
	}}
}

var (
	requirement = regexp.MustCompile(`(?m)^(?:require |\t)([^\s/]+\.\S+) (v\S+)$`)
	reasonRow   = regexp.MustCompile("(?m)^\\| (`[^|]*) \\| ([^|]*) \\|")
	inBackticks = regexp.MustCompile("`([^`]+)`")
)

// checkReasons holds what the modules require themselves to the table of dependencies.
// A row also covers the modules below its own, which come in the same repository.
func checkReasons(m *module) (complaints []string) {
	page, _ := fs.ReadFile(m.fsys, reasonsFile)
	versions := make(map[string]string)
	for _, row := range reasonRow.FindAllStringSubmatch(string(page), -1) {
		for _, name := range inBackticks.FindAllStringSubmatch(row[1], -1) {
			versions[name[1]] = row[2]
		}
	}
	_ = fs.WalkDir(m.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && d.Name()[0] == '.' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.Name() != "go.mod":
			return nil
		}
		text, err := fs.ReadFile(m.fsys, name)
		for _, form := range requirement.FindAllStringSubmatch(string(text), -1) {
			if form[1] != modulePath && !explained(versions, form[1], form[2]) {
				complaints = append(complaints, fmt.Sprintf("%s: %s %s is in no row of %s, or with another version", name, form[1], form[2], reasonsFile))
			}
		}
		return err
	})
	return complaints
}

// explained reports whether a module has a row with its version, or one above it has one.
func explained(versions map[string]string, module, version string) bool {
	if is, ok := versions[module]; ok {
		return strings.Contains(is, version)
	}
	for above := path.Dir(module); above != "."; above = path.Dir(above) {
		if versions[above] != "" {
			return true
		}
	}
	return false
}
