package store

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// RecordKey names a record.
type RecordKey struct {
	Project string
	Kind    string // what sort of thing it is, such as "question"
	// Name is a name as in Key.Project, or up to eight of them with slashes
	// between. Records are in the order of their names, byte by byte.
	Name string
}

// String returns the key in one line.
func (k RecordKey) String() string { return k.Project + "/" + k.Kind + "/" + k.Name }

// Check returns a [*KeyError] if the key is not one.
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
	// Revision is another one with every change, and never 0.
	Revision int64
}

// MaxRecord is how many bytes a record may have.
const MaxRecord = 1 << 20

// Records is a [Store] that keeps records. A change names the revision that it
// is based on, and comes to nothing with [ErrConflict] if that is not the
// current one. With a [Fence] it is also refused as an append would be.
type Records interface {
	// GetRecord returns a record, or [ErrNotFound].
	GetRecord(ctx context.Context, k RecordKey) (Record, error)

	// PutRecord changes a record and returns its new revision. With revision 0
	// it makes one, which must not exist. A revision is never used again for
	// the same name, also if the record was dropped in between.
	PutRecord(ctx context.Context, k RecordKey, value []byte, revision int64, f Fence) (int64, error)

	// DropRecord removes a record. One that is not there is [ErrNotFound].
	DropRecord(ctx context.Context, k RecordKey, revision int64, f Fence) error

	// ScanRecords yields the records of a kind in the order of their names,
	// those whose names come after the given one; "" yields all. Records that
	// change during the loop are seen before or after.
	ScanRecords(ctx context.Context, project, kind, after string) iter.Seq2[Record, error]

	// Now returns the time of the store's clock, the same for all who use it.
	Now(ctx context.Context) (time.Time, error)
}

// CheckPut checks what PutRecord is called with. Every store calls it before it
// touches anything.
func CheckPut(k RecordKey, value []byte, revision int64, f Fence) error {
	if len(value) > MaxRecord {
		return fmt.Errorf("claude: store: %w: a record of %d bytes is larger than %d", ErrInvalid, len(value), MaxRecord)
	}
	return CheckDrop(k, revision, f)
}

// CheckDrop checks what DropRecord is called with.
func CheckDrop(k RecordKey, revision int64, f Fence) error {
	if err := k.Check(); err != nil {
		return err
	}
	if revision < 0 {
		return fmt.Errorf("claude: store: %w: revision %d", ErrInvalid, revision)
	}
	return f.check(k.Project)
}

// CheckScan checks what ScanRecords is called with.
func CheckScan(project, kind string) error {
	if err := CheckProject(project); err != nil {
		return err
	}
	return checkName("kind", kind)
}
