package workspace

import (
	"context"
	"fmt"
	"time"
)

// syncs are the syncs under way. A sync cannot be given up: on a disk that hangs, each keeps
// a thread for as long as it hangs, so there is a bound.
type syncs chan struct{}

// maxSyncs is how many may be under way at once.
const maxSyncs = 16

// wait runs a sync and waits for it, but not longer than the context. Data that may not be
// on the disk is an error.
func (s syncs) wait(ctx context.Context, path string, sync func(path string) error) error {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("sync %s: others wait for the disk: %w", path, context.Cause(ctx))
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-s }()
		done <- sync(path)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("sync %s: the disk has not replied: %w", path, context.Cause(ctx))
	}
}

// onDisk waits until what may have changed in a folder since a time is on the disk. The zero
// time stands for everything, because the leftovers of a killed process may be old.
func (s *Snapshots) onDisk(ctx context.Context, path string, since time.Time) error {
	return s.syncs.wait(ctx, path, func(path string) error { return s.sync(path, since) })
}
