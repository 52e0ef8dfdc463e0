package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/store"
)

// Save implements [Workdir]: chunks, then the list of files, and last the record that names
// it, under the fence.
func (d *snapshotDir) Save(ctx context.Context, fence store.Fence) error {
	ctx, cancel := context.WithTimeout(ctx, d.s.Timeout)
	defer cancel()
	if err := d.save(ctx, fence); err != nil {
		return fmt.Errorf("claude: workspace: save %q: %w", d.key, err)
	}
	return nil
}

func (d *snapshotDir) save(ctx context.Context, fence store.Fence) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	looked := time.Now().UnixNano()
	list := scan{ignore: d.s.ignore, maxFiles: d.s.MaxFiles, maxBytes: d.s.MaxBytes}
	if err := list.walk(ctx, root, ""); err != nil {
		return err
	}
	p := putter{s: d.s, known: d.index.known()}
	next := index{Files: make(map[string]indexedFile, len(list.found)), Written: looked}
	entries := make([]entry, len(list.found))
	for i := range list.found {
		f := &list.found[i]
		if f.Mode.Type() == 0 {
			if err := d.contents(ctx, root, f, &p); err != nil {
				return err
			}
			next.Files[f.name()] = indexedFile{f.stamp, f.Chunks}
		}
		entries[i] = f.entry
	}
	text, err := encodeManifest(entries)
	if err != nil {
		return err
	}
	next.Manifest = digest(text)
	if d.index.Revision != 0 && next.Manifest == d.index.Manifest {
		next.Revision = d.index.Revision
		d.writeIndex(next)
		return nil // it is the current one
	}
	h := head{Format: format, Key: d.key, Files: len(entries), Bytes: list.bytes, Saved: time.Now().UTC()}
	for part := range slices.Chunk(text, MaxBlob) {
		name, err := p.put(ctx, part)
		if err != nil {
			return err
		}
		h.Manifest = append(h.Manifest, name)
	}
	if next.Revision, err = d.commit(ctx, h, fence); err != nil {
		return err
	}
	d.writeIndex(next)
	return nil
}

// commit makes a snapshot the current one.
func (d *snapshotDir) commit(ctx context.Context, h head, fence store.Fence) (int64, error) {
	value, err := json.Marshal(&h)
	if err != nil {
		return 0, err
	}
	if err := d.s.step("write the record"); err != nil {
		return 0, err
	}
	put := func(on int64) (int64, error) { return d.s.Records.PutRecord(ctx, d.s.headKey(d.key), value, on, fence) }
	revision, err := put(d.index.Revision)
	if errors.Is(err, store.ErrConflict) {
		now, lookErr := d.s.Records.GetRecord(ctx, d.s.headKey(d.key))
		switch {
		case lookErr != nil:
			return 0, lookErr
		case bytes.Equal(now.Value, d.tried): // a write of our own whose reply was lost
			revision, err = put(now.Revision)
		default: // opened and saved by another since, who had the lease
			err = fmt.Errorf("another holder has saved it: %w", store.ErrLeaseLost)
		}
	}
	d.tried = nil
	if err != nil {
		d.tried = value
	}
	return revision, err
}

// contents finds out the chunks of a file, and puts those that are new.
func (d *snapshotDir) contents(ctx context.Context, root *os.Root, f *found, p *putter) error {
	if chunks, ok := d.index.chunks(f.name(), f.stamp); ok {
		f.Chunks = chunks
		return nil
	}
	file, info, err := regular.OpenNoFollow(root, f.name())
	if err != nil {
		return err
	}
	defer file.Close()
	if f.Chunks, err = p.file(ctx, file, f.Size); err != nil {
		return fmt.Errorf("%s: %w", f.name(), err)
	}
	after, err := file.Stat()
	if err != nil || stampOf(info) != f.stamp || stampOf(after) != f.stamp {
		return fmt.Errorf("%s %w", f.name(), firstError(err, ErrChanging))
	}
	return nil
}

// putter puts chunks that the blobs may not have.
type putter struct {
	s     *Snapshots
	known map[string]bool
	buf   []byte
}

func (p *putter) put(ctx context.Context, data []byte) (name string, err error) {
	name = digest(data)
	if p.known[name] {
		return name, nil
	}
	if err := firstError(ctx.Err(), p.s.step("put a chunk"), p.s.Blobs.Put(ctx, name, data)); err != nil {
		return "", err
	}
	p.known[name] = true
	return name, nil
}

// file puts the chunks of a file of that size.
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
		name, err := p.put(ctx, part)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, name)
		left -= int64(len(part))
	}
	return chunks, nil
}
