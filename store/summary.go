package store

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
)

// Summary is a session in a list.
type Summary struct {
	Session string // its id
	// Modified is when the session's own transcript was last appended to, by
	// the store's clock.
	Modified time.Time
	// Data is the session's summary for lists, in a form that only package history
	// reads: the result of [Fold] over all entries of the session's own transcript.
	// With it, listing a thousand sessions does not load them. It is nil if the store
	// keeps no summaries.
	Data []byte
}

// Fold adds entries to the data of a summary and returns the new data; nil is
// the data of a session without entries. It is pure: a store calls it when it
// appends, or later, with the entries it has not yet passed to Fold.
// Unreadable data counts as nil.
func Fold(data []byte, entries ...Entry) []byte {
	var f transcript.Fold
	if json.Unmarshal(data, &f) != nil {
		f = transcript.Fold{}
	}
	for _, e := range entries {
		f.Add(e)
	}
	out, err := json.Marshal(&f)
	if err != nil {
		return data // a time beyond the year 9999
	}
	return out
}
