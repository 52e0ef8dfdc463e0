package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/store"
)

// tries is how often a save begins again because a file was written to meanwhile.
const tries = 3

// Save implements [Workdir]: chunks, then the list of files, and last the record that names
// it, under the fence.
func (d *snapshotDir) Save(ctx context.Context, fence store.Fence) error {
	ctx, cancel := context.WithTimeout(ctx, d.s.Timeout)
	defer cancel()
	var err error
	for range tries {
		if err = d.save(ctx, fence); !errors.Is(err, ErrChanging) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("claude: workspace: save %q: %w", d.key, named(err))
	}
	return nil
}

func (d *snapshotDir) save(ctx context.Context, fence store.Fence) error {
	p := putter{s: d.s, known: d.index.known()}
	now, err := d.survey(ctx, &p)
	if err != nil {
		return err
	}
	if len(now.unread) > 0 {
		d.s.Logger.Warn("files of a workspace may not be read, and are left out of its snapshot", "path", d.path, "count", len(now.unread), "files", now.unread[:min(len(now.unread), maxNamed)])
	}
	next := now.index
	if d.tree != nil {
		if next.Git, err = d.tree.state(ctx, d.index.Git, &p, d.s.MaxBytes-now.bytes); err != nil {
			return err
		}
		next.Git.Unread = now.lost
	}
	if d.index.Revision != 0 && next.Manifest == d.index.Manifest && next.Git.equal(d.index.Git) {
		next.Revision, next.By, next.Trying, next.Synced = d.index.Revision, d.index.By, d.index.Trying, d.index.Synced
		d.writeIndex(next)
		return nil // it is the current one
	}
	// The folder counts as what is saved from now on: it must also be on this disk.
	since := d.index.synced()
	next.Synced = time.Now().UnixNano()
	if err := d.s.onDisk(ctx, d.path, since); err != nil {
		return err
	}
	h := head{Format: formatPlain, Key: d.key, Files: len(now.entries), Bytes: now.bytes, Saved: time.Now().UTC(), By: d.by, Unknown: d.unknown}
	text := now.text
	if d.tree != nil {
		if err := d.s.onDisk(ctx, d.tree.w.common, since); err != nil { // the commits
			return err
		}
		h.Format, h.Git = formatGit, true
		if text, err = withGit(ctx, now.entries, next.Git, &p); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(text, MaxBlob) {
		name, err := p.put(ctx, part)
		if err != nil {
			return err
		}
		h.Manifest = append(h.Manifest, name)
	}
	if next.Revision, err = d.commit(ctx, h, fence); err != nil {
		// It may have been written anyway. What the index knows of the current
		// snapshot may be wrong: the next save reads, puts and commits everything.
		d.index.Files, d.index.Manifest, d.index.Git = nil, "", nil
		return err
	}
	next.By, next.Trying = d.by, d.by
	d.writeIndex(next)
	return nil
}

// maxNamed is how many files a warning names.
const maxNamed = 10

// survey lists the content of a folder.
type survey struct {
	entries []entry
	text    []byte // the list of files
	bytes   int64
	index   index    // without a revision
	unread  []string // files and folders that may not be read, which the list leaves out
	lost    []string // the files among them that git tracks
}

// survey reads the folder, as far as the index does not know it, and puts its chunks.
func (d *snapshotDir) survey(ctx context.Context, p *putter) (now survey, err error) {
	defer func() { err = firstError(p.behind.wait(), err) }()
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return now, err
	}
	defer root.Close()
	var objects map[string]string
	var tracks tracked
	if d.tree != nil {
		if objects, err = d.tree.objects(ctx); err == nil && len(d.s.Ignore) > 0 {
			tracks, err = d.tree.tracked(ctx)
		}
		if err != nil {
			return now, err
		}
	}
	looked := time.Now().UnixNano()
	list := scan{ignore: d.s.ignore, tracked: tracks, maxFiles: d.s.MaxFiles, maxBytes: d.s.MaxBytes}
	if err := list.walk(ctx, root, "", false); err != nil {
		return now, err
	}
	now.index = index{Files: make(map[string]indexedFile, len(list.found)), Written: looked}
	now.bytes, now.unread = list.bytes, list.unread
	for i := range list.found {
		f := &list.found[i]
		if f.Mode.Type() == 0 {
			err := d.contents(ctx, root, f, p, objects[f.name()])
			if errors.Is(err, fs.ErrPermission) {
				now.unread = append(now.unread, f.name())
				continue
			}
			if err := firstError(err, p.behind.failed()); err != nil {
				return now, err
			}
			now.index.Files[f.name()] = indexedFile{f.stamp, f.Chunks, f.Object}
		}
		now.entries = append(now.entries, f.entry)
	}
	if d.tree != nil && len(now.unread) > 0 {
		if tracks == nil {
			tracks, err = d.tree.tracked(ctx)
		}
		if err != nil {
			return now, err
		}
		now.lost = tracks.in(now.unread)
	}
	now.text, err = encodeManifest(now.entries)
	now.index.Manifest = digest(now.text)
	return now, err
}

