package store_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// Two stores together keep the contract of one. Another process joins the same two.
func TestJoin(t *testing.T) {
	for name, transcripts := range map[string]func(t *testing.T) store.Fleet{
		"memory": func(*testing.T) store.Fleet { return store.Memory() },
		"files": func(t *testing.T) store.Fleet {
			s := store.Files(t.TempDir())
			s.NoSync = true
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "files" {
				long.Test(t, "holds files to the contract once more, under the records of another store")
			}
			storetest.Run(t, inTwo(transcripts))
		})
	}
}

// Two stores together may be wrapped like one.
func TestJoinWrapped(t *testing.T) {
	long.Test(t, "holds two stores to the contract twice more; TestMemoryWrapped wraps on the quick level")
	storetest.RunWrapped(t, inTwo(func(*testing.T) store.Fleet { return store.Memory() }))
}

// inTwo keeps the transcripts in one store, and the rest in another.
func inTwo(transcripts func(*testing.T) store.Fleet) storetest.Target {
	again := make(map[store.Fleet]func() store.Fleet)
	return storetest.Target{
		Open: func(t *testing.T) store.Fleet {
			side, rest := transcripts(t), store.Memory()
			s := store.Join(side, rest)
			again[s] = func() store.Fleet { return store.Join(side, rest) }
			return s
		},
		Again: func(_ *testing.T, s store.Fleet) store.Fleet { return again[s]() },
	}
}

// tapped is a store of transcripts whose calls can be held up or fail.
type tapped struct {
	store.Sessions
	mu   sync.Mutex
	next map[string]func() // called once, in the next call of that name: "before Acquire"
	down error
}

func (s *tapped) on(call string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(map[string]func())
	}
	s.next[call] = do
}

func (s *tapped) call(name string, do func() error) error {
	s.point("before " + name)
	err := s.down
	if err == nil {
		err = do()
	}
	s.point("after " + name)
	return err
}

func (s *tapped) point(name string) {
	s.mu.Lock()
	do := s.next[name]
	delete(s.next, name)
	s.mu.Unlock()
	if do != nil {
		do()
	}
}

func (s *tapped) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (l store.Lease, err error) {
	err = s.call("Acquire", func() (err error) {
		l, err = s.Sessions.Acquire(ctx, project, name, owner, ttl)
		return err
	})
	return l, err
}

func (s *tapped) Renew(ctx context.Context, l store.Lease) error {
	return s.call("Renew", func() error { return s.Sessions.Renew(ctx, l) })
}

func (s *tapped) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return s.call("Append", func() error { return s.Sessions.Append(ctx, k, b) })
}

func (s *tapped) Release(ctx context.Context, l store.Lease) error {
	return s.call("Release", func() error { return s.Sessions.Release(ctx, l) })
}

// party is a potential owner of a conversation: a process that joins two stores.
type party struct {
	store.Fleet
	side *tapped
	t    *testing.T
}

// parties are processes that join the same two stores.
func parties(t *testing.T) (a, b *party) {
	side, rest := store.Memory(), store.Memory()
	join := func() *party {
		tap := &tapped{Sessions: side}
		return &party{store.Join(tap, rest), tap, t}
	}
	return join(), join()
}

const joinTTL = 10 * time.Second

var joinKey = store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000022"}

func (p *party) try(who string) (store.Lease, error) {
	return p.Acquire(p.t.Context(), "p", "conversation", who, joinTTL)
}

func (p *party) own(who string) store.Lease {
	p.t.Helper()
	l, err := p.try(who)
	if err != nil {
		p.t.Fatalf("%s: %v", who, err)
	}
	return l
}

// wants wants both stores to accept writes, or to refuse them.
func (p *party) wants(who string, l store.Lease, want error) {
	p.t.Helper()
	ctx := p.t.Context()
	line := fmt.Appendf(nil, `{"uuid":%q}`, uuid.New())
	side := p.Append(ctx, joinKey, store.Batch{Fence: l.Fence, Entries: []store.Entry{line}})
	_, rest := store.Put(ctx, p, store.RecordKey{Project: "p", Kind: "k", Name: "n" + uuid.New()}, nil, 0, l.Fence)
	if !errors.Is(side, want) || !errors.Is(rest, want) {
		p.t.Errorf("%s writes: %v to its transcripts, %v to the records; want %v", who, side, rest, want)
	}
}

