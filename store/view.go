package store

import (
	"cmp"
	"fmt"
)

// View names records of one project that are read as they were at one moment: those
// with the given keys, and those in the given folders. Together there are at most
// [MaxChanges] keys and folders.
type View struct {
	Keys    []RecordKey
	Folders []Folder
	// Known is content with a moment that is not before anything that this store has
	// written, read or announced. Otherwise the view is linearizable: the moment is not
	// before any change that was made before the call. On a replicated store that costs a
	// request to the leader.
	Known bool
}

// Check returns an error that matches [ErrInvalid], or a [*KeyError], if a view cannot
// be read. Every store calls it before it reads.
func (v View) Check() error {
	if n := len(v.Keys) + len(v.Folders); n == 0 || n > MaxChanges {
		return fmt.Errorf("claude: store: %w: %d keys and folders in one view, not 1 to %d", ErrInvalid, n, MaxChanges)
	}
	project := ""
	same := func(p string) error {
		if project == "" {
			project = p
		}
		if p != project {
			return fmt.Errorf("claude: store: %w: one view reads records of two projects, %s and %s", ErrInvalid, project, p)
		}
		return nil
	}
	for _, k := range v.Keys {
		if err := cmp.Or(k.Check(), same(k.Project)); err != nil {
			return err
		}
	}
	for _, f := range v.Folders {
		if err := cmp.Or(f.Check(), same(f.Project)); err != nil {
			return err
		}
	}
	return nil
}

// MaxViewed and MaxViewedBytes bound the records of a view, and their bytes in all.
// Larger views are scanned.
const (
	MaxViewed      = 1000
	MaxViewedBytes = 16 << 20
)

// project returns the project of a view that was checked.
func (v View) project() string {
	if len(v.Keys) > 0 {
		return v.Keys[0].Project
	}
	return v.Folders[0].Project
}
