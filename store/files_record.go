package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"
)

// The files of the records of a project, beside its folders.
const (
	logFile     = "records.log"
	logNewFile  = "records.new"  // a log that is being written
	logLockFile = "records.lock" // see markBegun
	oldRecords  = "records"      // a folder of the layout before; see [logWriter.convert]
)

// records returns the log of a project.
func (s *FileStore) records(project string) *recordLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[project]
	if l == nil {
		l = &recordLog{s: s, project: project, folder: fileName(project), turn: make(chan struct{}, 1)}
		l.state = l.empty()
		if s.logs == nil {
			s.logs = make(map[string]*recordLog)
		}
		s.logs[project] = l
	}
	return l
}

// readRecords calls do with the records of a project as they are now. It takes no lock on
// files.
func (s *FileStore) readRecords(ctx context.Context, project string, do func(*recordSet) error) error {
	r, err := s.root(false)
	if errors.Is(err, fs.ErrNotExist) {
		return do(new(recordSet))
	}
	if err != nil {
		return err
	}
	defer r.Close()
	l := s.records(project)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.look(r); errors.Is(err, errOldRecords) {
		l.mu.Unlock()
		err = s.convert(ctx, project)
		l.mu.Lock()
		if err = cmp.Or(err, l.look(r)); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return do(&l.state.set)
}

// convert takes up the records of the layout before.
func (s *FileStore) convert(ctx context.Context, project string) error {
	r, err := s.root(true)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := s.records(project).write(ctx, r)
	if err != nil {
		return err
	}
	w.close()
	return nil
}

// View implements [Records]. Both strengths are the same here: a view always shows what
// any process has written.
func (s *FileStore) View(ctx context.Context, v View) (all []Record, err error) {
	if err := cmp.Or(v.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	err = s.readRecords(ctx, v.project(), func(set *recordSet) error {
		all, err = set.view(v)
		return err
	})
	return all, err
}

// Change implements [Records]. All changes are one line of the log: they are made when the
// line is whole.
func (s *FileStore) Change(ctx context.Context, f Fence, c ...RecordChange) ([]int64, error) {
	if err := cmp.Or(CheckChanges(c, f), ctx.Err()); err != nil {
		return nil, err
	}
	r, err := s.root(true)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	unlock, err := s.fenced(ctx, r, f)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := s.records(c[0].Key.Project).write(ctx, r)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.change(f, c)
}

// Scan implements [Records].
func (s *FileStore) Scan(ctx context.Context, f Folder, after string) iter.Seq2[Record, error] {
	return scan(ctx, f, after, func(do func(*recordSet) error) error { return s.readRecords(ctx, f.Project, do) })
}

// Now implements [Records].
func (s *FileStore) Now(ctx context.Context) (time.Time, error) { return time.Now(), ctx.Err() }
