package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
)

// watched collects what a watch yields, in short.
type watched struct {
	mu  sync.Mutex
	got []string
	err error
}

// watch watches project p of a store until the context ends.
func watch(ctx context.Context, s *FileStore) *watched {
	w := new(watched)
	go func() {
		for c, err := range s.Watch(ctx, "p") {
			w.mu.Lock()
			w.got, w.err = append(w.got, shortly(c)), err
			w.mu.Unlock()
		}
	}()
	synctest.Wait()
	return w
}

func shortly(c Changed) string {
	by := ""
	if !c.By.IsZero() {
		by = fmt.Sprintf(" by %s %d", c.By.Name, c.By.Token)
	}
	switch {
	case c.IsZero():
		return "?"
	case c.Released != "":
		return "released " + c.Released + by
	case c.Transcript != Key{}:
		return "transcript " + c.Transcript.Sub + by
	case c.Revision == 0:
		return "dropped " + c.Record.Name + by
	}
	return "changed " + c.Record.Name + by
}

// failure returns the error of what came last.
func (w *watched) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// taken returns what came since the last call.
func (w *watched) taken() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := strings.Join(w.got, "; ")
	w.got = nil
	return got
}

// A store's own changes are announced at once, those of another process within the time
// of a look, each once, in order, with the fence that they were made under.
func TestFilesWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		mine, other := quickFiles(dir), quickFiles(dir)
		w := watch(ctx, mine) // there is no directory yet
		if got := w.taken(); got != "?" {
			t.Fatalf("first %q", got)
		}
		deeds := func(s *FileStore, owner string) {
			t.Helper()
			l, err := s.Acquire(ctx, "p", "lease", owner, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			next, err := s.Change(ctx, l.Fence, RecordChange{Key: thing("a"), Value: []byte(owner)}, RecordChange{Key: thing("b")}, RecordChange{Key: thing("c"), Keep: true})
			if err != nil {
				t.Fatal(err)
			}
			_, errKeep := s.Change(ctx, l.Fence, RecordChange{Key: thing("a"), Revision: next[0], Keep: true})
			_, errRefused := s.Change(ctx, Fence{}, RecordChange{Key: thing("a")})
			_, errDrop := s.Change(ctx, Fence{}, RecordChange{Key: thing("a"), Revision: next[0], Drop: true}, RecordChange{Key: thing("b"), Revision: next[1], Drop: true})
			batch := crashBatch(`{"uuid":"` + owner + `"}`)
			batch.ID, batch.Fence = owner, l.Fence
			errAppend := s.Append(ctx, crashKey(), batch)
			errAgain := s.Append(ctx, crashKey(), batch)
			errDelete := s.Delete(ctx, crashKey(), l.Fence)
			errRelease := s.Release(ctx, l)
			errLost := s.Release(ctx, l)
			if err := errors.Join(errKeep, errDrop, errAppend, errAgain, errDelete, errRelease, errLost); err != nil || !errors.Is(errRefused, ErrConflict) {
				t.Fatal(err, errRefused)
			}
		}
		wants := func(token int) string {
			by := fmt.Sprintf(" by lease %d", token)
			return strings.Join([]string{"changed a" + by, "changed b" + by, "dropped a", "dropped b", "transcript subagents/agent-1" + by, "transcript subagents/agent-1" + by, "released lease" + by}, "; ")
		}
		deeds(mine, "mine")
		if got := w.taken(); got != wants(1) {
			t.Errorf("own changes, at once: %s\nwant %s", got, wants(1))
		}
		deeds(other, "other")
		if got := w.taken(); got != "" {
			t.Errorf("another's changes, at once: %s: the test shows nothing", got)
		}
		<-time.After(pollEvery)
		if got := w.taken(); got != wants(2) {
			t.Errorf("another's changes: %s\nwant %s", got, wants(2))
		}
		// The first that reads announces what another process has changed.
		if _, err := Put(ctx, other, thing("c"), nil, 0, Fence{}); err != nil {
			t.Fatal(err)
		}
		if _, err := things(t, mine); err != nil {
			t.Fatal(err)
		}
		if got := w.taken(); got != "changed c" {
			t.Errorf("what a view has shown: %q", got)
		}
		<-time.After(time.Minute)
		if got := w.taken(); got != "" {
			t.Errorf("again: %s", got)
		}
	})
}

