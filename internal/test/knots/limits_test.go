package main

import (
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// Limits on what a reader must know at once.
const (
	maxMethods = 60 // of a type; the public ones of a session do not count, each is a request of the CLI
	maxSpread  = 6  // files with methods of one type
)

// No type is spread over more files, or has more methods, than a reader can hold, and
// at most half of the files of the three largest rooms are tied together.
func TestLimits(t *testing.T) {
	long.Test(t, "type-checks every module")
	root := filepath.Join("..", "..", "..")
	modules, err := moduleDirs(root)
	if err != nil {
		t.Fatal(err)
	}
	var shapes []shape
	for _, dir := range modules {
		measured, err := measure(t.Context(), dir, []string{"./..."})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, measured...)
	}
	if len(shapes) < 80 {
		t.Fatalf("only %d packages were measured", len(shapes))
	}
	untied := []string{"fleet", "serve", "natsfleet"}
	for _, s := range shapes {
		if s.testing {
			continue
		}
		for _, m := range s.types {
			count := m.count
			if m.name == "claude.Session" {
				count -= m.public
			}
			if count > maxMethods || m.files > maxSpread {
				t.Errorf("%s has %d methods in %d files, want at most %d in %d", m.name, m.count, m.files, maxMethods, maxSpread)
			}
		}
		name := path.Base(s.name)
		if at := slices.Index(untied, name); at >= 0 && !s.inside {
			untied = slices.Delete(untied, at, at+1)
			if 2*len(s.knot) > s.files {
				t.Errorf("%d of the %d files of %s are tied together: %v", len(s.knot), s.files, name, s.knot)
			}
		}
	}
	if len(untied) > 0 {
		t.Errorf("%v were not measured", untied)
	}
}