// commit makes a snapshot the current one. Before, it leaves word on this machine who is
// about to write: a head of this writer is the folder's own, whether the store's reply
// arrives or not.
func (d *snapshotDir) commit(ctx context.Context, h head, fence store.Fence) (int64, error) {
	value, err := jsonx.Marshal(&h)
	if err != nil {
		return 0, err
	}
	if d.index.Trying != d.by {
		trying := d.index
		trying.Trying = d.by
		d.writeIndex(trying)
	}
	if err := d.s.step("write the record"); err != nil {
		return 0, err
	}
	put := func(on int64) (int64, error) {
		return store.Put(ctx, d.s.Records, d.s.headKey(d.key), value, on, fence)
	}
	revision, err := put(d.index.Revision)
	if !errors.Is(err, store.ErrConflict) {
		return revision, err
	}
	now, current, err := d.s.current(ctx, d.key)
	switch {
	case err != nil:
		return 0, err
	case now.By == d.by: // a write of our own whose reply was lost
		return put(current)
	}
	return 0, fmt.Errorf("another holder has saved it: %w", store.ErrLeaseLost)
}

// contents finds out the chunks of a file, and puts those that are new. A file that is as
// the base of a worktree has it needs none.
func (d *snapshotDir) contents(ctx context.Context, root *os.Root, f *found, p *putter, object string) error {
	if known, ok := d.index.unchanged(f.name(), f.stamp); ok {
		f.Chunks, f.Object = known.Chunks, known.Object
		return nil
	}
	if err := d.s.step("read " + f.name()); err != nil {
		return err
	}
	file, info, err := regular.OpenNoFollow(root, f.name())
	if err != nil {
		return err
	}
	defer file.Close()
	if object != "" && isObject(file, f.Size, object) {
		f.Object = object
	} else {
		if _, err = file.Seek(0, io.SeekStart); err == nil {
			f.Chunks, err = p.file(ctx, file, f.Size)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name(), err)
		}
	}
	after, err := file.Stat()
	if err != nil || stampOf(info) != f.stamp || stampOf(after) != f.stamp {
		return fmt.Errorf("%s %w", f.name(), firstError(err, ErrChanging))
	}
	return nil
}

// putter puts chunks that the blobs may not have.
type putter struct {
	s     *Snapshots // nil: it only finds out their names
	known map[string]bool
	buf   []byte
	// behind puts the chunks of files.
	behind background
}

func (p *putter) put(ctx context.Context, data []byte) (name string, err error) {
	name = digest(data)
	if p.s == nil {
		return name, ctx.Err()
	}
	if p.known[name] {
		return name, nil
	}
	if err := firstError(ctx.Err(), p.s.do("put a chunk", func() error { return p.s.Blobs.Put(ctx, name, data) })); err != nil {
		return "", err
	}
	p.known[name] = true
	return name, nil
}

// file sends the chunks of a file of that size.
func (p *putter) file(ctx context.Context, r io.Reader, size int64) (chunks []string, err error) {
	if p.buf == nil {
		p.buf = make([]byte, MaxBlob)
	}
	for left := size; left > 0; {
		part := p.buf[:min(left, MaxBlob)]
		if _, err := io.ReadFull(r, part); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = ErrChanging
			}
			return nil, err
		}
		name, err := p.send(ctx, part)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, name)
		left -= int64(len(part))
	}
	return chunks, nil
}
