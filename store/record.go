package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
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

// Records is a [Store] that keeps records. A change names the revision that it
// is based on, and fails with [ErrConflict] if that is not the current one.
// With a [Fence], a change is refused in the same cases as an append.
type Records interface {
	// GetRecord returns a record, or [ErrNotFound].
	GetRecord(ctx context.Context, k RecordKey) (Record, error)

	// PutRecord changes a record and returns its new revision. With revision 0
	// it creates the record, which must not exist. A revision is never reused
	// for the same name, even if the record was dropped in between.
	PutRecord(ctx context.Context, k RecordKey, value []byte, revision int64, f Fence) (int64, error)

	// DropRecord removes a record. If there is none, it returns [ErrNotFound].
	DropRecord(ctx context.Context, k RecordKey, revision int64, f Fence) error

	// ScanRecords yields the records of a kind in the order of their names,
	// starting after the given name; "" yields all. A record that changes
	// during the loop is seen as it was before or after the change.
	ScanRecords(ctx context.Context, project, kind, after string) iter.Seq2[Record, error]

	// Now returns the time of the store's clock, which all its users share.
	Now(ctx context.Context) (time.Time, error)
}

// FolderScanner is a [Records] that finds the records of a folder without reading
// the others.
type FolderScanner interface {
	// ScanBelow yields the records of a kind whose names begin with the folder
	// and a slash, in the order of their names, as ScanRecords does.
	ScanBelow(ctx context.Context, project, kind, folder string) iter.Seq2[Record, error]

	// ScansBelow reports whether ScanBelow yields what ScanRecords of s does. As
	// with Batches of a [RecordBatcher], a store says yes only to itself: one that
	// embeds it may have a ScanRecords of its own.
	ScansBelow(s Records) bool
}

// ScanBelow yields the records below a folder, from a [FolderScanner] or from any
// other store, also one that only embeds a FolderScanner.
func ScanBelow(ctx context.Context, s Records, project, kind, folder string) iter.Seq2[Record, error] {
	if f, ok := s.(FolderScanner); ok && f.ScansBelow(s) {
		return f.ScanBelow(ctx, project, kind, folder)
	}
	return func(yield func(Record, error) bool) {
		if err := (RecordKey{project, kind, folder}).Check(); err != nil {
			yield(Record{}, err)
			return
		}
		for r, err := range s.ScanRecords(ctx, project, kind, folder+"/") {
			if err == nil && !strings.HasPrefix(r.Key.Name, folder+"/") || !yield(r, err) {
				return
			}
		}
	}
}

// Change says what was changed in a store.
type Change struct {
	Record     RecordKey // zero if it was a transcript
	Dropped    bool      // the record was removed
	Transcript Key       // zero if it was a record
	// Lease is the name of the lease under which it was written, if any, or that was
	// given back: then Released is true, and there is nothing else. A store that does
	// not know the lease of a record leaves it empty.
	Lease    string
	Token    int64 // of the lease under which a record was written
	Released bool
}

// Notifier is a [Store] that says what was changed, by any process.
type Notifier interface {
	// Notify calls do soon after each change of a project, once for each and one
	// call at a time, until stop is called. Those of the caller are among them.
	// While the store cannot be reached, changes are not
	// reported, so also look for them from time to time. A zero Change means
	// that some may have been missed, and will not be reported. ctx bounds Notify itself.
	Notify(ctx context.Context, project string, do func(Change)) (stop func(), err error)
}

// CheckPut checks the arguments of PutRecord. Every store calls it before it
// changes anything.
func CheckPut(k RecordKey, value []byte, revision int64, f Fence) error {
	if len(value) > MaxRecord {
		return fmt.Errorf("claude: store: %w: a record of %d bytes is larger than %d", ErrInvalid, len(value), MaxRecord)
	}
	return CheckDrop(k, revision, f)
}

// CheckDrop checks the arguments of DropRecord.
func CheckDrop(k RecordKey, revision int64, f Fence) error {
	if err := k.Check(); err != nil {
		return err
	}
	if revision < 0 {
		return fmt.Errorf("claude: store: %w: revision %d", ErrInvalid, revision)
	}
	return f.check(k.Project)
}

// CheckScan checks the arguments of ScanRecords.
func CheckScan(project, kind string) error {
	if err := CheckProject(project); err != nil {
		return err
	}
	return checkName("kind", kind)
}
