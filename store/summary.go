package store

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
)

// Summary is what a list shows for a session, in a form that only package
// history reads.
type Summary struct {
	Session  string
	Modified time.Time // as in List
	// Data is what Fold returned for all entries of the session's own
	// transcript.
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
