//go:build !linux

package policy_test

import "time"

var started = time.Now()

// threadTime is how long this program has been running.
func threadTime() time.Duration { return time.Since(started) }
