package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// ErrDiffers means that both sides have a session, and neither continues the
// other.
var ErrDiffers = errors.New("the store has this session already, with other entries")

// Bounds of a batch, beyond which another one begins.
const (
	batchEntries = 500
	batchBytes   = 1 << 20
)

// saveTTL is how long the lease of a copy lasts if the copying process dies.
const saveTTL = time.Minute

// Saved is the result of a copy.
type Saved struct {
	Entries int // that were added
	Skipped int // lines that are not entries, such as one that was cut off
}

// Find returns the folder below projects that holds a session, or the most
// recently written one if there are several. The error matches [fs.ErrNotExist]
// if there is none.
func Find(root *os.Root, session string) (folder string, err error) {
	found, err := fs.Glob(root.FS(), path.Join("projects", "*", session+".jsonl"))
	if err != nil {
		return "", err
	}
	var newest time.Time
	for _, name := range found {
		info, err := root.Lstat(name)
		if err == nil && info.Mode().IsRegular() && (folder == "" || info.ModTime().After(newest)) {
			folder, newest = path.Base(path.Dir(name)), info.ModTime()
		}
	}
	if folder == "" {
		return "", fmt.Errorf("session %s: %w", session, fs.ErrNotExist)
	}
	return folder, nil
}

// Save copies a session with its subagents from a configuration directory of the
// CLI into the store, under a lease. Entries that the store already has stay
// unchanged: the session on disk must begin with them, otherwise the error
// matches ErrDiffers. The main transcript comes last, so a session that the
// store lists is complete, and a copy that was cut off can be repeated.
func (s Source) Save(ctx context.Context, root *os.Root, folder, session, owner string) (all Saved, err error) {
	if err := (store.Key{Project: s.Project, Session: session}).Check(); err != nil {
		return all, err
	}
	c := &saver{Source: s, root: root}
	c.lease, err = s.Store.Acquire(ctx, s.Project, session, owner, saveTTL)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		return all, err
	default:
		c.renews = true
		defer func() { err = errors.Join(err, s.Store.Release(context.WithoutCancel(ctx), c.lease)) }()
	}
	return c.session(ctx, folder, session)
}

// SaveUnder is Save under a lease that the caller has, and renews.
func (s Source) SaveUnder(ctx context.Context, root *os.Root, folder, session string, f store.Fence) (Saved, error) {
	return (&saver{Source: s, root: root, lease: store.Lease{Fence: f}}).session(ctx, folder, session)
}

// session copies a session, the main transcript last.
func (c *saver) session(ctx context.Context, folder, session string) (Saved, error) {
	key := store.Key{Project: c.Project, Session: session}
	if err := key.Check(); err != nil {
		return Saved{}, err
	}
	base := path.Join("projects", folder, session)
	subs, err := subsBelow(c.root, base)
	if err != nil {
		return Saved{}, err
	}
	for _, sub := range subs {
		k := key
		k.Sub = sub
		if err := c.transcript(ctx, k, path.Join(base, sub)); err != nil {
			return c.saved, err
		}
	}
	return c.saved, c.transcript(ctx, key, base)
}

// subsBelow lists the transcripts in the folder of a session.
func subsBelow(root *os.Root, base string) (subs []string, err error) {
	err = walk(root, base, func(name string, d fs.DirEntry) error {
		if sub, ok := strings.CutSuffix(name, ".jsonl"); ok && d.Type().IsRegular() {
			subs = append(subs, strings.TrimPrefix(sub, base+"/"))
		}
		return nil
	})
	return subs, err
}

// saver copies transcripts into a store.
type saver struct {
	Source
	root   *os.Root
	renews bool // the lease; else the store has none, or another renews it
	lease  store.Lease
	saved  Saved
	batch  store.Batch
	bytes  int // of the batch
}

