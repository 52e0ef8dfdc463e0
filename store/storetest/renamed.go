package storetest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/store"
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

// records renames the projects of records, in their own slice.
func (s renamed) records(all []store.Record) []store.Record {
	for i := range all {
		all[i].Key = s.record(all[i].Key)
	}
	return all
}

func (s renamed) View(ctx context.Context, v store.View) ([]store.Record, error) {
	v.Keys, v.Folders = slices.Clone(v.Keys), slices.Clone(v.Folders)
	for i := range v.Keys {
		v.Keys[i] = s.record(v.Keys[i])
	}
	for i := range v.Folders {
		v.Folders[i].Project = rename(v.Folders[i].Project)
	}
	all, err := s.Fleet.View(ctx, v)
	return s.records(all), err
}

func (s renamed) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	c = slices.Clone(c)
	for i := range c {
		c[i].Key = s.record(c[i].Key)
	}
	return s.Fleet.Change(ctx, s.fence(f), c...)
}

func (s renamed) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return func(yield func(store.Changed, error) bool) {
		for c, err := range s.Fleet.Watch(ctx, rename(project)) {
			c.Record, c.Transcript, c.By = s.record(c.Record), s.key(c.Transcript), s.fence(c.By)
			if !yield(c, err) {
				return
			}
		}
	}
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
