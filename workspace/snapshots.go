package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude/internal/durable"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/store"
)

// SnapshotOptions says where folders are on this machine, where their snapshots are
// kept, and what belongs to them. Root, Records, Project and Blobs are needed.
type SnapshotOptions struct {
	// Root is where the folders are. Each process that runs conversations at the same
	// time needs its own.
	Root string
	// Worktrees makes the folders worktrees of a repository that every machine has a clone
	// of. Branch, commits and what is staged travel with the files; see [Worktrees]. Root
	// must be empty then: it is that of the worktrees.
	Worktrees *Worktrees
	// Records and Project are where the current snapshot of each conversation is named:
	// the store of the conversations, because its leases fence the records.
	Records store.Records
	Project string
	// Blobs keeps the contents, for example [FileBlobs]. Several projects may share them
	// if Collect is given all of these.
	Blobs Blobs
	// Ignore are patterns of paths that are left out, like lines of a .gitignore file:
	// "node_modules/", "*.o", "/build", "!keep.o". As with git, files that a worktree tracks
	// are never left out.
	Ignore []string
	// MaxFiles is how many files, folders and links a snapshot may have: 100,000. MaxBytes
	// is how many bytes its files may have together: 1 GiB. A folder beyond them is not
	// read, and Save returns a [*BoundError].
	MaxFiles int
	MaxBytes int64
	// Timeout limits a Save or an Open: 10 minutes, including the wait for the disk to have
	// the folder. It must be far shorter than the age from which Collect removes chunks.
	Timeout time.Duration
	// Logger logs what could not be tidied up. Nil: slog.Default().
	Logger *slog.Logger

	// step is called before each change to files, records and chunks, and its error ends
	// the work there: tests put a crash at every step.
	step func(what string) error
	// sync makes sure that what may have changed in a folder since a time is on disk: tests
	// look when it is called.
	sync func(dir string, since time.Time) error
}

// Snapshots is a [Provider] of folders that travel. It may be used from several
// goroutines at once.
type Snapshots struct {
	SnapshotOptions
	ignore ignoreList
	syncs  syncs
}

// ErrChanging means that a file was written to while it was saved.
var ErrChanging = errors.New("changed while it was read")

