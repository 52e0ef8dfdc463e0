package store_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// renamed is a store whose projects have other names in the store that it wraps: letters
// in the other case. It overrides every method that takes a project.
type renamed struct{ store.Fleet }

// rename returns the name of a project on the other side. It is its own inverse. An
// invalid project stays unchanged, so that errors show the caller's text.
func rename(project string) string {
	if store.CheckProject(project) != nil {
		return project
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, project)
}

func (renamed) key(k store.Key) store.Key {
	k.Project = rename(k.Project)
	return k
}

func (renamed) record(k store.RecordKey) store.RecordKey {
	k.Project = rename(k.Project)
	return k
}

func (renamed) fence(f store.Fence) store.Fence {
	f.Project = rename(f.Project)
	return f
}

func (s renamed) Append(ctx context.Context, k store.Key, b store.Batch) error {
	b.Fence = s.fence(b.Fence)
	return s.Fleet.Append(ctx, s.key(k), b)
}

func (s renamed) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return s.Fleet.Load(ctx, s.key(k), after)
}

func (s renamed) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return s.Fleet.List(ctx, rename(project))
}

func (s renamed) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return s.Fleet.Subagents(ctx, rename(project), session)
}

func (s renamed) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	return s.Fleet.Delete(ctx, s.key(k), s.fence(f))
}

func (s renamed) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := s.Fleet.Acquire(ctx, rename(project), name, owner, ttl)
	l.Fence = s.fence(l.Fence)
	return l, err
}

func (s renamed) Renew(ctx context.Context, l store.Lease) error {
	l.Fence = s.fence(l.Fence)
	return s.Fleet.Renew(ctx, l)
}

func (s renamed) Release(ctx context.Context, l store.Lease) error {
	l.Fence = s.fence(l.Fence)
	return s.Fleet.Release(ctx, l)
}

func (s renamed) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	r, err := s.Fleet.GetRecord(ctx, s.record(k))
	r.Key = s.record(r.Key)
	return r, err
}

func (s renamed) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	return s.Fleet.PutRecord(ctx, s.record(k), value, revision, s.fence(f))
}

func (s renamed) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	return s.Fleet.DropRecord(ctx, s.record(k), revision, s.fence(f))
}

func (s renamed) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		f.Project = rename(f.Project)
		for r, err := range s.Fleet.Scan(ctx, f, after) {
			if r.Key = s.record(r.Key); !yield(r, err) {
				return
			}
		}
	}
}

// A store that wraps another one and renames its projects keeps the whole contract:
// nothing bypasses it.
func TestRenamed(t *testing.T) {
	t.Run("Memory", func(t *testing.T) {
		storetest.Run(t, storetest.Target{Open: func(*testing.T) store.Fleet { return renamed{store.Memory()} }})
	})
	t.Run("Files", func(t *testing.T) {
		long.Test(t, "tests the whole contract once more")
		dirs := make(map[store.Fleet]string)
		storetest.Run(t, storetest.Target{
			Open: func(t *testing.T) store.Fleet {
				dir := t.TempDir()
				files := store.Files(dir)
				files.NoSync = true
				s := renamed{files}
				dirs[s] = dir
				return s
			},
			Again: func(_ *testing.T, s store.Fleet) store.Fleet {
				files := store.Files(dirs[s])
				files.NoSync = true
				return renamed{files}
			},
		})
	})
}
