package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/durable"
	"github.com/claude-agent-go/claude/internal/private"
)

// restore puts a snapshot in place of the folder: it fills a fresh one, and renames.
func (d *snapshotDir) restore(ctx context.Context, h head, revision int64) error {
	if err := d.replace(ctx, h, revision); err != nil {
		return fmt.Errorf("claude: workspace: restore %q: %w", d.key, named(err))
	}
	return nil
}

func (d *snapshotDir) replace(ctx context.Context, h head, revision int64) error {
	began := time.Now()
	entries, err := d.s.manifest(ctx, h)
	if err != nil {
		return err
	}
	var state *gitState
	if h.Git {
		if entries, state, err = d.s.splitGit(ctx, entries); err == nil {
			err = d.tree.prepare(ctx, state, d.index.Git, d.s)
		}
		if err != nil {
			return filled(err, d.tree.w)
		}
	}
	text, err := encodeManifest(entries)
	if err != nil {
		return err
	}
	fresh, old := d.beside(freshly+rand.Text()), d.beside(aside+rand.Text())
	unsaved := d.unsaved(ctx, digest(text))
	if unsaved {
		old = d.beside(kept + time.Now().UTC().Format("20060102T150405Z-") + rand.Text())
	}
	if err := d.s.do("make a fresh folder", func() error { return private.Mkdir(fresh) }); err != nil {
		return err
	}
	if state != nil {
		err = d.tree.plant(ctx, fresh, state, d.s)
	}
	var x index
	if err == nil {
		x, err = d.fill(ctx, fresh, entries, state)
	}
	if err == nil {
		err = d.s.do("sync the fresh folder", func() error { return d.s.onDisk(ctx, fresh, time.Time{}) })
	}
	if err == nil {
		err = d.s.step("move the old folder away")
	}
	if err == nil {
		if err = os.Rename(d.path, old); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && unsaved {
		d.s.Logger.Error("a folder has changes that were not saved before another machine saved; they are kept beside it", "conversation", d.key, "path", old)
	}
	if err == nil {
		err = d.s.do("put the fresh folder in place", func() error { return os.Rename(fresh, d.path) })
	}
	if err == nil { // the index below must not be on disk before the folder is
		err = d.s.syncs.wait(ctx, filepath.Dir(d.path), durable.Dir)
	}
	if err == nil && state != nil {
		err = d.tree.adopt(ctx, fresh, state, d.s)
	}
	if err != nil {
		if state != nil {
			err = filled(err, d.tree.w)
		}
		_ = removeAll(fresh)
		if state != nil {
			d.tree.w.dropFresh(d.path)
		}
		return err
	}
	x.Revision, x.By, x.Manifest, x.Git, x.Synced = revision, h.By, digest(text), state, began.UnixNano()
	d.writeIndex(x)
	if !unsaved && d.s.step("remove the old folder") == nil {
		_ = removeAll(old) // or the next Open does
	}
	return nil
}

// unsaved reports whether the folder has something that no snapshot has: it is neither as
// the index has it, nor as it will be restored. A folder that cannot be read counts.
func (d *snapshotDir) unsaved(ctx context.Context, restored string) bool {
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	now, err := d.survey(ctx, new(putter))
	if err != nil || len(now.unread) > 0 {
		return true
	}
	return len(now.entries) > 0 && now.index.Manifest != d.index.Manifest && now.index.Manifest != restored
}

// fill writes the files of a snapshot into an empty folder. state is that of a worktree.
func (d *snapshotDir) fill(ctx context.Context, path string, entries []entry, state *gitState) (index, error) {
	x := index{Files: make(map[string]indexedFile)}
	root, err := os.OpenRoot(path)
	if err != nil {
		return x, err
	}
	defer root.Close()
	objects, err := d.tree.reader(ctx, entries)
	if err != nil {
		return x, err
	}
	defer objects.Close()
	chunks := d.s.fetch(ctx, entries)
	defer chunks.Close()
	for i := range entries {
		e := &entries[i]
		if err := firstError(ctx.Err(), d.s.step("write a file")); err != nil {
			return x, err
		}
		if err := d.write(root, e, objects, chunks); err != nil {
			return x, fmt.Errorf("%s: %w", e.name(), err)
		}
	}
	if state != nil {
		if err := d.tree.fillUnread(ctx, path, state.Unread, d.s); err != nil {
			return x, err
		}
	}
	for _, e := range slices.Backward(entries) { // the innermost first: a folder may forbid what its files need
		if e.Mode.IsDir() {
			if err := root.Chmod(filepath.FromSlash(e.name()), e.Mode.Perm()); err != nil {
				return x, err
			}
		}
	}
	for i := range entries {
		if e := &entries[i]; e.Mode.Type() == 0 {
			info, err := root.Lstat(filepath.FromSlash(e.name()))
			if err != nil {
				return x, err
			}
			x.Files[e.name()] = indexedFile{stampOf(info), e.Chunks, e.Object}
		}
	}
	x.Written = time.Now().UnixNano()
	return x, nil
}

// write makes one file, folder or link.
func (d *snapshotDir) write(root *os.Root, e *entry, objects *objectReader, chunks *fetcher) error {
	name := filepath.FromSlash(e.name())
	switch e.Mode.Type() {
	case fs.ModeDir:
		return root.Mkdir(name, 0o700)
	case fs.ModeSymlink:
		return root.Symlink(e.target(), name)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if e.Object != "" {
		err = objects.copyNext(f, e.Size)
	}
	for _, c := range e.Chunks {
		if err != nil {
			break
		}
		var data []byte
		if data, err = chunks.next(c); err == nil {
			_, err = f.Write(data)
		}
	}
	if err := firstError(err, f.Chmod(e.Mode.Perm()), f.Close()); err != nil {
		return err
	}
	modified := time.Unix(0, e.Modified)
	return root.Chtimes(name, modified, modified)
}
