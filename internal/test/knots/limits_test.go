package main

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// module is the import path of the first module.
const module = "github.com/claude-agent-go/claude"

// Limits on what a reader must know at once.
const (
	maxMethods = 60 // of a type; the public ones of a session do not count, each is a request of the CLI
	maxSpread  = 6  // files with methods of one type
)

// ceilings are how many names each package may have that programs can use: those of the
// package, methods, and the methods of interfaces. A name that has been released stays,
// so a higher ceiling is a decision. A lower count lowers its ceiling.
var ceilings = map[string]int{
	".":                        223,
	"acp":                      26,
	"acp/acptest":              17,
	"approval":                 81,
	"claudetest":               92,
	"control":                  107,
	"egress":                   40,
	"fleet":                    147,
	"fleet/natsfleet":          31,
	"fleet/natsfleet/natstest": 11,
	"history":                  47,
	"hook":                     164,
	"host":                     55,
	"message":                  319,
	"otelclaude":               11,
	"permission":               71,
	"permission/policy":        19,
	"sandbox":                  12,
	"serve":                    99,
	"serve/api":                160,
	"serve/client":             38,
	"serve/oidclogin":          12,
	"serve/page":               1,
	"store":                    135,
	"store/redisstore":         18,
	"store/s3store":            19,
	"store/sqlstore":           20,
	"store/storeimpl":          22,
	"store/storetest":          5,
	"telemetry":                7,
	"tool":                     28,
	"workspace":                44,
	"workspace/blobtest":       2,
}

// No type is spread over more files, or has more methods, than a reader can hold, at most
// half of the files of the three largest rooms are tied together, and no package has more
// names than were decided.
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
		public := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(s.name, module), "/"), ".")
		if s.names != ceilings[public] {
			t.Errorf("%s has %d public names, its ceiling is %d", public, s.names, ceilings[public])
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
