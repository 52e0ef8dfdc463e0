package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// recordFile is a record in the layout before, which had a file for each in the folder of
// its kind.
type recordFile struct {
	Revision int64  `json:"revision"`
	Value    []byte `json:"value"`
}

// convert writes a log with the records of the layout before, and removes their files when
// the log is on the disk. If it is cut off before that, there is no log and all files are
// there; if after, the next writer removes them.
func (w *logWriter) convert(ctx context.Context) error {
	if err := w.s.raiseLayout(w.r); err != nil { // so that older programs do not write any more
		return err
	}
	unlock, err := w.lockOld(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	var set recordSet
	last := time.Now().UnixNano()
	err = w.eachOld(func(k RecordKey, name string) error {
		text, err := w.r.ReadFile(name)
		if err != nil {
			return fail(err)
		}
		var f recordFile
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("claude: store: record %v: %w: %w", k, ErrDamaged, err)
		}
		set.put(Record{k, f.Value, f.Revision})
		last = max(last, f.Revision)
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.rewrite(&set, last); err != nil {
		return err
	}
	if err := w.removeOld(); err != nil {
		return err
	}
	w.done()
	return nil
}

// lockOld waits for older programs that had begun to write before the layout was raised, and
// keeps those out that still wait. All records of a kind shared sixteen locks. Call unlock
// even after an error.
func (w *logWriter) lockOld(ctx context.Context) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, u := range held {
			u()
		}
	}
	kinds, err := fs.ReadDir(w.r.FS(), w.path(oldRecords))
	if err != nil {
		return unlock, fail(err)
	}
	for _, e := range kinds {
		for i := 0; i < 16 && e.IsDir(); i++ {
			u, err := w.s.lock(ctx, w.r, path.Join(w.path(oldRecords), e.Name(), fmt.Sprintf("%x%s", i, lockEnd)))
			if err != nil {
				return unlock, err
			}
			held = append(held, u)
		}
	}
	return unlock, nil
}

// eachOld calls do with the key and the file of each record of the layout before.
func (w *logWriter) eachOld(do func(k RecordKey, name string) error) error {
	kinds, err := fs.ReadDir(w.r.FS(), w.path(oldRecords))
	if err != nil {
		return fail(err)
	}
	for _, e := range kinds {
		kind, ok := fromFileName(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		folder := path.Join(w.path(oldRecords), e.Name())
		files, err := below(w.r, folder, valueEnd)
		if err != nil {
			return err
		}
		for _, file := range files {
			if name, ok := fromFilePath(file); ok {
				if err := do(RecordKey{w.project, kind, name}, path.Join(folder, file)+valueEnd); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removeOld removes the records of the layout before, their locks and what was left of
// writing them. Anything else in their folders is not ours, and stays.
func (w *logWriter) removeOld() error {
	var folders []string
	err := fs.WalkDir(w.r.FS(), w.path(oldRecords), func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			folders = append(folders, p)
			return nil
		case strings.HasSuffix(p, valueEnd), strings.HasSuffix(p, lockEnd), strings.HasPrefix(e.Name(), "."):
			return w.r.Remove(p)
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	for i := len(folders) - 1; i >= 0; i-- { // the innermost first
		if err := w.r.Remove(folders[i]); err != nil && !notEmpty(w.r, folders[i]) {
			return fail(err)
		}
	}
	return w.s.syncFolder(w.r, w.folder)
}

// notEmpty reports whether a folder has something in it.
func notEmpty(r *os.Root, folder string) bool {
	entries, err := fs.ReadDir(r.FS(), folder)
	return err == nil && len(entries) > 0
}
