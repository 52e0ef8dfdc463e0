package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/feed"
)

// pollEvery is how often a watch looks for what other processes have changed. A look that
// finds nothing asks the system for the state of two files, which takes less than ten
// microseconds.
const pollEvery = 250 * time.Millisecond

// Watch implements [Records]. It yields changes of this store at once, and those of other
// processes within a quarter of a second.
func (s *FileStore) Watch(ctx context.Context, project string) iter.Seq2[Changed, error] {
	return func(yield func(Changed, error) bool) {
		if err := CheckProject(project); err != nil {
			yield(Changed{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		q := feed.NewQueue[Changed]()
		leave := s.feed.Join(project, q)
		w := &fileWatch{s: s, log: s.records(project), queue: q, news: newsReader{project: project, own: s.storeID()}}
		w.look(ctx) // what there is by now is not news
		q.Miss()
		var polling sync.WaitGroup
		polling.Go(func() { w.poll(ctx) })
		defer polling.Wait()
		defer cancel()
		defer leave()
		q.All(ctx)(yield)
	}
}

// storeID returns the name by which the store knows its own announcements.
func (s *FileStore) storeID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		s.id = rand.Text()
	}
	return s.id
}

// announce informs those who watch a project about a transcript or a lease. It happened
// already, so that a failure to tell other processes does not change it.
func (s *FileStore) announce(r *os.Root, c Changed) {
	project := c.Transcript.Project
	if c.Released != "" {
		project = c.By.Project
	}
	s.feed.Publish(project, c)
	_ = appendNews(r, newsPath(project), newsOf(s.storeID(), c))
}

// fileWatch looks for what other processes change in a project. It is used by one
// goroutine at a time.
type fileWatch struct {
	s     *FileStore
	log   *recordLog
	queue *feed.Queue[Changed]

	seen   os.FileInfo // the log, when it was read last
	news   newsReader
	failed bool
}

// poll looks from time to time.
func (w *fileWatch) poll(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(w.s.poll, pollEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look puts new changes into the queue. After an error that may pass, something may have
// been missed.
func (w *fileWatch) look(ctx context.Context) {
	err := w.lookOnce(ctx)
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrNewer):
		w.queue.Fail(err)
	case err != nil:
		w.failed = true
	case w.failed:
		w.failed = false
		w.queue.Miss()
	}
}

func (w *fileWatch) lookOnce(ctx context.Context) error {
	r, err := os.OpenRoot(w.s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	if err := w.lookAtLog(ctx, r); err != nil {
		return err
	}
	news, missed, err := w.news.read(r)
	if err != nil {
		return err
	}
	if missed {
		w.queue.Miss()
	}
	w.queue.Put(news...)
	return nil
}

// lookAtLog reads the log if it has changed. The one that reads it announces what is new.
func (w *fileWatch) lookAtLog(ctx context.Context, r *os.Root) error {
	info, err := r.Stat(w.log.path(logFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err == nil && unchanged(w.seen, info) {
		return nil
	}
	if err := w.s.readRecords(ctx, w.log.project, func(*recordSet) error { return nil }); err != nil {
		return err
	}
	w.seen = info
	return nil
}

// unchanged reports whether a file is as it was.
func unchanged(before, now os.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}
