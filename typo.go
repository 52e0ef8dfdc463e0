package claude

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
)

// modelProblem explains what is wrong with the name of a model; "" if nothing is.
// Providers and gateways have names of their own, so only a plain word is compared with
// the names that the CLI lists.
func modelProblem(name string, listed []control.ModelInfo) string {
	if strings.ContainsFunc(name, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }) {
		return fmt.Sprintf("%q contains a blank or a control character", name)
	}
	plain := !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) })
	var known []string
	for _, m := range listed {
		known = append(known, m.Value)
	}
	if name == "" || !plain || slices.Contains(known, name) {
		return ""
	}
	if nearest := nearestName(name, known); nearest != "" && edits(strings.ToLower(name), nearest) <= 2 {
		return fmt.Sprintf("%q is not a model that the CLI lists: did you mean %s?", name, nearest)
	}
	return ""
}

// nearestName returns the known name with the smallest edit distance.
func nearestName(name string, known []string) string {
	best, fewest := "", len(name)+1
	for _, k := range known {
		if n := edits(name, k); n < fewest {
			best, fewest = k, n
		}
	}
	return best
}

// edits returns the edit distance: how many characters must be inserted,
// deleted or replaced.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0] // of the row above
		row[0] = i + 1
		for j := range len(b) {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// otherCase returns the built-in tool whose name differs from this one only in
// case, "" if no tool's does.
func otherCase(name string) string {
	for _, known := range permission.BuiltInTools() {
		if name != known && strings.EqualFold(name, known) && !builtIn(name) {
			return known
		}
	}
	return ""
}
