package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/feed"
	"github.com/claude-agent-go/claude/internal/transcript"
)

// Memory returns a store that keeps everything in the memory of this process,
// for tests and for sessions that may end with it. It supports everything a
// store can do.
func Memory() *MemoryStore { return &MemoryStore{now: time.Now} }

// MemoryStore is a store in memory.
type MemoryStore struct {
	now func() time.Time

	mu          sync.Mutex
	transcripts map[Key]*held
	deleted     map[Key]bool
	leases      map[RecordKey]*leased // Kind is unused
	records     map[string]*recordSet // by project
	revision    int64                 // of the last change of any record, so that none is used twice
	feed        feed.Feed[Changed]    // published under the lock, for their order
}

// held is a transcript in memory.
type held struct {
	entries  []Entry
	uuids    map[string]bool
	batches  map[string]bool
	modified time.Time
	summary  []byte // of the first entries, as many as were folded
	folded   int
}

// fold returns the summary of all entries. Only a listing needs it.
func (h *held) fold() []byte {
	if h.folded < len(h.entries) {
		h.summary = transcript.FoldInto(h.summary, h.entries[h.folded:]...)
		h.folded = len(h.entries)
	}
	return bytes.Clone(h.summary)
}

// leased is the state of one lease.
type leased struct {
	owner string
	token int64
	ends  time.Time // zero when it was released
}

// Append implements [Transcripts].
func (m *MemoryStore) Append(ctx context.Context, k Key, b Batch) error {
	ids, err := b.checkedIDs(k)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.allowed(b.Fence); err != nil {
		return err
	}
	if m.deleted[k.Main()] {
		return fmt.Errorf("claude: store: %v: %w", k, ErrDeleted)
	}
	h := m.transcripts[k]
	if len(b.Entries) == 0 || h != nil && h.batches[b.ID] {
		return nil
	}
	if h == nil {
		h = &held{uuids: make(map[string]bool), batches: make(map[string]bool)}
		if m.transcripts == nil {
			m.transcripts = make(map[Key]*held)
		}
		m.transcripts[k] = h
	}
	if b.ID != "" {
		h.batches[b.ID] = true
	}
	for i, e := range b.Entries {
		if id := ids[i]; id != "" {
			if h.uuids[id] {
				continue
			}
			h.uuids[id] = true
		}
		h.entries = append(h.entries, bytes.Clone(e))
	}
	h.modified = m.now()
	m.feed.Publish(k.Project, Changed{Transcript: k, By: b.Fence})
	return nil
}

// Load implements [Transcripts].
func (m *MemoryStore) Load(ctx context.Context, k Key, after Place) iter.Seq2[PlacedEntry, error] {
	return func(yield func(PlacedEntry, error) bool) {
		if err := k.Check(); err != nil {
			yield(PlacedEntry{}, err)
			return
		}
		m.mu.Lock()
		var entries []Entry
		h := m.transcripts[k]
		if h != nil {
			entries = h.entries
		}
		m.mu.Unlock()
		if h == nil {
			yield(PlacedEntry{}, fmt.Errorf("claude: store: %v: %w", k, ErrNotFound))
			return
		}
		for i := max(after, 0); i < Place(len(entries)); i++ {
			if err := ctx.Err(); err != nil {
				yield(PlacedEntry{}, err)
				return
			}
			if !yield(PlacedEntry{bytes.Clone(entries[i]), i + 1}, nil) {
				return
			}
		}
	}
}

// sessions returns the sessions of a project, the last modified first.
func (m *MemoryStore) sessions(project string) []Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Summary
	for k, h := range m.transcripts {
		if k.Project == project && k.Sub == "" {
			list = append(list, Summary{k.Session, h.modified, h.fold()})
		}
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Session, b.Session))
	})
	return list
}

