package store

import (
	"cmp"
	"context"
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

// RecordViewer is a [Records] that reads several records in one step. Use [Viewer] to
// find out whether a store is one.
type RecordViewer interface {
	// ViewRecords returns the records with the given keys that exist, and those in
	// the given folders: the records whose names begin with that of the folder and a
	// slash. It returns them in the order of kinds and names, as they were at one
	// moment. The keys and folders are of one project, and there are at most
	// [MaxChanges] of them.
	//
	// The moment is not before any change that this store has made, returned or
	// announced to its Notifier. A change that another process has just made may be
	// missing, while GetRecord and Scan would find it: so compare and set
	// what you change, and look again when a change is announced.
	//
	// If the records cannot be read in one step now, because they are too many or a
	// server lags behind, the error is [errors.ErrUnsupported]. Read them one by one
	// then.
	ViewRecords(ctx context.Context, keys, folders []RecordKey) ([]Record, error)

	// Views reports whether ViewRecords returns what GetRecord and Scan of s
	// do. As with Batches of a [RecordBatcher], a store returns true only for
	// itself.
	Views(s Records) bool
}

// MaxViewed and MaxViewedBytes bound the records of a view, and their bytes in all.
// Larger views are scanned.
const (
	MaxViewed      = 1000
	MaxViewedBytes = 16 << 20
)

// Viewer returns a store as a [RecordViewer], nil if it is not one, or only embeds one.
func Viewer(s Records) RecordViewer {
	if v, ok := s.(RecordViewer); ok && v.Views(s) {
		return v
	}
	return nil
}

// CheckView checks the arguments of ViewRecords. Every store calls it before it reads
// anything.
func CheckView(keys, folders []RecordKey) error {
	all := slices.Concat(keys, folders)
	if len(all) == 0 || len(all) > MaxChanges {
		return fmt.Errorf("claude: store: %w: %d keys and folders in one view, not 1 to %d", ErrInvalid, len(all), MaxChanges)
	}
	for _, k := range all {
		if err := k.Check(); err != nil {
			return err
		}
		if k.Project != all[0].Project {
			return fmt.Errorf("claude: store: %w: one view reads records of two projects, %s and %s", ErrInvalid, all[0].Project, k.Project)
		}
	}
	return nil
}

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
