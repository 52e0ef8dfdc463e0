package inspect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/claudetest"
)

// Filter says which frames are wanted. The zero value wants all; what is set
// must all hold.
type Filter struct {
	// Kinds are kinds, or types or subtypes of the wire.
	Kinds []string
	Dir   claudetest.Dir
	// RequestID is the id of a control request, or its beginning.
	RequestID string
	// Turn is the number of a turn.
	Turn int
	// Text stands somewhere in the frame; case does not count.
	Text string
	// Errors wants frames that are, or tell of, an error: among them requests
	// that nobody answered.
	Errors bool
}

// Keep takes the frames out of the report that are not wanted.
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
	r.Hidden += before - len(r.Frames)
}

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

// is reports whether a word names what the frame is.
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