// List implements [Transcripts].
func (m *MemoryStore) List(ctx context.Context, project string) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		err := CheckProject(project)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			yield(Summary{}, err)
			return
		}
		for _, s := range m.sessions(project) {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Subagents implements [Transcripts].
func (m *MemoryStore) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := cmp.Or(Key{Project: project, Session: session}.Check(), ctx.Err()); err != nil {
			yield("", err)
			return
		}
		m.mu.Lock()
		var subs []string
		for k := range m.transcripts {
			if k.Project == project && k.Session == session && k.Sub != "" {
				subs = append(subs, k.Sub)
			}
		}
		m.mu.Unlock()
		slices.Sort(subs)
		for _, s := range subs {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Delete implements [Transcripts].
func (m *MemoryStore) Delete(ctx context.Context, k Key, f Fence) error {
	if err := cmp.Or(k.Check(), f.check(k.Project), ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.allowed(f); err != nil {
		return err
	}
	defer m.feed.Publish(k.Project, Changed{Transcript: k, By: f})
	if k.Sub != "" {
		delete(m.transcripts, k)
		return nil
	}
	if m.deleted == nil {
		m.deleted = make(map[Key]bool)
	}
	m.deleted[k] = true
	for other := range m.transcripts {
		if other.Main() == k {
			delete(m.transcripts, other)
		}
	}
	return nil
}

// allowed reports whether a fence is that of the current lease. The lock is held.
func (m *MemoryStore) allowed(f Fence) error {
	if f.IsZero() {
		return nil
	}
	if l := m.leases[RecordKey{Project: f.Project, Name: f.Name}]; l == nil || l.token != f.Token || l.ends.IsZero() {
		return fmt.Errorf("claude: store: %s: %w", f.Name, ErrLeaseLost)
	}
	return nil
}

// Acquire implements [Leases].
func (m *MemoryStore) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (Lease, error) {
	if err := cmp.Or(checkAcquire(project, name, owner, ttl), ctx.Err()); err != nil {
		return Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := RecordKey{Project: project, Name: name}
	l, now := m.leases[k], m.now()
	if l == nil {
		l = new(leased)
		if m.leases == nil {
			m.leases = make(map[RecordKey]*leased)
		}
		m.leases[k] = l
	}
	if left := l.ends.Sub(now); left > 0 {
		return Lease{}, &HeldError{Name: name, Owner: l.owner, For: left}
	}
	l.owner, l.ends = owner, now.Add(ttl)
	l.token++
	return Lease{Fence{project, name, l.token}, owner, ttl}, nil
}

// Renew implements [Leases].
func (m *MemoryStore) Renew(ctx context.Context, l Lease) error {
	if err := cmp.Or(checkAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.allowed(l.Fence); err != nil {
		return err
	}
	m.leases[RecordKey{Project: l.Project, Name: l.Name}].ends = m.now().Add(l.TTL)
	return nil
}

// Release implements [Leases].
func (m *MemoryStore) Release(ctx context.Context, l Lease) error {
	if err := cmp.Or(CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.allowed(l.Fence) == nil {
		m.leases[RecordKey{Project: l.Project, Name: l.Name}].ends = time.Time{}
		m.feed.Publish(l.Project, Changed{Released: l.Name, By: l.Fence})
	}
	return nil
}

// recordsOf returns the records of a project. The lock is held.
func (m *MemoryStore) recordsOf(project string) *recordSet {
	if set := m.records[project]; set != nil {
		return set
	}
	return new(recordSet)
}

// Change implements [Records].
func (m *MemoryStore) Change(ctx context.Context, f Fence, changes ...RecordChange) ([]int64, error) {
	if err := cmp.Or(CheckChanges(changes, f), ctx.Err()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.allowed(f); err != nil {
		return nil, err
	}
	set := m.recordsOf(changes[0].Key.Project)
	for _, c := range changes {
		if err := set.fits(c); err != nil {
			return nil, err
		}
	}
	if m.records == nil {
		m.records = make(map[string]*recordSet)
	}
	m.records[changes[0].Key.Project] = set
	next := make([]int64, len(changes))
	for i, c := range changes {
		switch {
		case c.Keep:
			next[i] = c.Revision
			continue
		case c.Drop:
			set.drop(c.Key)
		default:
			m.revision++
			next[i] = m.revision
			set.put(Record{c.Key, bytes.Clone(c.Value), next[i]})
		}
		m.feed.Publish(c.Key.Project, Changed{Record: c.Key, Revision: next[i], By: f})
	}
	return next, nil
}

// Watch implements [Records].
func (m *MemoryStore) Watch(ctx context.Context, project string) iter.Seq2[Changed, error] {
	if err := CheckProject(project); err != nil {
		return func(yield func(Changed, error) bool) { yield(Changed{}, err) }
	}
	return m.feed.Watch(ctx, project)
}

// Scan implements [Records].
func (m *MemoryStore) Scan(ctx context.Context, f Folder, after string) iter.Seq2[Record, error] {
	return scan(ctx, f, after, func(do func(*recordSet) error) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		return do(m.recordsOf(f.Project))
	})
}

// View implements [Records]. Both strengths are the same here.
func (m *MemoryStore) View(ctx context.Context, v View) ([]Record, error) {
	if err := cmp.Or(v.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recordsOf(v.project()).view(v)
}

// Now implements [Records].
func (m *MemoryStore) Now(ctx context.Context) (time.Time, error) { return m.now(), ctx.Err() }
