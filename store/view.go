package store

import (
	"cmp"
	"fmt"
	"slices"
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

// SortView puts records into the order of a view, and removes those that are there
// twice because a folder has a record whose key was given too.
func SortView(all []Record) []Record {
	slices.SortFunc(all, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Key.Kind, b.Key.Kind), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return slices.CompactFunc(all, func(a, b Record) bool { return a.Key == b.Key })
}

// FitView puts records into the order of a view, as SortView does. If they are too many
// for one view, or too large, the error is [ErrTooLarge].
func FitView(all []Record) ([]Record, error) {
	all = SortView(all)
	size := 0
	for _, r := range all {
		size += len(r.Value)
	}
	if len(all) > MaxViewed || size > MaxViewedBytes {
		return nil, fmt.Errorf("claude: store: %w: it has more than %d records or %d bytes", ErrTooLarge, MaxViewed, MaxViewedBytes)
	}
	return all, nil
}

// project returns the project of a view that was checked.
func (v View) project() string {
	if len(v.Keys) > 0 {
		return v.Keys[0].Project
	}
	return v.Folders[0].Project
}