// NewSnapshots returns a provider, or an error if the options cannot work. It touches
// nothing yet.
func NewSnapshots(o SnapshotOptions) (*Snapshots, error) {
	bad := func(text string) error { return errors.New("claude: workspace: SnapshotOptions." + text) }
	if o.Worktrees != nil {
		if o.Root != "" {
			return nil, bad("Root must be empty: Worktrees has one")
		}
		o.Root = o.Worktrees.o.Root
	}
	switch {
	case o.Root == "":
		return nil, bad("Root is missing")
	case o.Records == nil:
		return nil, bad("Records is missing")
	case o.Blobs == nil:
		return nil, bad("Blobs is missing")
	case o.MaxFiles < 0 || o.MaxBytes < 0 || o.Timeout < 0:
		return nil, bad("MaxFiles, MaxBytes and Timeout must not be negative")
	}
	if err := store.CheckProject(o.Project); err != nil {
		return nil, fmt.Errorf("claude: workspace: SnapshotOptions.Project: %w", err)
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: SnapshotOptions.Root: %w", err)
	}
	ignore, err := parseIgnore(o.Ignore)
	if err != nil {
		return nil, err
	}
	if o.Worktrees != nil { // what git has there belongs to this machine; see gitState
		ignore = append(ignore, ignorePattern{parts: []string{gitDir}})
	}
	o.Root = root
	o.MaxFiles = cmp.Or(o.MaxFiles, 100_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.step == nil {
		o.step = func(string) error { return nil }
	}
	if o.sync == nil {
		o.sync = durable.Tree
	}
	return &Snapshots{o, ignore, make(syncs, maxSyncs)}, nil
}

// do makes a change, unless its step ends the work.
func (s *Snapshots) do(what string, change func() error) error {
	if err := s.step(what); err != nil {
		return err
	}
	return change()
}

// kindHead is the kind of the records that name the current snapshots.
const kindHead = "workspace"

func (s *Snapshots) headKey(key string) store.RecordKey { return headKeyIn(s.Project, key) }

func headKeyIn(project, key string) store.RecordKey {
	return store.RecordKey{Project: project, Kind: kindHead, Name: nameOf(key)}
}

// current returns the head of a conversation and its revision, 0 if there is none.
func (s *Snapshots) current(ctx context.Context, key string) (head, int64, error) {
	r, err := store.Get(ctx, s.Records, s.headKey(key))
	if errors.Is(err, store.ErrNotFound) {
		return head{}, 0, nil
	}
	if err != nil {
		return head{}, 0, err
	}
	h, err := decodeHead(r)
	if err == nil && h.Key != key {
		err = fmt.Errorf("claude: workspace: the snapshot of %q is one of %q: %w", key, h.Key, store.ErrDamaged)
	}
	return h, r.Revision, err
}

func decodeHead(r store.Record) (h head, err error) {
	if err := jsonx.UnmarshalWhole(r.Value, &h); err != nil {
		return h, fmt.Errorf("claude: workspace: %s: %w: %w", r.Key, store.ErrDamaged, err)
	}
	if h.Format > format {
		return h, fmt.Errorf("claude: workspace: %s: %w", r.Key, store.ErrNewer)
	}
	return h, nil
}

// manifest returns the files of a snapshot. Each chunk has been checked against its name.
func (s *Snapshots) manifest(ctx context.Context, h head) ([]entry, error) {
	var text []byte
	for _, name := range h.Manifest {
		data, err := s.chunk(ctx, name)
		if err != nil {
			return nil, err
		}
		text = append(text, data...)
	}
	return decodeManifest(text)
}

func (s *Snapshots) chunk(ctx context.Context, name string) ([]byte, error) {
	data, err := s.Blobs.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: chunk %s: %w", name, err)
	}
	if digest(data) != name {
		return nil, fmt.Errorf("claude: workspace: chunk %s: %w", name, store.ErrDamaged)
	}
	return data, nil
}

// Open implements [Provider]. The folder is the one that this machine has, if nothing
// newer was saved elsewhere, and the last snapshot otherwise. Without either, it is
// empty.
func (s *Snapshots) Open(ctx context.Context, key string) (Workdir, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	d := s.dir(key)
	h, revision, err := s.current(ctx, key)
	if err != nil {
		return nil, err
	}
	d.unknown = h.Unknown
	if err := private.MkdirAll(s.Root); err != nil {
		return nil, fmt.Errorf("claude: workspace: %w", err)
	}
	if err := d.sweep(freshly, aside); err != nil {
		s.Logger.Warn("what lies beside a workspace could not be removed", "path", d.path, "error", err)
	}
	d.index = d.readIndex()
	info, missing := os.Lstat(d.path)
	if missing == nil && !info.IsDir() {
		return nil, fmt.Errorf("claude: workspace: %s is not a folder", d.path)
	}
	switch {
	case revision != 0 && h.Git && d.tree == nil:
		return nil, fmt.Errorf("claude: workspace: the snapshot of %q is of a worktree: set SnapshotOptions.Worktrees", key)
	case revision != 0 && !h.Git && d.tree != nil:
		return nil, fmt.Errorf("claude: workspace: the snapshot of %q is of a plain folder: leave SnapshotOptions.Worktrees empty", key)
	}
	if missing == nil && d.index.continues(h, revision) {
		if d.index.Revision != revision { // written from here, and what it names is not known
			d.index = index{Revision: revision, By: h.By}
		}
		return d.opened(ctx) // nothing was saved since, or ever
	}
	if revision == 0 {
		if d.index.Revision != 0 { // it was saved once, and removed from another machine
			if err := d.erase(ctx); err != nil {
				return nil, fmt.Errorf("claude: workspace: %w", err)
			}
		}
		d.index = index{}
		if d.tree != nil {
			return d.opened(ctx)
		}
		if err := s.do("make the folder", func() error { return private.Mkdir(d.path) }); err != nil {
			return nil, fmt.Errorf("claude: workspace: %w", err)
		}
		return d, nil
	}
	if err := d.restore(ctx, h, revision); err != nil {
		return nil, err
	}
	return d.opened(ctx)
}

