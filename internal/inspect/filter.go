package inspect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/claudetest"
)

// Filter selects frames, and with them what rests on them. The zero value selects
// all; every field that is set must match.
type Filter struct {
	// Kinds are kinds, or types or subtypes of the wire.
	Kinds []string
	Dir   claudetest.Dir
	// RequestID is the id of a control request, or its beginning.
	RequestID string
	// Turn is the number of a turn.
	Turn int
	// Text occurs in the frame; case does not matter.
	Text string
	// Errors selects frames that are, or report, an error, including unanswered
	// requests.
	Errors bool
}

// Keep reduces the report to the selected frames, and whatever else in it rests
// on one of them. The totals stay those of the whole recording.
func (r *Report) Keep(want Filter) {
	unanswered := make(map[int]bool)
	for _, x := range r.Exchanges {
		if x.Outcome == Unanswered {
			unanswered[x.AskedLine] = true
		}
	}
	before := len(r.Frames)
	r.Frames = slices.DeleteFunc(r.Frames, func(f *Frame) bool {
		return !want.matches(f) || want.Errors && f.Error == "" && !unanswered[f.Line]
	})
	if r.Hidden += before - len(r.Frames); r.Hidden == 0 {
		return
	}
	kept := make(map[int]bool, len(r.Frames))
	for _, f := range r.Frames {
		kept[f.Line] = true
	}
	r.Exchanges = slices.DeleteFunc(r.Exchanges, func(x *Exchange) bool { return !x.on(kept) })
	r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool { return p.Line != 0 && !kept[p.Line] })
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !kept[f.Line] })
	r.Unknown = slices.DeleteFunc(r.Unknown, func(u Unknown) bool { return !kept[u.Line] })
	r.Turns = slices.DeleteFunc(r.Turns, func(t *Turn) bool {
		t.Items = slices.DeleteFunc(t.Items, func(it *Item) bool { return !it.on(kept) })
		t.Calls = slices.DeleteFunc(t.Calls, func(c *Call) bool { return !kept[c.Line] })
		return len(t.Items) == 0 && !kept[t.ToLine]
	})
}

// on reports whether an item rests on one of these lines.
func (it *Item) on(lines map[int]bool) bool {
	switch {
	case it.Exchange != nil:
		return it.Exchange.on(lines)
	case it.Tool != nil:
		return lines[it.Line] || lines[it.Tool.EndLine] || slices.ContainsFunc(it.Tool.Asked, func(x *Exchange) bool { return x.on(lines) })
	}
	return lines[it.Line]
}

// on reports whether an exchange rests on one of these lines.
func (x *Exchange) on(lines map[int]bool) bool { return lines[x.AskedLine] || lines[x.EndLine] }

func (want *Filter) matches(f *Frame) bool {
	switch {
	case len(want.Kinds) > 0 && !slices.ContainsFunc(want.Kinds, f.is),
		want.Dir != "" && f.Dir != want.Dir,
		want.RequestID != "" && !strings.HasPrefix(f.RequestID, want.RequestID),
		want.Turn != 0 && f.Turn != want.Turn:
		return false
	}
	return want.Text == "" || f.contains(want.Text)
}

// is reports whether a word names the kind of the frame.
func (f *Frame) is(word string) bool {
	return slices.ContainsFunc([]string{string(f.Kind), f.Type, f.Subtype}, func(name string) bool {
		return strings.EqualFold(name, word)
	})
}

func (f *Frame) contains(text string) bool {
	text = strings.ToLower(text)
	return bytes.Contains(bytes.ToLower(f.Msg), []byte(text)) ||
		slices.ContainsFunc([]string{f.Summary, f.Error, f.Text}, func(s string) bool {
			return strings.Contains(strings.ToLower(s), text)
		})
}
