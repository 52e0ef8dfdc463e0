package inspect

import (
	"cmp"
	"io"
	"slices"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
)

// Survey lists everything in many recordings that this build does not know. It
// shows where the CLI has grown, and nothing of the conversations: it has names,
// no values.
type Survey struct {
	// Recordings and Lines are how many were read.
	Recordings int `json:"recordings"`
	Lines      int `json:"lines"`
	// Unknown are types and members of the CLI that no decoder knows.
	Unknown []Find `json:"unknown"`
	// Changed are members of the CLI that are not the same when a message is
	// decoded and encoded again.
	Changed []Find `json:"changed"`
	// Sent are unknown names in what was sent to the CLI: the program that was
	// recorded may know more than this module.
	Sent []Find `json:"sent"`
}

// Find is a name that was found in recordings.
type Find struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	// Source and Line are where it was found first.
	Source string `json:"source"`
	Line   int    `json:"line"`
}

// NewSurvey returns an empty survey.
func NewSurvey() *Survey {
	return &Survey{Unknown: []Find{}, Changed: []Find{}, Sent: []Find{}}
}

// Clean reports whether everything that the CLI said is known and kept.
func (s *Survey) Clean() bool { return len(s.Unknown) == 0 && len(s.Changed) == 0 }

// Read adds a recording. It fails in the same cases as the function [Read].
func (s *Survey) Read(r io.Reader, source string) error {
	// No value leaves the survey, so that secrets need not be looked for.
	rep, err := Read(r, &Options{Source: source, ShowSecrets: true, Compare: true})
	if err != nil {
		return err
	}
	s.Recordings++
	s.Lines += rep.Summary.Lines
	for _, u := range rep.Unknown {
		to := &s.Unknown
		if u.From != claudetest.DirOut {
			to = &s.Sent
		}
		*to = found(*to, u, source)
	}
	for _, u := range rep.Changed {
		s.Changed = found(s.Changed, u, source)
	}
	return nil
}

// found adds a name to a list, which is in order of the names.
func found(list []Find, u Unknown, source string) []Find {
	i, ok := slices.BinarySearchFunc(list, u.Name, func(f Find, name string) int { return cmp.Compare(f.Name, name) })
	if ok {
		list[i].Count += u.Count
		return list
	}
	return slices.Insert(list, i, Find{u.Name, u.Count, source, u.Line})
}

// WriteJSON writes the survey as one line of JSON.
func (s *Survey) WriteJSON(w io.Writer) error {
	data, err := jsonx.Marshal(s)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// WriteText writes the survey for people.
func (s *Survey) WriteText(w io.Writer, color bool) error {
	p := &printer{w: w, color: color}
	p.printf("%s, %s\n", show.Plural(s.Recordings, "recording"), show.Plural(s.Lines, "line"))
	if s.Clean() {
		p.printf("%s\n", p.paint(green, "everything that the CLI says in them is known and kept"))
	}
	for _, list := range []struct {
		title string
		finds []Find
	}{
		{"names of the CLI that this build does not know", s.Unknown},
		{"members that change when they are written again", s.Changed},
		{"unknown names that were sent to the CLI", s.Sent},
	} {
		if len(list.finds) > 0 {
			p.heading(list.title)
		}
		for _, f := range list.finds {
			p.printf("  %6d× %s  %s\n", f.Count, p.line(f.Name), p.paint(dim, p.line(f.Source)+":"+number(f.Line)))
		}
	}
	return nil
}
