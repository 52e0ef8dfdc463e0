package show

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/colour"
	"github.com/claude-agent-go/claude/internal/edit"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// Diff is the change of a file.
type Diff struct {
	Lines []DiffLine
	// Added and Removed count lines.
	Added, Removed int
	Cut            bool // not all of it is here
}

// DiffLine is a line of a diff: kept, taken away or added.
type DiffLine struct {
	Sign, Class string
	Number      int // of the line, in the file after the change; 0 if unknown
	Text        string
	Parts       []DiffPart // of the text, if what differs from the line that it replaces is marked
	// Code is the text in colours, with its marks, see [Diff.Colour]; empty: it has none.
	Code []CodePart `json:"-"`
}

// CodePart is a part of a line in colours.
type CodePart struct {
	Pieces []colour.Piece
	Mark   bool // it differs
}

// DiffPart is a part of a line.
type DiffPart struct {
	Text string
	Mark bool // it differs
}

// Edit returns what a tool call changes in a file, nil for other tools. most is
// how many bytes of each side are looked at.
func Edit(tool string, input json.RawMessage, most int) *Diff {
	call := edit.Parse(tool, input)
	if call == nil {
		return nil
	}
	d := new(Diff)
	for i, e := range call.Changes {
		if i > 0 {
			d.gap("⋯")
		}
		for _, line := range edit.Diff(Head(e.Old, most), Head(e.New, most)) {
			d.add(line.Sign, line.Text, 0)
		}
		if len(e.Old) > most || len(e.New) > most {
			d.cut()
			break
		}
	}
	return d.marked()
}

// Between returns how two texts differ.
func Between(a, b string) *Diff {
	d := new(Diff)
	for _, line := range edit.Diff(a, b) {
		d.add(line.Sign, line.Text, 0)
	}
	return d.marked()
}

// maxDiff is how many bytes of a unified diff are shown.
const maxDiff = 128 << 10

// Unified reads a unified diff of one file, nil if the text is not one.
func Unified(text string) *Diff {
	d := new(Diff)
	var before, after, size int
	inHunk := false
	for line := range strings.Lines(text) {
		if size += len(line); size > maxDiff && len(d.Lines) > 0 || len(line) > maxDiff {
			d.cut()
			break
		}
		line = strings.TrimSuffix(line, "\n")
		switch old, now, ok := hunkStart(line); {
		case ok:
			if len(d.Lines) > 0 {
				d.gap("⋯")
			}
			before, after, inHunk = old, now, true
		case line == "" || !inHunk: // in front of the first hunk
		case line[0] == '-':
			d.add('-', line[1:], before)
			before++
		case line[0] == '+':
			d.add('+', line[1:], after)
			after++
		case line[0] == ' ':
			d.add(' ', line[1:], after)
			before, after = before+1, after+1
		case line == edit.CutNote:
			d.cut()
		default: // that a last line has no line feed
			d.gap(strings.TrimPrefix(line, `\ `))
		}
	}
	if len(d.Lines) == 0 {
		return nil
	}
	return d.marked()
}

// hunkStart reads the line in front of a hunk, "@@ -1,2 +3,4 @@", in which a count of one may
// be left out.
func hunkStart(line string) (before, after int, ok bool) {
	rest, ok1 := strings.CutPrefix(line, "@@ -")
	old, rest, ok2 := strings.Cut(rest, " +")
	now, _, ok3 := strings.Cut(rest, " @@")
	if !ok1 || !ok2 || !ok3 {
		return 0, 0, false
	}
	old, _, _ = strings.Cut(old, ",")
	now, _, _ = strings.Cut(now, ",")
	before, err1 := strconv.Atoi(old)
	after, err2 := strconv.Atoi(now)
	return before, after, err1 == nil && err2 == nil
}

// Patch reads the structuredPatch that the CLI reports of an edit that was made,
// nil if there is none.
func Patch(result json.RawMessage) *Diff {
	var hunks []struct {
		OldStart int      `json:"oldStart"`
		NewStart int      `json:"newStart"`
		Lines    []string `json:"lines"`
	}
	if jsonx.Unmarshal(jsonx.Member(result, "structuredPatch"), &hunks) != nil || len(hunks) == 0 {
		return nil
	}
	var text strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&text, "@@ -%d,0 +%d,0 @@\n", h.OldStart, h.NewStart)
		for _, line := range h.Lines {
			text.WriteString(strings.ReplaceAll(line, "\n", " ") + "\n")
		}
	}
	return Unified(text.String())
}

func (d *Diff) add(sign byte, text string, number int) {
	class := ""
	switch sign {
	case '-':
		d.Removed++
		class = "del"
	case '+':
		d.Added++
		class = "add"
	}
	d.Lines = append(d.Lines, DiffLine{Sign: string(sign), Class: class, Number: number, Text: terminal.Clean(text)})
}

func (d *Diff) gap(text string) {
	d.Lines = append(d.Lines, DiffLine{Class: "gap", Text: terminal.Clean(text)})
}

// cut notes that the rest is missing.
func (d *Diff) cut() {
	d.gap("⋯ the rest is not shown")
	d.Cut = true
}

// marked marks what differs in lines that replace as many others.
func (d *Diff) marked() *Diff {
	lines := d.Lines
	for i := 0; i < len(lines); {
		removed := run(lines[i:], "del")
		added := run(lines[i+removed:], "add")
		if removed > 0 && removed == added {
			for j := range removed {
				mark(&lines[i+j], &lines[i+removed+j])
			}
		}
		i += max(removed+added, 1)
	}
	return d
}

// run counts the lines of a class at the beginning.
func run(lines []DiffLine, class string) int {
	n := 0
	for n < len(lines) && lines[n].Class == class {
		n++
	}
	return n
}
