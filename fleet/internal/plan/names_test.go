package plan

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// invariants are the names of all invariants that the exploration checks.
var invariants = []string{
	"Kept", "Ordered", "Not blind", "Gated", "Used or told", "Questions end", "Prompts end",
	"Rest", "Bounded", "Stopped", "Deleted", "Together",
}

// The package, its tests and the guide name the same invariants.
func TestInvariantNames(t *testing.T) {
	for _, place := range []struct {
		file    string
		pattern string
		repeats bool
	}{
		{"doc.go", `(?m)^//   - ([A-Z][a-z ]+): `, false},
		{"../../../docs/guide/fleet.md", `(?m)^- \*\*([A-Z][a-z ]+):\*\* `, false},
		{"model_test.go", `"([A-Z][a-z ]+): `, true},
		{"events_test.go", `"([A-Z][a-z ]+): `, true},
		{"explore_test.go", `"([A-Z][a-z ]+): `, true},
	} {
		text, err := os.ReadFile(place.file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range regexp.MustCompile(place.pattern).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
			if !slices.Contains(invariants, m[1]) {
				t.Errorf("%s names %q, want one of %q", place.file, m[1], invariants)
			}
		}
		if !place.repeats && !slices.Equal(names, invariants) {
			t.Errorf("%s names %q, want %q", place.file, names, invariants)
		}
		if len(names) == 0 {
			t.Errorf("%s names none", place.file)
		}
	}
}