// transcript copies a transcript.
func (c *saver) transcript(ctx context.Context, key store.Key, name string) error {
	file, _, err := regular.OpenNoFollow(c.root, name+".jsonl")
	if err != nil {
		return err
	}
	defer file.Close()
	have, stop := iter.Pull2(entries(ctx, c.Store, key))
	defer stop()
	reading := true // of what the store has
	for e, err := range entriesOf(file, func() { c.saved.Skipped++ }) {
		if err != nil {
			return err
		}
		if reading {
			old, err, more := have()
			if err != nil {
				return err
			}
			if more && !bytes.Equal(old, e) {
				return fmt.Errorf("%s: %w", key, ErrDiffers)
			}
			if reading = more; more {
				continue
			}
			stop()
			if err := c.metadata(ctx, key, name+".meta.json"); err != nil {
				return err
			}
		}
		if err := c.add(ctx, key, e); err != nil {
			return err
		}
	}
	if reading {
		if _, err, more := have(); more {
			return errors.Join(err, fmt.Errorf("%s: %w", key, ErrDiffers))
		}
		if err := c.metadata(ctx, key, name+".meta.json"); err != nil { // it may have come later
			return err
		}
	}
	return c.flush(ctx, key)
}

// entriesOf yields the entries of a file, each once, as a store has them. It calls
// skipped for a line that is not an entry.
func entriesOf(file *os.File, skipped func()) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		seen := make(map[string]bool)
		for line, err := range transcript.Lines(file) {
			if err != nil {
				yield(nil, err)
				return
			}
			e := store.Entry(bytes.Clone(line.Text))
			if line.Long || e.Check() != nil {
				skipped()
				continue
			}
			id := e.ID()
			if id != "" && seen[id] {
				continue
			}
			seen[id] = true
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entries yields the stored entries of a transcript, without the note about its
// subagent.
func entries(ctx context.Context, s store.Transcripts, key store.Key) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range store.Entries(ctx, s, key) {
			if errors.Is(err, store.ErrNotFound) || err == nil && key.Sub != "" && transcript.IsAgentNote(e) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// maxMetadata is how large the file beside a subagent's transcript may be.
const maxMetadata = 64 << 10

var errTooLarge = fmt.Errorf("more than %d bytes", maxMetadata)

// metadata copies the file that the CLI keeps beside the transcript of a
// subagent, in the form of the mirror's entry, unless the store has it.
func (c *saver) metadata(ctx context.Context, key store.Key, name string) error {
	if key.Sub == "" {
		return nil
	}
	text, err := readMetadata(c.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, regular.ErrNotRegular), errors.Is(err, errTooLarge): // not the work of a CLI
		c.saved.Skipped++
		return nil
	case err != nil:
		return err
	}
	line, err := jsonx.Line(bytes.TrimSpace(text))
	if err != nil || len(line) < 2 || store.Entry(line).Check() != nil {
		c.saved.Skipped++
		return nil
	}
	note := store.Entry(agentNote)
	if rest := bytes.TrimSpace(line[1:]); rest[0] != '}' {
		note = append(note, ',')
	}
	note = append(note, line[1:]...)
	for e, err := range store.Entries(ctx, c.Store, key) {
		if err == nil && bytes.Equal(e, note) {
			return nil
		}
	}
	return c.add(ctx, key, note)
}

// readMetadata reads a file beside a transcript. It must be a file itself: behind a link
// could be anything that the directory has, such as credentials, and a store is shared.
func readMetadata(root *os.Root, name string) ([]byte, error) {
	file, _, err := regular.OpenNoFollow(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxMetadata+1))
	if err == nil && len(text) > maxMetadata {
		err = errTooLarge
	}
	return text, err
}

// agentNote is how the entry about a subagent begins.
const agentNote = `{"type":"agent_metadata"`

// add adds an entry to the batch, and stores the batch when it is large enough.
func (c *saver) add(ctx context.Context, key store.Key, e store.Entry) error {
	c.batch.Entries = append(c.batch.Entries, e)
	if c.bytes += len(e); len(c.batch.Entries) < batchEntries && c.bytes < batchBytes {
		return nil
	}
	return c.flush(ctx, key)
}

// flush stores the batch.
func (c *saver) flush(ctx context.Context, key store.Key) error {
	if len(c.batch.Entries) == 0 {
		return ctx.Err()
	}
	if c.renews {
		if err := c.Store.Renew(ctx, c.lease); err != nil {
			return err
		}
	}
	c.batch.ID, c.batch.Fence = uuid.New(), c.lease.Fence
	if err := c.Store.Append(ctx, key, c.batch); err != nil {
		return err
	}
	c.saved.Entries += len(c.batch.Entries)
	c.batch, c.bytes = store.Batch{}, 0
	return nil
}
