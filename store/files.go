package store

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/feed"
	"github.com/claude-agent-go/claude/store/internal/rule"
)

// Files returns a store in a directory, which is created at the first write.
// It supports everything a store can do, for processes on one machine; its
// leases use that machine's clock.
//
// A transcript is a plain file of JSON lines, DIR/PROJECT/sessions/ID.jsonl,
// with those of subagents in the folder ID beside it. A file that was put
// there by hand is accepted as it is. Beside each transcript the store keeps a
// list of commits. Lines that are not in it do not count, so a batch that a
// crash cut off is not seen, and the next one overwrites it. DIR/.layout holds the
// version of this layout; a newer one is refused with [ErrNewer].
//
// The records of a project are one log, DIR/PROJECT/records.log, with a line for each
// change. Each process that uses the records of a project has them all in memory. A value
// that was replaced or dropped is overwritten in the log, and a log that is much larger
// than what it holds is written anew.
//
// Readers take no locks. Writers lock what they write, for as long as a write takes; for
// records that is the whole project. A process that is
// suspended in the middle of one keeps the lock: no other process can write
// there, or take over its lease, until it continues or is killed. The others wait
// for ten seconds and get [ErrBusy].
//
// On Windows the directory belongs on NTFS: on FAT, a file cannot be replaced while another
// process reads it, and the write fails.
func Files(dir string) *FileStore { return &FileStore{dir: dir} }

// FileStore is a store in a directory. Set its options before the first use.
type FileStore struct {
	// NoSync leaves it to the system when to write to the disk. Stored data
	// then survives a crash of the process. A crash of the machine may take the
	// last entries with it, and damage the records of a project, because values
	// that were replaced may be overwritten on the disk before the new ones are
	// there.
	NoSync bool

	dir   string
	fsync func(*os.File) error // nil is (*os.File).Sync

	mu     sync.Mutex
	made   bool                  // the directory was made, or was there, and is synced
	known  map[string]*known     // by data file
	recent []string              // of known, the last used last
	logs   map[string]*recordLog // by project
	feed   feed.Feed[Changed]    // to those who watch a project
	id     string                // by which the store knows its own announcements
	poll   time.Duration         // how often a watch looks for changes of others; 0 is pollEvery
}

var _ Fleet = (*FileStore)(nil)

// known caches the part of a transcript that this process has read.
type known struct {
	first   string // the first commit, which no other transcript has
	commits int64  // how much of the commits was read
	end     int64  // of the data that counts
	uuids   map[string]struct{}
	batches map[string]struct{}
	synced  bool // this process has synced the folder
}

// maxKnown is for how many transcripts the ids are remembered.
const maxKnown = 64

// transcriptFile returns the path of a transcript without the ending.
func transcriptFile(k Key) string {
	p := path.Join(fileName(k.Project), "sessions", fileName(k.Session))
	if k.Sub != "" {
		p = path.Join(p, filePath(k.Sub))
	}
	return p
}

// The endings of the files of a transcript.
const (
	dataEnd    = ".jsonl"
	commitsEnd = ".commits"
	summaryEnd = ".summary"
	deletedEnd = ".deleted"
	lockEnd    = ".lock"
	valueEnd   = ".json"
)

// root opens the directory; nothing opened through it lies outside. With create
// it makes the directory if need be.
func (s *FileStore) root(create bool) (*os.Root, error) {
	if create {
		if err := s.makeDir(); err != nil {
			return nil, err
		}
	}
	r, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fail(err)
	}
	if err := s.layout(r, create); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// layoutFile has the version of the layout of the directory. A project does not have such
// a name.
const (
	layoutFile   = ".layout"
	filesVersion = 2 // 1 had a file for each record
)

