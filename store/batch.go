package store

import (
	"cmp"
	"fmt"
)

// RecordChange is one of several changes that are made at once.
type RecordChange struct {
	Key RecordKey
	// Value is the record's new value. If Drop is true, the record is removed instead.
	Value []byte
	Drop  bool
	// Revision is the one that the change is based on; 0 creates the record.
	Revision int64
	// IfEmpty names a folder that must be empty for the record to be created: no record
	// of the same kind may have this name, a slash and one more part for its name. Records
	// in folders below it do not count. Otherwise nothing is changed, and the error is
	// [ErrConflict]. The folder is looked at before any of the changes is made, and a
	// record whose making has not yet returned may be overlooked. Empty: no condition.
	IfEmpty string
	// Keep writes nothing: the record must have the revision, or must not exist if that
	// is 0, for the other changes to be made. Its new revision is the one that it has.
	Keep bool
}

// MaxChanges is how many changes can be made at once.
const MaxChanges = 100

// CheckChanges checks the arguments of Change. Every store calls it before it
// changes anything.
func CheckChanges(changes []RecordChange, f Fence) error {
	if len(changes) == 0 || len(changes) > MaxChanges {
		return fmt.Errorf("claude: store: %w: %d changes in one batch, not 1 to %d", ErrInvalid, len(changes), MaxChanges)
	}
	seen := make(map[RecordKey]bool, len(changes))
	for _, c := range changes {
		if err := cmp.Or(c.Key.Check(), f.check(c.Key.Project)); err != nil {
			return err
		}
		switch {
		case len(c.Value) > MaxRecord:
			return fmt.Errorf("claude: store: %w: a record of %d bytes is larger than %d", ErrInvalid, len(c.Value), MaxRecord)
		case c.Revision < 0:
			return fmt.Errorf("claude: store: %w: revision %d", ErrInvalid, c.Revision)
		case seen[c.Key]:
			return fmt.Errorf("claude: store: %w: record %v is changed twice in one batch", ErrInvalid, c.Key)
		case c.Key.Project != changes[0].Key.Project:
			return fmt.Errorf("claude: store: %w: one batch changes records of two projects, %s and %s", ErrInvalid, changes[0].Key.Project, c.Key.Project)
		case c.Keep && (c.Drop || len(c.Value) > 0 || c.IfEmpty != ""):
			return fmt.Errorf("claude: store: %w: record %v is kept, and is to be changed", ErrInvalid, c.Key)
		case c.Drop && len(c.Value) > 0:
			return fmt.Errorf("claude: store: %w: record %v is dropped, and has a value", ErrInvalid, c.Key)
		case c.IfEmpty != "" && (c.Drop || c.Revision != 0):
			return fmt.Errorf("claude: store: %w: record %v depends on an empty folder, and is not made", ErrInvalid, c.Key)
		case c.IfEmpty != "":
			if err := checkPath("folder", c.IfEmpty); err != nil {
				return err
			}
		}
		seen[c.Key] = true
	}
	return nil
}
