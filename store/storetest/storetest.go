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
	s := target.Open(t)
	if store.Batcher(s) != nil {
		group("RecordBatcher", batches())
	}
	if store.Viewer(s) != nil {
		group("RecordViewer", views())
	}
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