// opened returns the folder, which is in place. A worktree is one that its provider
// opens, or makes.
func (d *snapshotDir) opened(ctx context.Context) (Workdir, error) {
	if d.tree == nil {
		return d, nil
	}
	tree, err := d.tree.w.openKey(ctx, d.key)
	if err != nil {
		return nil, err
	}
	d.tree, tree.snapshots = tree, d
	return d.tree, nil
}

// Remove implements [Provider]. Chunks stay until Collect removes them.
func (s *Snapshots) Remove(ctx context.Context, key string, fence store.Fence) error {
	if err := checkKey(key); err != nil {
		return err
	}
	_, _, err := s.current(ctx, key)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if err := Forget(ctx, s.Records, s.Project, key, fence); err != nil {
		return err
	}
	if err := s.dir(key).erase(ctx); err != nil {
		return fmt.Errorf("claude: workspace: %w", err)
	}
	return nil
}

// Forget removes the record that names the current snapshot of a conversation, if there is
// one, for a process that has no [Snapshots]. Its folders go when they are opened again, and
// its chunks with Collect. It may be called from several goroutines at once.
func Forget(ctx context.Context, records store.Records, project, key string, fence store.Fence) error {
	if checkKey(key) != nil {
		return nil // it never had a folder
	}
	at := headKeyIn(project, key)
	r, err := store.Get(ctx, records, at)
	if err == nil {
		err = store.Drop(ctx, records, at, r.Revision, fence)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("claude: workspace: %w", err)
	}
	return nil
}

func (s *Snapshots) dir(key string) *snapshotDir {
	d := &snapshotDir{s: s, key: key, path: filepath.Join(s.Root, nameOf(key)), by: rand.Text()}
	if s.Worktrees != nil {
		d.tree = s.Worktrees.dir(key)
	}
	return d
}

// snapshotDir is an open folder that travels.
type snapshotDir struct {
	s     *Snapshots
	key   string
	path  string
	index index
	by    string // this Open, in the heads that it writes
	// unknown are the members of the head that a newer program has added.
	unknown jsonx.Unknown
	tree    *WorktreeDir // nil: a plain folder
}

// Path implements [Workdir].
func (d *snapshotDir) Path() string { return d.path }

// Close implements [Workdir].
func (d *snapshotDir) Close() error { return nil }

// Names of what lies beside a folder, before and after its own name.
const (
	hidden  = "."
	freshly = ".new-"     // a restore that is not in place yet
	aside   = ".old-"     // what a restore has replaced
	kept    = ".unsaved-" // the same, with changes that were never saved: only Remove removes it
	indexed = ".index"
)

func (d *snapshotDir) beside(what string) string {
	return filepath.Join(filepath.Dir(d.path), hidden+filepath.Base(d.path)+what)
}

func (d *snapshotDir) indexPath() string { return d.beside(indexed) }

// sweep removes what lies beside the folder, for example of processes that were killed.
func (d *snapshotDir) sweep(kinds ...string) error {
	var all error
	for _, what := range kinds {
		left, _ := filepath.Glob(d.beside(what) + "*")
		for _, path := range left {
			if err := removeAll(path); err != nil {
				all = errors.Join(all, err)
			}
		}
	}
	return all
}

// erase removes everything that this machine has of the folder, the index last: as long as
// it is there, the next Open knows that the folder is an old one.
func (d *snapshotDir) erase(ctx context.Context) error {
	if d.tree != nil {
		if err := d.tree.w.drop(ctx, d.key, d.tree.w.o.KeepBranches); err != nil {
			return err
		}
	}
	if err := errors.Join(removeAll(d.path), d.sweep(freshly, aside, kept)); err != nil {
		return err
	}
	return os.RemoveAll(d.indexPath())
}