// A log or a file of news that takes the place of another costs no announcement. If a
// watch cannot know, it says so.
func TestFilesWatchAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		mine := quickFiles(t.TempDir())
		other := quickFiles(mine.dir)
		revision, err := Put(ctx, other, thing("a"), nil, 0, Fence{})
		if err != nil {
			t.Fatal(err)
		}
		w := watch(ctx, mine)
		w.taken()
		id := func() string {
			t.Helper()
			f, err := os.Open(logOf(mine.dir))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			h, _, err := readHead(f)
			if err != nil {
				t.Fatal(err)
			}
			return h.ID
		}
		put := func() {
			t.Helper()
			if revision, err = Put(ctx, other, thing("a"), make([]byte, 20_000), revision, Fence{}); err != nil {
				t.Fatal(err)
			}
		}
		// It has read all when the log is written anew: it misses nothing.
		for first := id(); id() == first; {
			put()
			<-time.After(pollEvery)
			if got := w.taken(); got != "changed a" {
				t.Fatalf("one change: %s", got)
			}
		}
		// It has not: what is between is not in the new log any more.
		for first, n := id(), 0; id() == first; n++ {
			put()
		}
		<-time.After(pollEvery)
		if got := w.taken(); got != "?; changed a" {
			t.Errorf("changes in a log that was written anew: %s", got)
		}
		// News, in the same way.
		news := func() {
			t.Helper()
			if err := other.Append(ctx, crashKey(), crashBatch(`{"x":1}`)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(mine.dir, filepath.FromSlash(newsPath("p")))
		size := func() int64 {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		news()
		before := size()
		addTo(t, path, strings.Repeat(" ", maxNews)+"\n")
		<-time.After(pollEvery)
		if got := w.taken(); got != "?; transcript subagents/agent-1" { // and a line that it cannot read
			t.Errorf("news: %s", got)
		}
		news()
		if size() >= before {
			t.Fatal("the news are in the same file as before: the test shows nothing")
		}
		news()
		<-time.After(pollEvery)
		if got := w.taken(); got != "?; transcript subagents/agent-1" {
			t.Errorf("news in a new file: %s", got)
		}
	})
}

// A log that is damaged ends a watch. What may pass does not, and is made good with a look
// at everything.
func TestFilesWatchErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := quickFiles(t.TempDir())
		if _, err := Put(ctx, s, thing("a"), nil, 0, Fence{}); err != nil {
			t.Fatal(err)
		}
		w := watch(ctx, s)
		w.taken()
		aside := logOf(s.dir) + ".aside"
		rename := func(from, to string) {
			t.Helper()
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		rename(logOf(s.dir), aside)
		if err := os.Mkdir(logOf(s.dir), 0o700); err != nil {
			t.Fatal(err)
		}
		<-time.After(pollEvery)
		if got := w.taken(); got != "" || w.failure() != nil {
			t.Errorf("a log that cannot be read for a while: %s, %v", got, w.failure())
		}
		if err := os.Remove(logOf(s.dir)); err != nil {
			t.Fatal(err)
		}
		rename(aside, logOf(s.dir))
		<-time.After(pollEvery)
		if got := w.taken(); got != "?" {
			t.Errorf("after that: %s", got)
		}
		if err := os.WriteFile(logOf(s.dir), []byte("damaged\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		<-time.After(pollEvery)
		if got := w.taken(); !errors.Is(w.failure(), ErrDamaged) {
			t.Errorf("a damaged log: %s, %v", got, w.failure())
		}
	})
}

// A process that is suspended while it writes records stops writers, each after the bound
// of its own call, and nothing else.
func TestFilesRecordsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quickFiles(t.TempDir())
		revision, err := Put(t.Context(), s, thing("a"), []byte("there"), 0, Fence{})
		if err != nil {
			t.Fatal(err)
		}
		lock, err := os.OpenFile(filepath.Join(s.dir, "p", logLockFile), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := filelock.Lock(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		results := make(chan error)
		for range 3 {
			go func() { results <- errors.Join(Drop(t.Context(), s, thing("a"), revision, Fence{})) }()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Drop(ctx, s, thing("a"), revision, Fence{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context: %v", err)
		}
		for _, reader := range []*FileStore{s, quickFiles(s.dir)} {
			if got, err := things(t, reader); err != nil || !strings.Contains(got, "there") {
				t.Errorf("%q, %v", got, err)
			}
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("readers waited until %v", took)
		}
		if _, err := s.Acquire(t.Context(), "p", "lease", "me", time.Hour); err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := <-results; !errors.Is(err, ErrBusy) {
				t.Errorf("locked: %v", err)
			}
		}
		if took := time.Since(begin); took != lockBound {
			t.Errorf("three writers waited for %v", took)
		}
		lock.Close()
		if err := Drop(t.Context(), s, thing("a"), revision, Fence{}); err != nil {
			t.Errorf("unlocked: %v", err)
		}
	})
}
