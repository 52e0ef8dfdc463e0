//go:build !linux

package durable

import "time"

// Tree makes sure that everything below a folder that may have changed since a time is on the
// disk, or simply everything if the time is zero. Where the system does not tell reliably when
// a file has changed, everything is synced.
func Tree(dir string, since time.Time) error { return walkTree(dir, since) }
