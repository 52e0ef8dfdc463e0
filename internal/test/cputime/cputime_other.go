//go:build !unix && !windows

package cputime

import "time"

// Used is not known here.
func Used() time.Duration { return 0 }
