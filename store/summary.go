package store

import "time"

// Summary is a session in a list.
type Summary struct {
	Session string // its id
	// Modified is when the session's own transcript was last appended to, by
	// the store's clock.
	Modified time.Time
	// Data is the session's summary for lists, in a form that only package history
	// reads. A store makes it of all entries of the session's own transcript, by Fold of
	// package storeimpl.
	// With it, listing a thousand sessions does not load them. It is nil if the store
	// keeps no summaries.
	Data []byte
}
