package storeimpl

import (
	"cmp"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/internal/rule"
)

// CheckAcquire checks the arguments of Acquire. Every store calls it before it changes
// anything. The error matches [store.ErrInvalid].
func CheckAcquire(project, name, owner string, ttl time.Duration) error {
	return cmp.Or(store.CheckLease(project, name), rule.Term(owner, ttl, store.ErrInvalid))
}

// CheckLayout checks the version that a store has written beside its data, against the one
// that this program knows. A newer one is [store.ErrNewer]: the store then reads and writes
// nothing. Anything but a version is [store.ErrDamaged]. Data without a version has version
// 1.
func CheckLayout(version string, known int) error {
	return rule.Layout(version, known, store.ErrDamaged, store.ErrNewer)
}

// Fold adds entries to the Data of a [store.Summary] and returns the new data; nil is the
// data of a session without entries. It is pure: a store calls it when it appends, or later,
// with the entries it has not yet passed to Fold. Unreadable data counts as nil.
func Fold(data []byte, entries ...store.Entry) []byte { return transcript.FoldInto(data, entries...) }

// NewBatchID makes an id for a [store.Batch].
func NewBatchID() string { return uuid.New() }

// SortView puts records of a project into the order of a view, and removes those that are
// there twice because a folder has a record whose key was given too.
func SortView(all []store.Record) []store.Record {
	return rule.Ordered(all, func(r store.Record) (kind, name string) { return r.Key.Kind, r.Key.Name })
}

// Between returns the bounds of the names in a folder, from behind a name: they come after
// the first and, if it is not empty, before the second.
func Between(f store.Folder, after string) (from, to string) {
	if f.Name == "" {
		return after, ""
	}
	return max(after, f.Name+"/"), f.Name + "0" // which follows the slash
}