// An owner whose lease was taken can write neither transcripts nor records. Who has only
// the value of a lease can use it.
func TestJoinReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := parties(t)
		first := a.own("a")
		a.wants("a", first, nil)
		b.wants("one with the lease of a", first, nil)
		if _, err := b.try("b"); !errors.Is(err, store.ErrLeased) {
			t.Errorf("b takes the lease of a: %v", err)
		}
		<-time.After(joinTTL + time.Second)
		second := b.own("b")
		a.wants("a", first, store.ErrLeaseLost)
		a.wants("a again", first, store.ErrLeaseLost)
		if err := a.Renew(t.Context(), first); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("a renews: %v", err)
		}
		if err := a.Release(t.Context(), first); err != nil {
			t.Errorf("a releases: %v", err)
		}
		if err := b.Renew(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		b.wants("b", second, nil)
		if err := a.Delete(t.Context(), joinKey, first.Fence); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("a deletes: %v", err)
		}
		if err := a.Release(t.Context(), second); err != nil { // by its value
			t.Fatal(err)
		}
		b.wants("b", second, store.ErrLeaseLost)
		a.wants("a", a.own("a"), nil) // at once: both leases were given back
	})
}

// If only the lease of the transcripts is lost, ownership is lost: the next renewal reports
// it.
func TestJoinLostBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := parties(t)
		l := a.own("a")
		if err := a.side.Sessions.Release(t.Context(), store.Lease{Fence: store.Fence{Project: "p", Name: "conversation", Token: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := a.Renew(t.Context(), l); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("it renews: %v", err)
		}
		if err := a.Append(t.Context(), joinKey, store.Batch{Fence: l.Fence, Entries: []store.Entry{[]byte("{}")}}); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("it writes: %v", err)
		}
	})
}

// An owner that is replaced when its batch is stored, and before that is announced, has
// written it: there is no error, and watchers learn about it.
func TestJoinLostAfterAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := parties(t)
		l := a.own("a")
		a.side.on("after Append", func() {
			<-time.After(joinTTL + time.Second)
			b.own("b")
		})
		var told []store.Key
		go func() {
			for c, err := range b.Watch(t.Context(), "p") {
				if err == nil && c.Transcript != (store.Key{}) {
					told = append(told, c.Transcript)
				}
			}
		}()
		synctest.Wait()
		if err := a.Append(t.Context(), joinKey, store.Batch{Fence: l.Fence, Entries: []store.Entry{[]byte("{}")}}); err != nil {
			t.Errorf("the batch is stored: %v", err)
		}
		synctest.Wait()
		if !slices.Contains(told, joinKey) {
			t.Errorf("watchers learned about %v", told)
		}
	})
}

// A process that is suspended between the steps of taking a lease, and resumes when another
// one has taken it, does not get it, and does not disturb its owner.
func TestJoinPaused(t *testing.T) {
	for _, when := range []string{"before Acquire", "after Acquire"} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprint(when, expired), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b := parties(t)
					wake := make(chan struct{})
					a.side.on(when, func() { <-wake })
					var late store.Lease
					result := make(chan error, 1)
					go func() {
						l, err := a.try("a")
						late = l
						result <- err
					}()
					<-time.After(joinTTL + time.Second)
					second := b.own("b")
					if expired {
						<-time.After(joinTTL + time.Second) // of both leases of b
					}
					close(wake)
					err := <-result
					if expired && err == nil { // it takes over from b, as any other
						a.wants("a", late, nil)
						b.wants("b", second, store.ErrLeaseLost)
						return
					}
					if expired || !errors.Is(err, store.ErrLeased) {
						t.Fatalf("a, who woke up late: %v; want %v", err, store.ErrLeased)
					}
					if err := b.Renew(t.Context(), second); err != nil {
						t.Error(err)
					}
					b.wants("b", second, nil)
				})
			})
		}
	}
}

