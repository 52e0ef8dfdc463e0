package store

// Changed is one thing that happened in a project: a record was written or dropped, a
// transcript grew or was deleted, or a lease was given back. The zero value means that
// something may have been missed: look at everything.
type Changed struct {
	Record   RecordKey // zero if it was not a record
	Revision int64     // the record's new revision; 0 if it was dropped
	// Transcript is the zero Key if it was not a transcript.
	Transcript Key
	// Released is the name of a lease that was given back, so that an owner that
	// waits for it need not wait until it expires.
	Released string
	// By is the fence under which it was written, zero if there was none. A process knows
	// its own changes by it.
	By Fence
}

// IsZero reports whether something may have been missed.
func (c Changed) IsZero() bool { return c == Changed{} }
