package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"
)

// recordLog is the records of a project: its log, and what this process has read of it.
type recordLog struct {
	s       *FileStore
	project string
	folder  string
	turn    chan struct{} // full while this process writes

	mu     sync.Mutex
	state  *logState
	synced bool // this process has synced the folders, and removed what others have left
}

// path returns the path of a file of the project.
func (l *recordLog) path(file string) string { return path.Join(l.folder, file) }

func (l *recordLog) empty() *logState { return &logState{project: l.project} }

// errOldRecords means that the records of a project have to be converted.
var errOldRecords = errors.New("the records are of an older layout")

// look reads what was added to the log since the last look. The lock of this process is
// held, and none on files.
func (l *recordLog) look(r *os.Root) error {
	f, err := r.Open(l.path(logFile))
	if errors.Is(err, fs.ErrNotExist) {
		if exists(r, l.path(oldRecords)) {
			return errOldRecords
		}
		if l.state.id != "" {
			l.state = l.empty()
			l.s.feed.Publish(l.project, Changed{})
		}
		return nil
	}
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	return l.read(f)
}

// read loads a log. The lock of this process is held.
func (l *recordLog) read(f *os.File) error {
	h, _, err := readHead(f)
	if err != nil {
		return err
	}
	if h.ID == l.state.id {
		return l.state.follow(f, func(line logLine) { l.s.feed.Publish(l.project, l.state.announced(line)...) })
	}
	// Another log, because most of the last one was not needed any more, or the first.
	seen := l.state.last
	var news []Changed
	st, h, err := loadLog(l.project, f, func(line logLine) {
		if line.Revision > seen {
			news = append(news, l.state.announced(line)...)
		}
	})
	if err != nil {
		return err
	}
	if h.Revision != seen {
		news = slices.Insert(news, 0, Changed{})
	}
	l.state = st
	l.s.feed.Publish(l.project, news...)
	return nil
}

// logWriter writes to a log. While it is open, no other does.
type logWriter struct {
	*recordLog
	r     *os.Root
	lock  *os.File
	begun bool // this writer has changed something, and may be killed before it is done
	dirty bool // the last one was
}

// The first byte of the lock's file says whether the last writer came to its end. If not, a
// line may be there that is not on the disk, or a value that was to be erased: the next
// writer begins with a new log. After a crash of the machine the mark says nothing, and
// nothing depends on it: a line that is not on the disk as a whole is cut off.
const (
	markDone  = '.'
	markBegun = '!'
)

// write waits for its turn to write to the log.
func (l *recordLog) write(ctx context.Context, r *os.Root) (*logWriter, error) {
	name := l.path(logLockFile)
	if err := l.s.folder(r, l.folder); err != nil {
		return nil, err
	}
	ctx, cancel := boundLock(ctx)
	defer cancel()
	select { // others of this process, in the order in which they came
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("claude: store: lock %s: %w", name, context.Cause(ctx))
	}
	f, err := r.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = lockFile(ctx, f, name)
	} else {
		err = fail(err)
	}
	if err != nil {
		<-l.turn
		return nil, err
	}
	w := &logWriter{recordLog: l, r: r, lock: f}
	if err := w.open(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// open reads what there is.
func (w *logWriter) open(ctx context.Context) error {
	var mark [1]byte
	if n, _ := w.lock.ReadAt(mark[:], 0); n == 1 {
		w.dirty = mark[0] == markBegun
	}
	w.mu.Lock()
	err := w.look(w.r)
	w.mu.Unlock()
	if errors.Is(err, errOldRecords) {
		return w.convert(ctx)
	}
	return err
}

// close ends the turn. The mark stays if not everything was done.
func (w *logWriter) close() {
	w.lock.Close()
	<-w.turn
}

// begin marks that something is going to change.
func (w *logWriter) begin() error {
	if w.begun {
		return nil
	}
	if _, err := w.lock.WriteAt([]byte{markBegun}, 0); err != nil {
		return fail(err)
	}
	w.begun = true
	return nil
}

// done marks that all is done that was begun. If that fails, the next writer does more
// than it has to.
func (w *logWriter) done() { _, _ = w.lock.WriteAt([]byte{markDone}, 0) }

// change makes changes, all or none.
func (w *logWriter) change(f Fence, changes []RecordChange) ([]int64, error) {
	w.mu.Lock()
	line, next, err := w.state.plan(f, changes, time.Now().UnixNano())
	w.mu.Unlock()
	if err != nil || len(line.Changes) == 0 {
		return next, err
	}
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if err := w.append(line); err != nil {
		return nil, err
	}
	return next, nil
}

// prepare makes sure that there is a log to which lines can be appended.
func (w *logWriter) prepare() error {
	w.mu.Lock()
	st := w.state
	anew := st.id == "" || w.dirty || st.oversized()
	w.mu.Unlock()
	if !w.synced { // as others may have died before they came to it
		if err := w.tidy(st.id != ""); err != nil {
			return err
		}
		if err := w.s.syncFolders(w.r, w.folder); err != nil {
			return err
		}
		w.synced = true
	}
	if !anew {
		return nil
	}
	if st.id == "" { // older programs would not see the log
		if err := w.s.raiseLayout(w.r); err != nil {
			return err
		}
	}
	return w.rewrite(&st.set, st.last)
}

// tidy removes what a process that was killed has left.
func (w *logWriter) tidy(converted bool) error {
	if err := w.removeNew(); err != nil || !converted || !exists(w.r, w.path(oldRecords)) {
		return err
	}
	return w.removeOld()
}

// removeNew removes a log in the making.
func (w *logWriter) removeNew() error {
	if err := w.r.Remove(w.path(logNewFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	return nil
}

// rewrite puts a new log in the place of the old one. Readers that have the old one open
// read it to its end, and find the new one at their next look.
func (w *logWriter) rewrite(set *recordSet, last int64) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.removeNew(); err != nil { // of one that was killed
		return err
	}
	text, err := encodeLog(rand.Text(), last, set)
	if err != nil {
		return err
	}
	if err := w.s.replaceBy(w.r, w.path(logNewFile), w.path(logFile), text); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.look(w.r)
}

// append writes a line, and erases the values that it replaces.
func (w *logWriter) append(line logLine) error {
	text, err := encodeLine(line)
	if err != nil {
		return err
	}
	f, err := w.r.OpenFile(w.path(logFile), os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	w.mu.Lock()
	end, old := w.state.end, w.state.replaces(line)
	w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	if err := cutAt(f, end); err != nil {
		return err
	}
	if _, err := f.WriteAt(text, end); err != nil {
		return fail(err)
	}
	if err := w.s.sync(f); err != nil {
		return err
	}
	w.mu.Lock()
	err = w.read(f)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	for _, part := range old {
		if _, err := f.WriteAt(bytes.Repeat([]byte{erased}, int(part.size)), part.at); err != nil {
			return nil // the change is made; the next writer writes a log without the value
		}
	}
	w.mu.Lock()
	w.state.stale = nil
	w.mu.Unlock()
	w.done()
	return nil
}

// cutAt removes what a crash has left behind the last whole line.
func cutAt(f *os.File, end int64) error {
	info, err := f.Stat()
	if err == nil && info.Size() > end {
		err = f.Truncate(end)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}