// A caller that gives up while the leases are being taken leaves none behind: the next
// process has both at once.
func TestJoinGivenUp(t *testing.T) {
	for _, when := range []string{"before Acquire", "after Acquire"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := parties(t)
				ctx, cancel := context.WithCancel(t.Context())
				a.side.on(when, cancel)
				if _, err := a.Acquire(ctx, "p", "conversation", "a", joinTTL); !errors.Is(err, context.Canceled) {
					t.Fatalf("a, who gives up: %v", err)
				}
				b.wants("b", b.own("b"), nil)
			})
		})
	}
}

// An owner that was replaced, and renews its lease, does not make the lease of the
// transcripts last longer: its successor waits for it there. Meanwhile no one else tries.
func TestJoinHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := parties(t)
		first := a.own("a")
		a.side.on("after Renew", func() { <-time.After(time.Second) }) // so that it ends later beside
		a.side.on("before Renew", func() { <-time.After(time.Second) })
		if err := a.Renew(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		a.side.on("before Renew", func() { t.Error("it was renewed") })
		<-time.After(joinTTL - 2*time.Second + time.Millisecond) // the lease is over, and that of the transcripts is not
		_, err := b.try("b")
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok || held.For > time.Second {
			t.Fatalf("b takes it too early: %v", err)
		}
		if err := a.Renew(t.Context(), first); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("a renews: %v", err)
		}
		tried := false
		b.side.on("before Acquire", func() { tried = true })
		if _, err := b.try("c"); !errors.Is(err, store.ErrLeased) || tried {
			t.Errorf("c: %v; has it tried? %v", err, tried)
		}
		b.side.on("before Acquire", nil)
		<-time.After(held.For)
		b.wants("b", b.own("b"), nil)
		a.wants("a", first, store.ErrLeaseLost)
	})
}

// While the store of the transcripts is down, no party gets a lease, and none is locked out
// afterwards.
func TestJoinBesideDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := parties(t)
		down := errors.New("down")
		a.side.down = down
		if _, err := a.try("a"); !errors.Is(err, down) {
			t.Errorf("Acquire: %v", err)
		}
		a.side.down = nil
		l := a.own("a")
		a.side.down = down
		if err := a.Renew(t.Context(), l); !errors.Is(err, down) {
			t.Errorf("Renew: %v", err)
		}
		if err := a.Release(t.Context(), l); !errors.Is(err, down) {
			t.Errorf("Release: %v", err)
		}
		<-time.After(joinTTL)
		b.wants("b", b.own("b"), nil)
	})
}

// A watcher learns about transcripts that any process appends to or deletes, and about
// nothing that only a join needs. Nothing of a deleted session is left in the records.
func TestJoinWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := parties(t)
		var mu sync.Mutex
		var got []store.Changed
		go func() {
			for c, err := range b.Fleet.(interface {
				Watch(context.Context, string) iter.Seq2[store.Changed, error]
			}).Watch(t.Context(), "p") {
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				got = append(got, c)
				mu.Unlock()
			}
		}()
		synctest.Wait()
		l := a.own("a")
		sub := joinKey
		sub.Sub = "subagents/agent-1"
		line := []store.Entry{[]byte("{}")}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(a.Append(t.Context(), joinKey, store.Batch{Fence: l.Fence, Entries: line}))
		must(a.Append(t.Context(), joinKey, store.Batch{Fence: l.Fence}))
		must(b.Append(t.Context(), sub, store.Batch{Entries: line}))
		must(a.Append(t.Context(), sub, store.Batch{Fence: l.Fence, Entries: line}))
		must(a.Release(t.Context(), l))
		synctest.Wait()
		want := []store.Changed{{}, {Transcript: joinKey, By: l.Fence}, {Transcript: sub}, {Transcript: sub, By: l.Fence}, {Released: "conversation", By: l.Fence}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		got = nil
		must(a.Delete(t.Context(), joinKey, store.Fence{}))
		synctest.Wait()
		told := false
		for _, c := range got {
			told = told || c == store.Changed{Transcript: joinKey}
			if c.Transcript == (store.Key{}) {
				t.Errorf("got %+v", c)
			}
		}
		if !told {
			t.Errorf("no word of a deletion: %+v", got)
		}
		for _, kind := range []string{"leases", "sessions", joinKey.Session} {
			for r, err := range b.Scan(t.Context(), store.Folder{Project: "p", Kind: "store.join." + kind}, "") {
				t.Errorf("left over: %v, %v", r.Key, err)
			}
		}
	})
}
