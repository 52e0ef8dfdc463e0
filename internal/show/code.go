package show

import "github.com/claude-agent-go/claude/internal/colour"

// Colour sets the colours of a diff, by the language of its file. What was before the
// change and what is after it are read apart, as they would be in two files, and begin
// anew where lines are left out.
func (d *Diff) Colour(path string) {
	language := colour.ByPath(path)
	if d == nil || language == nil {
		return
	}
	var before, after colour.State
	for i := range d.Lines {
		line := &d.Lines[i]
		var pieces []colour.Piece
		switch line.Class {
		case "gap":
			before, after = 0, 0
			continue
		case "del":
			pieces, before = language.Line(line.Text, before)
		case "add":
			pieces, after = language.Line(line.Text, after)
		default:
			_, before = language.Line(line.Text, before)
			pieces, after = language.Line(line.Text, after)
		}
		line.Code = line.code(pieces)
	}
}

// code returns the pieces of a line, divided where its marks begin and end.
func (l *DiffLine) code(pieces []colour.Piece) (all []CodePart) {
	for _, part := range l.Parts {
		var head []colour.Piece
		head, pieces = colour.Cut(pieces, len(part.Text))
		all = append(all, CodePart{head, part.Mark})
	}
	if len(pieces) > 0 {
		all = append(all, CodePart{Pieces: pieces})
	}
	return all
}
