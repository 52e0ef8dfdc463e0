package store

import (
	"fmt"
	"strconv"
	"strings"
)

// CheckLayout checks the version that a store has written beside its data, against the
// one that this program knows. A newer one is [ErrNewer]: the store then reads and writes
// nothing. Anything but a version is [ErrDamaged]. Data without a version is of version 1.
func CheckLayout(version string, known int) error {
	n, err := strconv.Atoi(strings.TrimSpace(version))
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("claude: store: %w: %.20q is not the version of a layout", ErrDamaged, version)
	case n > known:
		return fmt.Errorf("claude: store: the layout %w: it has version %d, and this program knows %d; update the program", ErrNewer, n, known)
	}
	return nil
}
