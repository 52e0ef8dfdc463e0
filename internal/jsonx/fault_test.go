package jsonx_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// A fault of a file is found at its place.
func TestFault(t *testing.T) {
	for text, want := range map[string]struct {
		before string // what comes before the fault, as far as lines count
		says   string
	}{
		"{}": {},
		" {\"a\": [1, {\"b\": 2}, {\"b\": 3}]}\n": {},
		"":               {"", "not complete"},
		"{\n":            {"{\n", "not complete"},
		"{\n\"a\": [\n}": {"{\n\"a\": [\n", "'}'"},
		"{}\n{}":         {"{}\n", "follows"},
		"{\"a\": 1,\n\"b\": {\"c\": 1,\n\"c\": 2}}": {"{\"a\": 1,\n\"b\": {\"c\": 1,\n", `"c" occurs twice`},
		"{\n\"a\": \"\xff\"}":                       {"{\n", "UTF-8"},
	} {
		at, err := jsonx.Fault([]byte(text))
		if want.says == "" {
			if err != nil {
				t.Errorf("%q: %d, %v", text, at, err)
			}
			continue
		}
		lines := strings.Count(text[:min(at, len(text))], "\n")
		if err == nil || !strings.Contains(err.Error(), want.says) || lines != strings.Count(want.before, "\n") {
			t.Errorf("%q: at %d, %v, want %q in line %d", text, at, err, want.says, 1+strings.Count(want.before, "\n"))
		}
	}
}
