package inspect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// diffLine is a line of a diff: kept, taken away or added.
type diffLine struct{ Sign, Class, Text string }

// diffWork bounds the work for one diff: lines before times lines after.
const diffWork = 1 << 20

// edits returns what a tool call changes in a file as a diff, nil for other
// tools. most is how many bytes of each side are looked at.
func edits(name string, input json.RawMessage, most int) []diffLine {
	type edit struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	}
	var in struct {
		edit
		Edits   []edit `json:"edits"`
		Content string `json:"content"`
		Source  string `json:"new_source"`
	}
	if jsonx.Unmarshal(input, &in) != nil {
		return nil
	}
	var all []edit
	switch name {
	case "Edit":
		all = []edit{in.edit}
	case "MultiEdit":
		all = in.Edits
	case "Write":
		all = []edit{{New: in.Content}}
	case "NotebookEdit":
		all = []edit{{New: in.Source}}
	}
	var lines []diffLine
	for i, e := range all {
		if i > 0 {
			lines = append(lines, diffLine{"", "gap", "⋯"})
		}
		lines = append(lines, diff(head(e.Old, most), head(e.New, most))...)
		if len(e.Old) > most || len(e.New) > most {
			return append(lines, diffLine{"", "gap", "⋯ the rest is in the frame"})
		}
	}
	return lines
}

// diff compares two texts line by line, by their longest common subsequence.
func diff(before, after string) []diffLine {
	a, b := textLines(before), textLines(after)
	var out []diffLine
	add := func(sign, class string, lines []string) {
		for _, line := range lines {
			out = append(out, diffLine{sign, class, line})
		}
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	add(" ", "", a[:same])
	a, b = a[same:], b[same:]
	if len(a)*len(b) > diffWork {
		add("-", "del", a)
		add("+", "add", b)
		return out
	}
	// length[i][j] is the length of what a[i:] and b[j:] have in common.
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	for len(a) > 0 || len(b) > 0 {
		i, j := len(length)-1-len(a), len(length[0])-1-len(b)
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			add(" ", "", a[:1])
			a, b = a[1:], b[1:]
		case len(b) == 0 || len(a) > 0 && length[i+1][j] >= length[i][j+1]:
			add("-", "del", a[:1])
			a = a[1:]
		default:
			add("+", "add", b[:1])
			b = b[1:]
		}
	}
	return out
}

// textLines splits a text into its lines; an empty text has none.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
