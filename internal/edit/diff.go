package edit

import (
	"fmt"
	"slices"
	"strings"
)

// Line is a line of a diff.
type Line struct {
	Sign byte // ' ' for a line that stays, '-' for one that goes, '+' for a new one
	Text string
}

// maxWork bounds the work for one diff: lines before times lines after.
const maxWork = 1 << 20

// Diff compares two texts line by line, by their longest common subsequence. If the
// texts differ too much, all of the one is replaced by the other.
func Diff(before, after string) []Line { return diff(lines(before), lines(after)) }

func diff(a, b []string) []Line {
	var out []Line
	add := func(sign byte, lines []string) {
		for _, line := range lines {
			out = append(out, Line{sign, line})
		}
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	add(' ', a[:same])
	a, b = a[same:], b[same:]
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	tail := a[len(a)-end:]
	a, b = a[:len(a)-end], b[:len(b)-end]
	if len(a)*len(b) > maxWork {
		add('-', a)
		add('+', b)
		add(' ', tail)
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
			add(' ', a[:1])
			a, b = a[1:], b[1:]
		case len(b) == 0 || len(a) > 0 && length[i+1][j] >= length[i][j+1]:
			add('-', a[:1])
			a = a[1:]
		default:
			add('+', b[:1])
			b = b[1:]
		}
	}
	add(' ', tail)
	return out
}

// lines splits a text into its lines; an empty text has none.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// context is how many lines a unified diff shows around a change.
const context = 3

// noNewline marks a last line without a line feed in a unified diff.
const noNewline = "\n\\ No newline at end of file"

// CutNote is the last line of a unified diff that was cut. No line of a whole one begins
// like it.
const CutNote = "… the rest is not shown"

// Unified returns the difference between two texts as a unified diff, "" if
// there is none. A diff of more than most bytes is cut after a whole line, and
// its last line notes the cut.
func Unified(path, before, after string, most int) string {
	all := diff(unifiedLines(before), unifiedLines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", path, path)
	header := b.Len()
	for _, h := range hunks(all) {
		h.write(&b, all)
		if b.Len() > most {
			break
		}
	}
	switch {
	case b.Len() == header:
		return ""
	case b.Len() <= most:
		return b.String()
	}
	text := b.String()[:max(most, 0)]
	return text[:strings.LastIndexByte(text, '\n')+1] + CutNote + "\n"
}

func unifiedLines(text string) []string {
	out := lines(text)
	if len(out) > 0 && !strings.HasSuffix(text, "\n") {
		out[len(out)-1] += noNewline
	}
	return out
}

// hunk is a part of a diff with the lines around it.
type hunk struct {
	begin, end int    // in the diff
	from       [2]int // how many lines of either text come before it
}

// hunks finds the parts of a diff that show a change.
func hunks(all []Line) []hunk {
	var out []hunk
	from := make([][2]int, len(all)+1) // lines of either text before each line
	for i, line := range all {
		from[i+1] = from[i]
		if line.Sign != '+' {
			from[i+1][0]++
		}
		if line.Sign != '-' {
			from[i+1][1]++
		}
		if line.Sign == ' ' {
			continue
		}
		begin, end := max(i-context, 0), min(i+context+1, len(all))
		if n := len(out); n > 0 && begin <= out[n-1].end {
			out[n-1].end = end
			continue
		}
		out = append(out, hunk{begin, end, from[begin]})
	}
	return out
}

func (h hunk) write(b *strings.Builder, all []Line) {
	var count [2]int
	for _, line := range all[h.begin:h.end] {
		if line.Sign != '+' {
			count[0]++
		}
		if line.Sign != '-' {
			count[1]++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", place(h.from[0], count[0]), place(h.from[1], count[1]))
	for _, line := range all[h.begin:h.end] {
		b.WriteByte(line.Sign)
		b.WriteString(line.Text)
		b.WriteByte('\n')
	}
}

// place is where a hunk is in a text. One without lines stands after the line
// that it names.
func place(before, count int) string {
	if count > 0 {
		before++
	}
	return fmt.Sprintf("%d,%d", before, count)
}
