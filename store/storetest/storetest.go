package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// Target is a store to be tested.
type Target struct {
	// Open returns a store for a test. It may return the same one each time.
	// Close what needs closing in a cleanup of the test.
	Open func(t *testing.T) store.Fleet
	// Again returns the store of a test as another process would open it, with
	// nothing in memory. If it is nil, the tests use the store itself.
	Again func(t *testing.T, s store.Fleet) store.Fleet
	// Process returns a command that opens the store of a test in another
	// process and calls Own, which is usually the test's own program with a
	// variable in its environment. If it is nil, owners in other processes are
	// not tested.
	Process func(t *testing.T, s store.Fleet) *exec.Cmd
	// Layout replaces the version that the store of a test has written beside its data;
	// "" removes it. If it is nil, versions are not tested.
	Layout func(t *testing.T, s store.Fleet, version string)
	// Compact tidies up a transcript while others use it. It is nil for a store that
	// does so by itself.
	Compact func(ctx context.Context, s store.Fleet, k store.Key) error
	// NoSummaries is set for a store that keeps no summaries: what it lists has no Data.
	NoSummaries bool
}

// Run tests a store against the contract.
func Run(t *testing.T, target Target) {
	group := func(name string, tests []contract) {
		t.Run(name, func(t *testing.T) {
			for _, c := range tests {
				t.Run(c.name, func(t *testing.T) {
					s := &subject{t: t, target: target, project: "test-" + strings.ToLower(rand.Text())}
					s.Fleet = target.Open(t)
					c.run(s)
				})
			}
		})
	}
	group("Transcripts", transcripts())
	group("Load", tails())
	group("List", listings())
	group("Subagents", subListings())
	if target.NoSummaries {
		group("Summaries", noSummaries())
	} else {
		group("Summaries", summaries())
	}
	group("Delete", deletions())
	group("Leases", leases())
	group("Records", records())
	group("Change", changes())
	group("Keep", keeps())
	group("View", views())
	group("Strengths", strengths())
	group("Watch", watches())
	if target.Layout != nil {
		group("Layout", layouts())
	}
	group("Input", inputs())
	group("Races", races())
	group("Model", models())
	if target.Process != nil {
		group("Owners", owners())
	}
}

// contract is one promise of a store.
type contract struct {
	name string
	run  func(*subject)
}

// subject is the store that a contract is held against, with a project of its own.
type subject struct {
	store.Fleet
	t       *testing.T
	target  Target
	project string
}

// again returns the store as another process sees it.
func (s *subject) again() store.Fleet {
	if s.target.Again == nil {
		return s.Fleet
	}
	return s.target.Again(s.t, s.Fleet)
}

// session returns the key of a new session.
func (s *subject) session() store.Key { return store.Key{Project: s.project, Session: uuid.New()} }

// append appends lines and wants it to work.
func (s *subject) append(k store.Key, lines ...string) {
	s.t.Helper()
	if err := s.Append(s.t.Context(), k, batch("", lines...)); err != nil {
		s.t.Fatalf("Append: %v", err)
	}
}

// batch makes a batch of lines.
func batch(id string, lines ...string) store.Batch {
	b := store.Batch{ID: id}
	for _, line := range lines {
		b.Entries = append(b.Entries, store.Entry(line))
	}
	return b
}

// line is an entry with a uuid.
func line(id string) string { return fmt.Sprintf(`{"type":"user","uuid":%q}`, id) }

