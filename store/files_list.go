package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// list returns the sessions of a project, the last modified first. There is no
// root if there is no directory.
func (s *FileStore) list(ctx context.Context, project string) (*os.Root, []Summary, error) {
	if err := cmp.Or(CheckProject(project), ctx.Err()); err != nil {
		return nil, nil, err
	}
	r, err := s.root(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	folder := path.Join(fileName(project), "sessions")
	entries, err := fs.ReadDir(r.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Close()
		return nil, nil, fail(err)
	}
	var list []Summary
	for _, e := range entries {
		file, ok := strings.CutSuffix(e.Name(), dataEnd)
		id, ok2 := fromFileName(file)
		if !ok || !ok2 || !uuid.Valid(id) || !e.Type().IsRegular() || exists(r, path.Join(folder, file+deletedEnd)) {
			continue
		}
		if end, err := committed(r, path.Join(folder, file)); err != nil || end == 0 {
			continue
		}
		if info, err := e.Info(); err == nil { // else it was removed just now
			list = append(list, Summary{Session: id, Modified: info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Session, b.Session))
	})
	return r, list, nil
}

// List implements [Transcripts]. A summary is updated when it is requested, starting
// where the last one ended.
func (s *FileStore) List(ctx context.Context, project string) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		r, list, err := s.list(ctx, project)
		if err != nil {
			yield(Summary{}, err)
			return
		}
		if r != nil {
			defer r.Close()
		}
		for _, item := range list {
			data, err := s.summary(r, transcriptFile(Key{Project: project, Session: item.Session}))
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted in the meantime
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(Summary{}, fail(err))
				return
			}
			if !yield(Summary{item.Session, item.Modified, data}, nil) {
				return
			}
		}
	}
}

// summaryFile is the summary of the first End bytes of a transcript.
type summaryFile struct {
	End  int64           `json:"end"`
	Data json.RawMessage `json:"data"`
}

func (s *FileStore) summary(r *os.Root, name string) ([]byte, error) {
	f, end, err := openCommitted(r, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var kept summaryFile
	if text, err := r.ReadFile(name + summaryEnd); err != nil || json.Unmarshal(text, &kept) != nil || kept.End > end {
		kept = summaryFile{} // there is none, or it is not of this transcript
	}
	if kept.End == end {
		return kept.Data, nil
	}
	for e, err := range readEntries(io.NewSectionReader(f, kept.End, end-kept.End)) {
		if err != nil {
			return nil, err
		}
		kept.Data = transcript.FoldInto(kept.Data, e)
	}
	kept.End = end
	// The summary can be made again; keeping it only saves time.
	if text, err := json.Marshal(kept); err == nil {
		_ = (&FileStore{NoSync: true}).replace(r, name+summaryEnd, text)
		if exists(r, name+deletedEnd) { // in the meantime
			_ = r.Remove(name + summaryEnd)
		}
	}
	return kept.Data, nil
}

// Subagents implements [Transcripts].
func (s *FileStore) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		k := Key{Project: project, Session: session}
		subs, err := s.subs(ctx, k)
		if err != nil {
			yield("", err)
			return
		}
		for _, sub := range subs {
			if !yield(sub, nil) {
				return
			}
		}
	}
}

// subs returns the transcripts below a session, in order.
func (s *FileStore) subs(ctx context.Context, k Key) ([]string, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	r, err := s.root(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	folder := transcriptFile(k)
	if exists(r, folder+deletedEnd) {
		return nil, nil
	}
	files, err := below(r, folder, dataEnd)
	if err != nil {
		return nil, err
	}
	var subs []string
	for _, file := range files {
		if sub, ok := fromFilePath(file); ok {
			if end, err := committed(r, path.Join(folder, file)); err == nil && end > 0 {
				subs = append(subs, sub)
			}
		}
	}
	slices.Sort(subs)
	return subs, nil
}

// below returns the files in a folder and its folders that have an ending,
// relative to it and without the ending. There are none in a folder that does not
// exist.
func below(r *os.Root, folder, ending string) ([]string, error) {
	var files []string
	err := fs.WalkDir(r.FS(), folder, func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if file, ok := strings.CutSuffix(strings.TrimPrefix(p, folder+"/"), ending); ok && e.Type().IsRegular() {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	return files, nil
}

// Delete implements [Transcripts].
func (s *FileStore) Delete(ctx context.Context, k Key, f Fence) error {
	if err := cmp.Or(k.Check(), f.check(k.Project), ctx.Err()); err != nil {
		return err
	}
	r, err := s.root(true)
	if err != nil {
		return err
	}
	defer r.Close()
	unlock, err := s.fenced(ctx, r, f)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.deleteFenced(ctx, r, k); err != nil {
		return err
	}
	s.announce(r, Changed{Transcript: k, By: f})
	return nil
}

// deleteFenced deletes a transcript.
func (s *FileStore) deleteFenced(ctx context.Context, r *os.Root, k Key) error {
	name := transcriptFile(k)
	if k.Sub != "" {
		return s.remove(ctx, r, name)
	}
	if err := s.replace(r, name+deletedEnd, nil); err != nil {
		return err
	}
	// From here on no append begins, but one may still be running.
	files, err := below(r, name, dataEnd)
	if err != nil {
		return err
	}
	for _, file := range append(files, "") {
		if err := s.remove(ctx, r, path.Join(name, file)); err != nil {
			return err
		}
	}
	// An append that began before may make files there once more, before it notices that
	// the session was deleted.
	for {
		err := r.RemoveAll(name)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) { // the folder is not empty
			return fail(err)
		}
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
	}
	s.forget(name)
	return s.syncFolder(r, path.Dir(name))
}

// remove removes the files of one transcript.
func (s *FileStore) remove(ctx context.Context, r *os.Root, name string) error {
	if !exists(r, name+dataEnd) && !exists(r, name+commitsEnd) && !exists(r, name+summaryEnd) {
		return nil
	}
	commits, err := s.lockCommits(ctx, r, name)
	if err != nil {
		return err
	}
	defer commits.Close()
	s.forget(name)
	// The transcript is made invalid before its files are removed, so that a crash never
	// leaves a part of one.
	text, err := io.ReadAll(commits)
	if err != nil {
		return fail(err)
	}
	whole := int64(bytes.LastIndexByte(text, '\n') + 1) // the rest was cut off
	line := firstCommit(0)
	if _, err := commits.WriteAt([]byte(line), whole); err != nil {
		return fail(err)
	}
	if err := commits.Truncate(whole + int64(len(line))); err != nil {
		return fail(err)
	}
	if err := s.sync(commits); err != nil {
		return err
	}
	for _, end := range []string{dataEnd, summaryEnd, commitsEnd} {
		if err := r.Remove(name + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	return s.syncFolder(r, path.Dir(name))
}