// layout refuses a directory that a newer program has laid out. With create, a directory
// without a version is marked with the current one.
func (s *FileStore) layout(r *os.Root, create bool) error {
	text, err := r.ReadFile(layoutFile)
	if err == nil {
		return rule.Layout(string(text), filesVersion, ErrDamaged, ErrNewer)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if !create {
		return nil
	}
	return s.markLayout(r)
}

// markLayout writes the version, unless another program has written one since: then that
// is the one that counts. A directory stays without a version if only
// its projects are writable, or if its disk has no links.
func (s *FileStore) markLayout(r *os.Root) error {
	temporary := "." + rand.Text()
	err := s.replace(r, temporary, fmt.Appendln(nil, filesVersion))
	if err == nil {
		err = errors.Join(r.Link(temporary, layoutFile), r.Remove(temporary))
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		text, err := r.ReadFile(layoutFile)
		if err != nil {
			return fail(err)
		}
		return rule.Layout(string(text), filesVersion, ErrDamaged, ErrNewer)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return fail(err)
	}
	return s.syncFolder(r, ".")
}

// raiseLayout marks the directory with the current version of the layout. It stays as it
// is if only its projects are writable.
func (s *FileStore) raiseLayout(r *os.Root) error {
	text, err := r.ReadFile(layoutFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err == nil {
		if err := rule.Layout(string(text), filesVersion, ErrDamaged, ErrNewer); err != nil || strings.TrimSpace(string(text)) == fmt.Sprint(filesVersion) {
			return err
		}
	}
	err = s.replace(r, layoutFile, fmt.Appendln(nil, filesVersion))
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

func fail(err error) error { return fmt.Errorf("claude: store: %w", err) }

// Append implements [Transcripts].
func (s *FileStore) Append(ctx context.Context, k Key, b Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	r, err := s.root(true)
	if err != nil {
		return err
	}
	defer r.Close()
	unlock, err := s.fenced(ctx, r, b.Fence)
	if err != nil {
		return err
	}
	defer unlock()
	deleted := func() error {
		if exists(r, transcriptFile(k.Main())+deletedEnd) {
			return fmt.Errorf("claude: store: %v: %w", k, ErrDeleted)
		}
		return nil
	}
	if err := deleted(); err != nil || len(b.Entries) == 0 {
		return err
	}
	name := transcriptFile(k)
	commits, err := s.lockCommits(ctx, r, name)
	if err != nil {
		return cmp.Or(deleted(), err) // whose folder may be gone by now
	}
	defer commits.Close()
	if err := deleted(); err != nil {
		return err
	}
	stored, err := s.appendLocked(r, name, commits, b)
	if stored {
		s.announce(r, Changed{Transcript: k, By: b.Fence})
	}
	return err
}

// appendLocked appends to a transcript whose commits are locked, and reports whether it
// has grown.
func (s *FileStore) appendLocked(r *os.Root, name string, commits *os.File, b Batch) (stored bool, err error) {
	data, err := r.OpenFile(name+dataEnd, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fail(err)
	}
	defer func() { err = cmp.Or(err, data.Close()) }()
	if err := s.adopt(commits, data); err != nil {
		return false, err
	}
	t, err := s.catchUp(name, commits, data)
	if err != nil {
		return false, err
	}
	if !t.synced { // the names of the files, before there is anything in them
		if err := s.syncFolders(r, path.Dir(name)); err != nil {
			return false, err
		}
		t.synced = true
	}
	if _, again := t.batches[b.ID]; again {
		// The process that stored it may have died before it was on the disk.
		return false, cmp.Or(s.sync(data), s.sync(commits))
	}
	// What this batch adds is noted when it is stored, or not at all.
	var text []byte
	added := make(map[string]struct{})
	for _, e := range b.Entries {
		if id := e.ID(); id != "" {
			_, old := t.uuids[id]
			if _, twice := added[id]; old || twice {
				continue
			}
			added[id] = struct{}{}
		}
		text = append(append(text, e...), '\n')
	}
	if _, err := data.WriteAt(text, t.end); err != nil {
		return false, fail(err)
	}
	if err := s.sync(data); err != nil {
		return false, err
	}
	end := t.end + int64(len(text))
	line := fmt.Sprintf("%d %s\n", end, b.ID)
	if _, err := commits.WriteAt([]byte(line), t.commits); err != nil {
		return false, fail(err)
	}
	if err := s.sync(commits); err != nil {
		return true, err // others read it, even if it may not be on the disk
	}
	t.commits, t.end = t.commits+int64(len(line)), end
	t.add(added, b.ID)
	s.remember(name, t)
	return len(text) > 0, nil
}

// add takes up ids. That of a batch may be "".
func (t *known) add(uuids map[string]struct{}, batch string) {
	maps.Copy(t.uuids, uuids)
	if batch != "" {
		t.batches[batch] = struct{}{}
	}
}

// firstCommit returns the line with which the life of a transcript begins. Its id
// distinguishes the transcript from one that was deleted and had the same name, perhaps
// even the same inode.
func firstCommit(end int) string { return fmt.Sprintf("%d %s\n", end, rand.Text()) }

// lockCommits opens the commits of a transcript and locks them.
func (s *FileStore) lockCommits(ctx context.Context, r *os.Root, name string) (*os.File, error) {
	if err := s.folder(r, path.Dir(name)); err != nil {
		return nil, err
	}
	for {
		f, err := r.OpenFile(name+commitsEnd, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fail(err)
		}
		if err := lockFile(ctx, f, name+commitsEnd); err != nil {
			return nil, err
		}
		// The last holder of the lock may have removed the file.
		mine, err := f.Stat()
		there, err2 := r.Stat(name + commitsEnd)
		if err == nil && err2 == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, fail(err)
		}
	}
}

// adopt writes the first commit if there is none. It comes before our
// own data, so data without it was put there by hand: all whole lines count. The
// commits are locked.
func (s *FileStore) adopt(commits, data *os.File) error {
	info, err := commits.Stat()
	if err != nil {
		return fail(err)
	}
	if info.Size() > 0 {
		first := make([]byte, min(info.Size(), maxCommit))
		if _, err := commits.ReadAt(first, 0); err != nil {
			return fail(err)
		}
		if bytes.IndexByte(first, '\n') >= 0 || len(first) == maxCommit {
			return nil
		} // else it was cut off
	}
	text, err := io.ReadAll(io.NewSectionReader(data, 0, 1<<62))
	if err != nil {
		return fail(err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	if Entry(text[end:]).Check() == nil { // whole but for its line feed
		if _, err := data.WriteAt([]byte("\n"), int64(len(text))); err != nil {
			return fail(err)
		}
		end = len(text) + 1
	}
	if err := s.sync(data); err != nil {
		return err
	}
	line := firstCommit(end)
	if _, err := commits.WriteAt([]byte(line), 0); err != nil {
		return fail(err)
	}
	if err := commits.Truncate(int64(len(line))); err != nil {
		return fail(err)
	}
	return s.sync(commits)
}

// maxCommit is more than a line of commits has.
const maxCommit = 256

// catchUp reads what other processes have appended since, and cuts off
// uncommitted bytes. The caller holds the lock on the commits, so no other
// process changes what it returns.
func (s *FileStore) catchUp(name string, commits, data *os.File) (*known, error) {
	t := s.recall(name)
	first, _, err := bufio.NewReader(io.NewSectionReader(commits, 0, maxCommit)).ReadLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fail(err)
	}
	if t == nil || string(first) != t.first { // one that this process has not met
		t = &known{first: string(first), uuids: make(map[string]struct{}), batches: make(map[string]struct{})}
	}
	text, err := io.ReadAll(io.NewSectionReader(commits, t.commits, 1<<62))
	if err != nil {
		return nil, fail(err)
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole < len(text) { // a line that was cut off
		if err := commits.Truncate(t.commits + int64(whole)); err != nil {
			return nil, fail(err)
		}
	}
	newEnd := t.end
	for line := range bytes.Lines(text[:whole]) {
		end, id, err := parseCommit(line)
		if err == nil && end == 0 { // a life that ended, or begins
			t.end, newEnd = 0, 0
			clear(t.uuids)
			clear(t.batches)
		}
		if err != nil || end < newEnd {
			return nil, fmt.Errorf("claude: store: %s: %w: %q", name+commitsEnd, ErrDamaged, line)
		}
		newEnd = end
		t.add(nil, id)
	}
	info, err := data.Stat()
	if err != nil {
		return nil, fail(err)
	}
	if info.Size() < newEnd {
		return nil, fmt.Errorf("claude: store: %s: %w: %d of %d bytes are there", name+dataEnd, ErrDamaged, info.Size(), newEnd)
	}
	if info.Size() > newEnd {
		if err := data.Truncate(newEnd); err != nil {
			return nil, fail(err)
		}
	}
	for e, err := range readEntries(io.NewSectionReader(data, t.end, newEnd-t.end)) {
		if err != nil {
			return nil, fmt.Errorf("claude: store: %s: %w", name+dataEnd, err)
		}
		if id := e.ID(); id != "" {
			t.uuids[id] = struct{}{}
		}
	}
	t.commits, t.end = t.commits+int64(whole), newEnd
	s.remember(name, t)
	return t, nil
}

// recall takes the cached state of a transcript out of the cache, nil if there is
// none. If the append fails it stays out, and is read again.
func (s *FileStore) recall(name string) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.known[name]
	delete(s.known, name)
	s.recent = slices.DeleteFunc(s.recent, func(other string) bool { return other == name })
	return t
}

// remember keeps all that is known of a transcript, and forgets the one that was
// not used for longest.
func (s *FileStore) remember(name string, t *known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[string]*known)
	}
	s.known[name] = t
	s.recent = append(slices.DeleteFunc(s.recent, func(other string) bool { return other == name }), name)
	if len(s.recent) > maxKnown {
		delete(s.known, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
}

// forget drops the cached state of the transcripts whose names have the prefix.
func (s *FileStore) forget(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = slices.DeleteFunc(s.recent, func(name string) bool {
		gone := name == prefix || strings.HasPrefix(name, prefix+"/")
		if gone {
			delete(s.known, name)
		}
		return gone
	})
}

// parseCommit reads a line of commits: the end of the data, and the id of the
// batch if it had one.
func parseCommit(line []byte) (end int64, id string, err error) {
	number, id, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	if !ok {
		return 0, "", ErrDamaged
	}
	if _, err := fmt.Sscanf(number, "%d", &end); err != nil || end < 0 {
		return 0, "", ErrDamaged
	}
	return end, id, nil
}

// committed returns how much of the data counts, without a lock. A transcript
// without commits counts as far as its lines are whole.
func committed(r *os.Root, name string) (int64, error) {
	for {
		end, some, err := lastCommit(r, name)
		if some || err != nil {
			return end, err
		}
		if end, err = wholeLines(r, name+dataEnd); err != nil {
			return 0, err
		}
		// Unless another process has begun to append in the meantime.
		if _, some, err := lastCommit(r, name); !some || err != nil {
			return end, err
		}
	}
}

// lastCommit returns the end that the last commit records, and whether there is a
// commit.
func lastCommit(r *os.Root, name string) (end int64, some bool, err error) {
	f, err := r.Open(name + commitsEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	from := max(0, info.Size()-4096) // a commit is much shorter
	text, err := io.ReadAll(io.NewSectionReader(f, from, 4096))
	if err != nil {
		return 0, false, err
	}
	last := bytes.LastIndexByte(text, '\n')
	if last < 0 {
		return 0, false, nil
	}
	end, _, err = parseCommit(text[bytes.LastIndexByte(text[:last], '\n')+1 : last+1])
	return end, true, err
}

// wholeLines returns where the last whole line of a file ends.
func wholeLines(r *os.Root, name string) (int64, error) {
	text, err := r.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return int64(bytes.LastIndexByte(text, '\n') + 1), err
}

// Load implements [Transcripts].
func (s *FileStore) Load(ctx context.Context, k Key, after Place) iter.Seq2[PlacedEntry, error] {
	return func(yield func(PlacedEntry, error) bool) {
		if err := s.load(ctx, k, int64(after), yield); err != nil {
			yield(PlacedEntry{}, err)
		}
	}
}

// load yields the entries behind a place, which is where a line ends in the file,
// and returns the error that ends the loop.
func (s *FileStore) load(ctx context.Context, k Key, place int64, yield func(PlacedEntry, error) bool) error {
	if err := k.Check(); err != nil {
		return err
	}
	missing := fmt.Errorf("claude: store: %v: %w", k, ErrNotFound)
	r, err := s.root(false)
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	if err != nil {
		return err
	}
	defer r.Close()
	name := transcriptFile(k)
	f, end, err := openCommitted(r, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && end == 0 || exists(r, transcriptFile(k.Main())+deletedEnd) {
		if f != nil {
			f.Close()
		}
		return missing
	}
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	from := min(max(place, 0), end)
	for e, err := range readPlaced(io.NewSectionReader(f, from, end-from), from) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return fmt.Errorf("claude: store: %s: %w", name+dataEnd, err)
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return nil
}

// openCommitted opens the data of a transcript and returns how much of it counts. It takes
// no lock, so the transcript may be deleted and written anew meanwhile. An open file keeps
// its inode: if the name still leads to it after the commits were read, they are about it.
func openCommitted(r *os.Root, name string) (*os.File, int64, error) {
	for {
		f, err := r.Open(name + dataEnd)
		if err != nil {
			return nil, 0, err
		}
		end, err := committed(r, name)
		if err != nil {
			f.Close()
			return nil, 0, err
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, 0, err
		}
		there, err := r.Stat(name + dataEnd)
		switch {
		case err == nil && !os.SameFile(mine, there):
		case err != nil:
			f.Close()
			return nil, 0, err
		case mine.Size() >= end:
			return f, end, nil
		default:
			// A file is emptied in place when a crash has cut its deletion off.
			if now, err := committed(r, name); err != nil || now == end {
				f.Close()
				return nil, 0, cmp.Or(err, fmt.Errorf("%s: %w: %d bytes are missing", name+dataEnd, ErrDamaged, end-mine.Size()))
			}
		}
		f.Close()
	}
}

// exists reports whether there is a file.
func exists(r *os.Root, name string) bool {
	_, err := r.Lstat(name)
	return err == nil
}

// sync makes sure that a file is on the disk.
func (s *FileStore) sync(f *os.File) error {
	if s.NoSync {
		return nil
	}
	fsync := s.fsync
	if fsync == nil {
		fsync = (*os.File).Sync
	}
	if err := fsync(f); err != nil {
		return fail(err)
	}
	return nil
}
