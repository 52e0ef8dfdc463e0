package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
)

// From its tombstone on, a session is deleted, even if a crash has left its files: no way of
// reading finds it, nothing can be appended, and deleting it again removes the rest.
func TestFilesDeletionCutOff(t *testing.T) {
	dir := t.TempDir()
	s := Files(dir)
	s.NoSync = true
	main := Key{Project: "p", Session: crashKey().Session}
	for _, k := range []Key{main, crashKey()} {
		if err := s.Append(t.Context(), k, crashBatch(`{"type":"user","uuid":"1","message":{"role":"user","content":"secret"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(dir, filepath.FromSlash(transcriptFile(main)))
	if err := os.WriteFile(base+deletedEnd, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := Files(dir)
	other.NoSync = true
	for _, s := range []*FileStore{s, other} {
		for _, k := range []Key{main, crashKey()} {
			for e, err := range s.Load(t.Context(), k, 0) {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("%v has %s, %v", k, e.Entry, err)
				}
			}
			if err := s.Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)); !errors.Is(err, ErrDeleted) {
				t.Errorf("append to %v: %v", k, err)
			}
		}
		for l, err := range s.List(t.Context(), "p") {
			t.Errorf("listed: %s, %v", l.Session, err)
		}
		for sub, err := range s.Subagents(t.Context(), "p", main.Session) {
			t.Errorf("listed: %s, %v", sub, err)
		}
	}
	// A list that had begun before leaves no summary of it.
	r, err := s.root(false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := s.summary(r, transcriptFile(main)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(base + summaryEnd); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a summary of what was deleted is kept: %v", err)
	}
	if err := other.Delete(t.Context(), main, Fence{}); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "secret") {
				t.Errorf("%s has it, %v", path, err)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := s.Append(t.Context(), main, crashBatch(`{"uuid":"3"}`)); !errors.Is(err, ErrDeleted) {
		t.Errorf("append to what was deleted twice: %v", err)
	}
}

// An Append that waits for its lock when the deletion begins appends nothing, whichever of
// the two gets the lock first, and brings no file back.
func TestFilesDeletedWhileAppendWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		opened := func() *FileStore { // as each process does
			s := Files(dir)
			s.NoSync = true
			return s
		}
		s, k := opened(), crashKey().Main()
		if err := s.Append(t.Context(), k, crashBatch(`{"uuid":"1"}`)); err != nil {
			t.Fatal(err)
		}
		r, err := s.root(false)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		lock, err := s.lockCommits(t.Context(), r, transcriptFile(k))
		if err != nil {
			t.Fatal(err)
		}
		appended, deleted := make(chan error, 1), make(chan error, 1)
		go func() { appended <- opened().Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)) }()
		synctest.Wait() // it has found no tombstone, and waits for the lock
		go func() { deleted <- opened().Delete(t.Context(), k, Fence{}) }()
		synctest.Wait()
		if len(appended) != 0 || len(deleted) != 0 || !exists(r, transcriptFile(k)+deletedEnd) {
			t.Fatal("they do not wait, or there is no tombstone: the test shows nothing")
		}
		lock.Close()
		if err := <-appended; !errors.Is(err, ErrDeleted) {
			t.Errorf("Append = %v", err)
		}
		if err := <-deleted; err != nil {
			t.Errorf("Delete = %v", err)
		}
		if exists(r, transcriptFile(k)+dataEnd) {
			t.Error("the transcript is back")
		}
	})
}

// A lease lasts as long as it should from when it was given: the wait for a writer that
// holds its lock does not count.
func TestFilesLeaseAfterWait(t *testing.T) {
	const ttl, wait = 8 * time.Second, 6 * time.Second
	for name, call := range map[string]func(ctx context.Context, s *FileStore, l Lease) error{
		"Acquire": func(ctx context.Context, s *FileStore, l Lease) error {
			_, err := s.Acquire(ctx, "p", "n", "me", ttl)
			return err
		},
		"Renew": func(ctx context.Context, s *FileStore, l Lease) error { return s.Renew(ctx, l) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := Files(dir)
				s.NoSync = true
				l, err := s.Acquire(t.Context(), "p", "n", "me", ttl)
				if err == nil && name == "Acquire" {
					err = s.Release(t.Context(), l)
				}
				if err != nil {
					t.Fatal(err)
				}
				lock, err := os.OpenFile(filepath.Join(dir, filepath.FromSlash(leasePath("p", "n")+lockEnd)), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := filelock.Lock(t.Context(), lock); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(wait, func() { lock.Close() })
				begin := time.Now()
				if err := call(t.Context(), s, l); err != nil {
					t.Fatal(err)
				}
				if time.Since(begin) < wait {
					t.Fatal("it did not wait: the test shows nothing")
				}
				_, err = s.Acquire(t.Context(), "p", "n", "you", ttl)
				if held, ok := errors.AsType[*HeldError](err); !ok || held.For != ttl {
					t.Errorf("after the wait: %v, want that it is held for %v", err, ttl)
				}
			})
		})
	}
}
