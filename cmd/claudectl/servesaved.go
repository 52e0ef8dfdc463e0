package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/workspace"
)

// chunkFolder has what the saved folders of a project consist of, in the directory of the
// store, wherever the folders themselves are.
const chunkFolder = "chunks"

// openSaved returns the provider of folders whose state is saved after each turn. The
// folders belong to this process alone until setup ends.
func openSaved(ctx context.Context, setup *serveSetup, project, root string, logger *slog.Logger) (workspace.Provider, error) {
	if err := private.MkdirAll(root); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(root, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, lockBound) // for a server that is just ending
	defer cancel()
	err = filelock.Lock(waiting, lock)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("another server works in %s: choose another folder with --workspace-dir", root)
	}
	if errors.Is(err, filelock.ErrUnsupported) {
		err = fmt.Errorf("%w: choose a folder on another file system with --workspace-dir, instead of %s", err, root)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	collecting, stop := context.WithCancel(ctx)
	var collector sync.WaitGroup
	end := setup.end
	setup.end = func() {
		stop()
		collector.Wait() // it uses the store, and logs
		end()
		lock.Close()
	}
	saved, err := workspace.NewSnapshots(workspace.SnapshotOptions{
		Root: root, Records: setup.store, Project: project, Logger: logger,
		Blobs: workspace.FileBlobs(filepath.Join(setup.dir, workFolder, project, chunkFolder)),
	})
	if err != nil {
		return nil, err
	}
	collector.Go(func() { collectDaily(collecting, saved, logger) })
	return saved, nil
}

const day = 24 * time.Hour

// collectDaily removes chunks that no folder needs any more, until the server stops.
func collectDaily(ctx context.Context, saved *workspace.Snapshots, logger *slog.Logger) {
	again := time.NewTicker(day)
	defer again.Stop()
	for {
		if _, err := saved.Collect(ctx, day); err != nil && ctx.Err() == nil {
			logger.Warn("what saved folders no longer need was not removed; it is tried again tomorrow", "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}
