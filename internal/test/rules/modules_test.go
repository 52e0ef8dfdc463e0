package rules

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

func moduleRules() []rule {
	nested := func(dir string) *fstest.MapFile { return source("module " + modulePath + "/" + dir) }
	return []rule{{
		name:  "other modules use no internals",
		check: checkInternals,
		bad: fstest.MapFS{
			"a/go.mod":              nested("a"),
			"a/a.go":                source("package a", `import _ "`+modulePath+`/store"`, `import _ "`+modulePath+`/internal/uuid"`),
			"a/a_test.go":           source("package a", `import _ "`+modulePath+`/internal/test/long"`),
			"a/sub/s.go":            source("package sub", `import _ "`+modulePath+`/a/internal/near"`),
			"a/internal/near/n.go":  source("package near", `import _ "`+modulePath+`/a/internal/far"`),
			"a/internal/far/f.go":   source("package far", `import _ "`+modulePath+`/serve/internal/agui"`),
			"a/internal/bench/m.go": source("package main", `import _ "`+modulePath+`/internal/proc"`),
			"a/b/go.mod":            nested("a/b"),
			"a/b/b.go":              source("package b", `import _ "`+modulePath+`/a/internal/near"`),
			"other/internal/o.go":   source("package o", `import _ "`+modulePath+`/internal/proc"`),
		},
		want: []string{
			"a/a.go: the module a imports " + modulePath + "/internal/uuid",
			"a/internal/far/f.go: the module a imports " + modulePath + "/serve/internal/agui",
		},
	}}
}

// checkInternals keeps the packages that other modules offer from using the internals
// of this one: programs may combine versions of the two. Tests, and programs for
// work on the repository, are built with the neighbouring source and may use them.
func checkInternals(m *module) (complaints []string) {
	all, err := m.nested()
	if err != nil {
		return []string{err.Error()}
	}
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		complaints = append(complaints, internalsIn(dir, all[dir])...)
	}
	return complaints
}

// internalsIn follows the imports of a module's packages that others can import.
func internalsIn(dir string, m *module) (complaints []string) {
	var next []string
	for _, f := range m.sources() {
		if !slices.Contains(strings.Split(f.dir(), "/"), "internal") {
			next = append(next, f.dir())
		}
	}
	seen := make(map[string]bool)
	for len(next) > 0 {
		pkg := next[0]
		next = next[1:]
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		for _, f := range m.sources() {
			if f.dir() != pkg {
				continue
			}
			for _, spec := range f.ast.Imports {
				name := importPath(spec)
				if own, ok := strings.CutPrefix(name, path.Join(modulePath, dir)+"/"); ok {
					next = append(next, own)
					continue
				}
				if to, ok := ownPackage(name); ok && slices.Contains(strings.Split(to, "/"), "internal") {
					complaints = append(complaints, fmt.Sprintf("%s: the module %s imports %s: make it public, or copy the little that is needed", path.Join(dir, f.path), dir, name))
				}
			}
		}
	}
	return complaints
}
