// Package rule has the rules of stores that need none of their types. Package store follows
// them in its own stores, and package storeimpl offers them to those who write others. The
// errors that they match belong to package store, which hands them in.
package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxOwner = 1000
	maxTTL   = 366 * 24 * time.Hour
)

// Term checks the owner of a lease and how long it lasts. The error matches invalid.
func Term(owner string, ttl time.Duration, invalid error) error {
	if owner == "" || len(owner) > maxOwner {
		return fmt.Errorf("claude: store: %w: the owner of a lease has %d bytes, not 1 to %d", invalid, len(owner), maxOwner)
	}
	if ttl < time.Millisecond || ttl > maxTTL {
		return fmt.Errorf("claude: store: %w: a lease of %v is not between a millisecond and a year", invalid, ttl)
	}
	return nil
}

// Layout checks the version of a layout against the one that the program knows. The error
// matches damaged or newer.
func Layout(version string, known int, damaged, newer error) error {
	n, err := strconv.Atoi(strings.TrimSpace(version))
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("claude: store: %w: %.20q is not the version of a layout", damaged, version)
	case n > known:
		return fmt.Errorf("claude: store: the layout %w: it has version %d, and this program knows %d; update the program", newer, n, known)
	}
	return nil
}

// Ordered sorts records by their kinds and names, and leaves each there once.
func Ordered[R any](all []R, key func(R) (kind, name string)) []R {
	compare := func(a, b R) int {
		aKind, aName := key(a)
		bKind, bName := key(b)
		return cmp.Or(cmp.Compare(aKind, bKind), cmp.Compare(aName, bName))
	}
	slices.SortFunc(all, compare)
	return slices.CompactFunc(all, func(a, b R) bool { return compare(a, b) == 0 })
}
