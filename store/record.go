package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"
)

// RecordKey names a record.
type RecordKey struct {
	Project string
	Kind    string // what sort of thing it is, such as "question"
	// Name is a name of the same form as Key.Project, or up to eight of them
	// separated by slashes. Records are ordered by their names, byte by byte.
	Name string
}

// String returns the key in one line.
func (k RecordKey) String() string { return k.Project + "/" + k.Kind + "/" + k.Name }

// Check returns a [*KeyError] if the key is not valid.
func (k RecordKey) Check() error {
	if err := CheckProject(k.Project); err != nil {
		return err
	}
	if err := checkName("kind", k.Kind); err != nil {
		return err
	}
	return checkPath("record", k.Name)
}

// Record is a small value that changes as a whole.
type Record struct {
	Key   RecordKey
	Value []byte
	// Revision differs after every change, and is never 0.
	Revision int64
}

// MaxRecord is how many bytes a record may have.
const MaxRecord = 1 << 20

// Records keeps small values that change together. A change names the revision that it is
// based on, and fails with [ErrConflict] if that is not the current one. With a [Fence], a
// change is refused in the same cases as an append. For one record there are [Get], [Put]
// and [Drop].
type Records interface {
	// View returns the records of a view that exist, in the order of kinds and names, as
	// they were at one moment. If there are more than [MaxViewed], or more than
	// [MaxViewedBytes] bytes, the error is [ErrTooLarge]: scan them.
	View(ctx context.Context, v View) ([]Record, error)

	// Scan yields the records of a folder in the order of their names, from behind a
	// name, which need not exist; "" yields all. A record that changes during the loop
	// is seen as it was before or after the change. Records of other folders are not
	// read.
	Scan(ctx context.Context, f Folder, after string) iter.Seq2[Record, error]

	// Change makes all changes or none, and returns the new revisions in their order: 0
	// for a record that was dropped, the present one for a record that was kept. A
	// revision is never reused for the same name, even if the record was dropped in
	// between. The records are of one project, each is named once, and there are at most
	// [MaxChanges].
	//
	// Making a record that exists, or changing, dropping or keeping one at another
	// revision, is [ErrConflict]; dropping one that does not exist is [ErrNotFound]. These,
	// [ErrLeaseLost], [ErrInvalid], [ErrNewer] and a [*KeyError] mean that none was made.
	// After any other error it is not known: read again, as after a crash.
	Change(ctx context.Context, f Fence, c ...RecordChange) ([]int64, error)

	// Watch yields what anyone changes in a project. The zero [Changed] comes first, when
	// nothing is missed any more, and again whenever something may have been missed: look
	// at everything then. The caller's own changes are among the others, named by their
	// fence. Each comes once; the changes of one record come in order, and the last of
	// several may stand for all. Changes that arrived are in the next view.
	//
	// No writer ever waits for a reader: one that is too slow gets a zero instead. While
	// the store cannot be reached, Watch tries again, and yields a zero when it is back.
	// The loop ends when ctx does, without an error, or with an error that no retry can
	// cure. Leaving it frees everything.
	Watch(ctx context.Context, project string) iter.Seq2[Changed, error]

	// Now returns the time of the store's clock, which all its users share.
	Now(ctx context.Context) (time.Time, error)
}

// Get returns a record as it is now, or [ErrNotFound].
func Get(ctx context.Context, s Records, k RecordKey) (Record, error) {
	all, err := s.View(ctx, View{Keys: []RecordKey{k}})
	if err != nil {
		return Record{}, err
	}
	if len(all) == 0 {
		return Record{}, fmt.Errorf("claude: store: record %v: %w", k, ErrNotFound)
	}
	return all[0], nil
}

// Put changes one record and returns its new revision; see Change of [Records]. With
// revision 0 it creates the record, which must not exist.
func Put(ctx context.Context, s Records, k RecordKey, value []byte, revision int64, f Fence) (int64, error) {
	next, err := s.Change(ctx, f, RecordChange{Key: k, Value: value, Revision: revision})
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// Drop removes one record. If there is none, it returns [ErrNotFound].
func Drop(ctx context.Context, s Records, k RecordKey, revision int64, f Fence) error {
	_, err := s.Change(ctx, f, RecordChange{Key: k, Drop: true, Revision: revision})
	return err
}

// Folder is the records of a kind whose names begin with Name and a slash, or all of the
// kind if Name is empty.
type Folder struct{ Project, Kind, Name string }

// Check returns a [*KeyError] if there cannot be such a folder. Every store calls it
// before it reads anything.
func (f Folder) Check() error {
	if f.Name == "" {
		return cmp.Or(CheckProject(f.Project), checkName("kind", f.Kind))
	}
	return RecordKey(f).Check()
}

// String returns the folder in one line, for errors.
func (f Folder) String() string {
	if f.Name == "" {
		return f.Project + "/" + f.Kind
	}
	return RecordKey(f).String()
}
