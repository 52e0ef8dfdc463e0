package inspect

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/edit"
)

// diffLine is a line of a diff: kept, taken away or added.
type diffLine struct{ Sign, Class, Text string }

// edits returns what a tool call changes in a file as a diff, nil for other
// tools. most is how many bytes of each side are looked at.
func edits(name string, input json.RawMessage, most int) []diffLine {
	call := edit.Parse(name, input)
	if call == nil {
		return nil
	}
	classes := map[byte]string{'-': "del", '+': "add"}
	var lines []diffLine
	for i, e := range call.Changes {
		if i > 0 {
			lines = append(lines, diffLine{"", "gap", "⋯"})
		}
		for _, line := range edit.Diff(head(e.Old, most), head(e.New, most)) {
			lines = append(lines, diffLine{string(line.Sign), classes[line.Sign], line.Text})
		}
		if len(e.Old) > most || len(e.New) > most {
			return append(lines, diffLine{"", "gap", "⋯ the rest is in the frame"})
		}
	}
	return lines
}