// wants loads a transcript from a store and wants these lines.
func (s *subject) wants(from store.Fleet, k store.Key, want ...string) {
	s.t.Helper()
	var got []string
	for e, err := range store.Entries(s.t.Context(), from, k) {
		if err != nil {
			s.t.Fatalf("Load: %v after %q", err, got)
		}
		got = append(got, string(e))
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("Load = %s\nwant   %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// wantsNone wants a transcript not to be there.
func (s *subject) wantsNone(from store.Fleet, k store.Key) {
	s.t.Helper()
	for e, err := range store.Entries(s.t.Context(), from, k) {
		if !errors.Is(err, store.ErrNotFound) {
			s.t.Fatalf("Load = %s, %v; want ErrNotFound", e, err)
		}
		return
	}
	s.t.Fatal("Load yields nothing; want ErrNotFound")
}

// wantsError wants an error that matches one of the package's.
func (s *subject) wantsError(what string, err, want error) {
	s.t.Helper()
	if !errors.Is(err, want) {
		s.t.Fatalf("%s: %v; want %v", what, err, want)
	}
}

// collect ranges over a list and wants no error.
func collect[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for item, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, item)
	}
	return out
}

// lastError ranges over a list and returns its error.
func lastError[T any](list iter.Seq2[T, error]) (last error) {
	for _, err := range list {
		if err != nil {
			last = err
		}
	}
	return last
}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func (s *subject) recordKey(name string) store.RecordKey {
	return store.RecordKey{Project: s.project, Kind: "state", Name: name}
}

// wantsRecord wants a record to have a value; none if its revision is 0.
func (s *subject) wantsRecord(name, value string, revision int64) {
	s.t.Helper()
	got, err := store.Get(s.t.Context(), s.again(), s.recordKey(name))
	if revision == 0 {
		s.wantsError(name, err, store.ErrNotFound)
	} else if err != nil || string(got.Value) != value || got.Revision != revision {
		s.t.Errorf("%s is %.20q of revision %d, %v; want %.20q of revision %d", name, got.Value, got.Revision, err, value, revision)
	}
}

// bad yields bad keys that Delete takes.
func (s *subject) bad() func(func(store.Key) bool) {
	return func(yield func(store.Key) bool) {
		for _, k := range []store.Key{{}, {Project: "..", Session: s.session().Session}, {Project: s.project, Session: ".."}} {
			if s.Fleet.Delete(s.t.Context(), k, store.Fence{}) == nil && !yield(k) {
				return
			}
		}
	}
}

// refused wants every method of a store refused.
func (s *subject) refused(of store.Fleet, k store.Key, r store.RecordKey, want error) {
	s.t.Helper()
	ctx := s.t.Context()
	wants := func(method string, err error) {
		s.t.Helper()
		s.wantsError(method, err, want)
	}
	wants("Append", of.Append(ctx, k, batch("", line("two"))))
	wants("Load", lastError(store.Entries(ctx, of, k)))
	wants("List", lastError(of.List(ctx, k.Project)))
	wants("Subagents", lastError(of.Subagents(ctx, k.Project, k.Session)))
	wants("Delete", of.Delete(ctx, k, store.Fence{}))
	_, err := of.Acquire(ctx, k.Project, "lease", "owner", time.Minute)
	wants("Acquire", err)
	l := store.Lease{Fence: store.Fence{Project: k.Project, Name: "lease", Token: 1}, Owner: "owner", TTL: time.Minute}
	wants("Renew", of.Renew(ctx, l))
	wants("Release", of.Release(ctx, l))
	_, err = of.View(ctx, store.View{Keys: []store.RecordKey{r}})
	wants("View", err)
	_, err = of.Change(ctx, store.Fence{}, store.RecordChange{Key: r, Value: []byte("2")})
	wants("Change", err)
	wants("Watch", lastError(of.Watch(ctx, r.Project)))
	wants("Scan", lastError(of.Scan(ctx, store.Folder{Project: r.Project, Kind: r.Kind}, "")))
	wants("Scan", lastError(of.Scan(ctx, store.Folder{Project: r.Project, Kind: r.Kind, Name: "folder"}, "")))
}

// leaser is the store, and as another process sees it.
func (s *subject) leaser() (mine, other store.Leases) {
	return s.Fleet, s.again()
}

// acquire wants a lease.
func (s *subject) acquire(l store.Leases, owner string, ttl time.Duration) store.Lease {
	s.t.Helper()
	lease, err := l.Acquire(s.t.Context(), s.project, "conversation", owner, ttl)
	if err != nil {
		s.t.Fatalf("Acquire for %s: %v", owner, err)
	}
	return lease
}

// takeOver waits for a lease to expire and acquires it.
func (s *subject) takeOver(l store.Leases, owner string) store.Lease {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute) // a busy machine is slow
	for {
		lease, err := l.Acquire(s.t.Context(), s.project, "conversation", owner, time.Minute)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok {
			if err != nil {
				s.t.Fatal(err)
			}
			return lease
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the lease does not expire: %v", err)
		}
		time.Sleep(min(held.For, short)) // as long as the store reports
	}
}

// ids returns the sessions that a store lists.
func (s *subject) ids(from store.Fleet, project string) []string {
	s.t.Helper()
	var out []string
	for _, item := range collect(s.t, from.List(s.t.Context(), project)) {
		out = append(out, item.Session)
	}
	return out
}

// tick waits until the clock of the store has moved on: times may be as coarse as
// a millisecond.
func (s *subject) tick() {
	begin := time.Now()
	for time.Since(begin) < 2*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
}

// put changes a record and wants it to work.
func (s *subject) put(r store.Records, k store.RecordKey, value string, revision int64) int64 {
	s.t.Helper()
	next, err := store.Put(s.t.Context(), r, k, []byte(value), revision, store.Fence{})
	if err != nil {
		s.t.Fatalf("PutRecord %v: %v", k, err)
	}
	if next == 0 || next == revision {
		s.t.Fatalf("PutRecord %v: revision %d after %d", k, next, revision)
	}
	return next
}

// sorted scans the records of a kind, wants these names in order, and yields them.
func (s *subject) sorted(r store.Records, project, kind string, names []string) iter.Seq[store.Record] {
	return func(yield func(store.Record) bool) {
		slices.Sort(names)
		got := collect(s.t, r.Scan(s.t.Context(), store.Folder{Project: project, Kind: kind}, ""))
		if len(got) != len(names) {
			s.t.Fatalf("%d records, want %d", len(got), len(names))
		}
		for i, rec := range got {
			if rec.Key.Name != names[i] {
				s.t.Fatalf("record %d is %s, want %s", i, rec.Key.Name, names[i])
			}
			if !yield(rec) {
				return
			}
		}
	}
}

// change makes changes, all or none.
func (s *subject) change(r store.Records, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	return r.Change(s.t.Context(), f, c...)
}

// asked is a view of the records with some names and in some folders; the name "" is all
// of the kind.
func (s *subject) asked(names, folders []string) store.View {
	var v store.View
	for _, name := range names {
		v.Keys = append(v.Keys, s.recordKey(name))
	}
	for _, name := range folders {
		v.Folders = append(v.Folders, store.Folder(s.recordKey(name)))
	}
	return v
}

// view views the records with some names, and in some folders. It asks for what is known
// to the store.
func (s *subject) view(r store.Records, names, folders []string) []store.Record {
	s.t.Helper()
	v := s.asked(names, folders)
	v.Known = true
	all, err := r.View(s.t.Context(), v)
	if err != nil {
		s.t.Fatalf("View: %v", err)
	}
	return all
}
