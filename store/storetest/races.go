package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// races are promises about calls that meet.
func races() []contract {
	return []contract{
		{"replies that are lost, calls that come twice and late", faultyCalls},
		{"summaries after many writers", summariesOfMany},
		{"lists after deleting while writing", listsAfterDelete},
		{"a sub-agent is deleted by one and written by another", subDeletedBesideAppend},
		{"sub-agents come and go while they are written and read", subsComeAndGo},
		{"compacted while it is written, read and deleted", compactBeside},
		{"an owner that was replaced changes no record, and deletes nothing", oldOwnerChangesNothing},
		{"an owner whose successor is gone again stays refused", successorGone},
	}
}

// faultyCalls repeats batches until each is acknowledged, while the way to the store
// loses replies, doubles requests and delivers some late.
func faultyCalls(s *subject) {
	k := s.session()
	for seed := range uint64(3) {
		f := storefault.Wrap(s.Fleet, storefault.Seeded(seed, 0.5, storefault.Fail, storefault.LostReply, storefault.Duplicate, storefault.Late))
		for i := range 12 {
			b := batch(fmt.Sprintf("b%d-%d", seed, i), line(fmt.Sprintf("%d-%d", seed, i)), fmt.Sprintf(`{"n":"%d-%d"}`, seed, i))
			for {
				err := f.Append(s.t.Context(), k, b)
				if err == nil {
					break
				}
				if !errors.Is(err, storefault.ErrFault) {
					s.t.Fatal(err)
				}
			}
		}
		f.Settle()
	}
	var want []string
	for seed := range 3 {
		for i := range 12 {
			want = append(want, line(fmt.Sprintf("%d-%d", seed, i)), fmt.Sprintf(`{"n":"%d-%d"}`, seed, i))
		}
	}
	s.wants(s.again(), k, want...)
}

func summariesOfMany(s *subject) {
	if s.target.NoSummaries {
		return
	}
	sum := s.Fleet
	k := s.session()
	var wg sync.WaitGroup
	for w := range 4 {
		h := s.again()
		wg.Go(func() {
			for i := range 8 {
				id := fmt.Sprintf("%d-%d", w, i)
				b := batch("", said(id, "prompt "+id), fmt.Sprintf(`{"type":"custom-title","customTitle":"title %s"}`, id))
				if err := h.Append(s.t.Context(), k, b); err != nil {
					s.t.Error(err)
				}
				if i%3 == 0 {
					collect(s.t, h.List(s.t.Context(), s.project))
				}
			}
		})
	}
	wg.Wait()
	want := storeimpl.Fold(nil, collect(s.t, store.Entries(s.t.Context(), s, k))...)
	for _, from := range []store.Fleet{sum, s.again()} {
		got := collect(s.t, from.List(s.t.Context(), s.project))
		if len(got) != 1 || !bytes.Equal(got[0].Data, want) {
			s.t.Fatalf("summaries %q\nwant %s", got, want)
		}
	}
}

// listsAfterDelete deletes sessions while others write to them. No list has them
// afterwards.
func listsAfterDelete(s *subject) {
	stays := s.session()
	s.append(stays, line("a"))
	for round := range 4 {
		k := s.session()
		sub := k
		sub.Sub = "subagents/agent-1"
		s.append(k, said("a", "secret"))
		var wg sync.WaitGroup
		for w := range 3 {
			h := s.again()
			wg.Go(func() {
				for i := range 6 {
					for _, k := range []store.Key{k, sub} {
						_ = h.Append(s.t.Context(), k, batch("", line(fmt.Sprintf("%d-%d", w, i)))) // refused from some moment on
					}
					if i%2 == round%2 {
						collect(s.t, h.List(s.t.Context(), s.project))
					}
				}
			})
		}
		remove(s, k)
		wg.Wait()
		s.wantsNone(s, k)
		s.wantsNone(s, sub)
		if got := collect(s.t, s.Fleet.Subagents(s.t.Context(), k.Project, k.Session)); len(got) != 0 {
			s.t.Fatalf("Subagents = %q", got)
		}
	}
	if got := s.ids(s.again(), s.project); len(got) != 1 || got[0] != stays.Session {
		s.t.Fatalf("List = %q", got)
	}
	if got := collect(s.t, s.Fleet.List(s.t.Context(), s.project)); len(got) != 1 || got[0].Session != stays.Session {
		s.t.Fatalf("summaries %q", got)
	}
}

// subDeletedBesideAppend deletes a transcript behind the back of a writer that
// remembers it.
func subDeletedBesideAppend(s *subject) {
	k := s.session()
	k.Sub = "subagents/agent-1"
	writer, other := s.again(), s.again()
	appends := func(id, l string) {
		s.t.Helper()
		if err := writer.Append(s.t.Context(), k, batch(id, l)); err != nil {
			s.t.Fatal(err)
		}
	}
	appends("b1", line("1"))
	appends("b2", line("2"))
	if err := other.Delete(s.t.Context(), k, store.Fence{}); err != nil {
		s.t.Fatal(err)
	}
	appends("b3", line("3"))
	s.wants(s, k, line("3"))
	appends("b1", line("1")) // it is not stored any more
	s.wants(other, k, line("3"), line("1"))
	if got := collect(s.t, s.Fleet.Subagents(s.t.Context(), k.Project, k.Session)); len(got) != 1 {
		s.t.Errorf("Subagents = %q", got)
	}
}

// subsComeAndGo wants readers to see batches whole and in order, of one life of the
// transcript only, and writers never to fail.
func subsComeAndGo(s *subject) {
	k := s.session()
	k.Sub = "subagents/agent-1"
	stop := make(chan struct{})
	var writers, others sync.WaitGroup
	for w := range 2 {
		h := s.again()
		writers.Go(func() {
			for i := range 25 {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := h.Append(s.t.Context(), k, batch(id, line(id+"-a"), line(id+"-b"))); err != nil {
					s.t.Errorf("Append: %v", err)
				}
			}
		})
	}
	endless := func(do func()) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	deleter, reader := s.again(), s.again()
	endless(func() {
		if err := deleter.Delete(s.t.Context(), k, store.Fence{}); err != nil {
			s.t.Errorf("Delete: %v", err)
		}
		s.tick()
	})
	endless(func() { s.wholeBatches(reader, k) })
	writers.Wait()
	close(stop)
	others.Wait()
	s.append(k, line("end"))
	if err := s.wholeBatches(s.again(), k); err != nil {
		s.t.Errorf("Load at the end: %v", err)
	}
}

// wholeBatches loads a transcript and wants each batch of two whole. It returns the
// error that a loop may end with when the transcript is deleted.
func (s *subject) wholeBatches(from store.Fleet, k store.Key) error {
	open := ""
	for e, err := range store.Entries(s.t.Context(), from, k) {
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) {
				s.t.Errorf("Load: %v", err)
			}
			return err
		}
		id, second := strings.CutSuffix(e.UUID(), "-b")
		if second != (open != "") || second && id != open {
			s.t.Errorf("%q comes after %q", e.UUID(), open)
			return nil
		}
		open, _ = strings.CutSuffix(e.UUID(), "-a")
		if second || e.UUID() == "end" {
			open = ""
		}
	}
	if open != "" {
		s.t.Errorf("batch %s is there in part", open)
	}
	return nil
}

func compactBeside(s *subject) {
	if s.target.Compact == nil {
		return
	}
	k := s.session()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		other := s.again()
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.target.Compact(s.t.Context(), other, k); err != nil {
					s.t.Errorf("Compact: %v", err)
				}
			}
		})
	}
	var want []string
	for i := range 40 {
		one, two := line(fmt.Sprint(i, "-a")), line(fmt.Sprint(i, "-b"))
		if err := s.Append(s.t.Context(), k, batch(fmt.Sprint("b", i), one, two)); err != nil {
			s.t.Errorf("Append: %v", err)
		}
		want = append(want, one, two)
		if i%5 == 0 {
			s.wants(s, k, want...)
		}
	}
	s.wants(s.again(), k, want...)
	for i := range 40 {
		if err := s.Append(s.t.Context(), k, batch(fmt.Sprint("b", i), `{"type":"tag"}`)); err != nil {
			s.t.Errorf("Append again: %v", err)
		}
	}
	s.wants(s.again(), k, want...)
	remove(s, k)
	close(stop)
	wg.Wait()
	s.wantsNone(s, k)
}

// oldOwnerChangesNothing lets an owner write in a loop while another takes its
// place. From when the new one has the lease, nothing changes any more.
func oldOwnerChangesNothing(s *subject) {
	l := s.Fleet
	k := s.session()
	rk := store.RecordKey{Project: s.project, Kind: "state", Name: "a"}
	first := s.acquire(l, "me", short)
	var wg, wrote sync.WaitGroup // wrote: each of the writers, once
	wrote.Add(1)
	wg.Go(func() {
		once := sync.OnceFunc(wrote.Done)
		defer once()
		for i := 0; ; i++ {
			if err := s.Append(s.t.Context(), k, fenced(first, line(fmt.Sprint(i)))); err != nil {
				s.wantsLost("Append", err)
				return
			}
			once()
			if i == 0 {
				nearEnd()
			}
		}
	})
	wrote.Add(1)
	wg.Go(func() {
		once := sync.OnceFunc(wrote.Done)
		defer once()
		for rev := int64(0); ; {
			next, err := store.Put(s.t.Context(), s, rk, nil, rev, first.Fence)
			if err != nil {
				s.wantsLost("PutRecord", err)
				return
			}
			once()
			if rev == 0 {
				nearEnd()
			}
			rev = next
		}
	})
	wrote.Wait()
	other := s.again()
	s.takeOver(other, "you")
	entries := collect(s.t, store.Entries(s.t.Context(), other, k))
	var before store.Record
	var err error
	if before, err = store.Get(s.t.Context(), other, rk); err != nil {
		s.t.Error(err)
	}
	wg.Wait()
	s.wantsLost("Delete", s.Delete(s.t.Context(), k, first.Fence))
	s.wantsLost("DropRecord", store.Drop(s.t.Context(), s, rk, before.Revision, first.Fence))
	if now, err := store.Get(s.t.Context(), s, rk); err != nil || now.Revision != before.Revision {
		s.t.Errorf("the record has revision %d, %v; the new owner saw %d", now.Revision, err, before.Revision)
	}
	if now := collect(s.t, store.Entries(s.t.Context(), other, k)); len(now) != len(entries) {
		s.t.Errorf("there are %d entries; the new owner saw %d", len(now), len(entries))
	}
}

// wantsLost wants an error that reports the lease as lost.
func (s *subject) wantsLost(what string, err error) {
	s.t.Helper()
	if !errors.Is(err, store.ErrLeaseLost) {
		s.t.Errorf("%s: %v; want %v", what, err, store.ErrLeaseLost)
	}
}

func successorGone(s *subject) {
	l := s.Fleet
	k := s.session()
	first := s.acquire(l, "me", short)
	if err := s.Append(s.t.Context(), k, fenced(first, line("a"))); err != nil {
		s.t.Fatal(err)
	}
	other := s.again()
	second := s.takeOver(other, "you")
	if err := other.Release(s.t.Context(), second); err != nil {
		s.t.Fatal(err)
	}
	s.wantsLost("Append", s.Append(s.t.Context(), k, fenced(first, line("b"))))
	s.wantsLost("Append of nothing", s.Append(s.t.Context(), k, fenced(first)))
	s.wantsLost("Append of what is there", s.Append(s.t.Context(), k, fenced(first, line("a"))))
	s.wantsLost("Renew", l.Renew(s.t.Context(), first))
	s.wantsLost("Append of the second", s.Append(s.t.Context(), k, fenced(second, line("b"))))
	s.wantsLost("Delete", s.Fleet.Delete(s.t.Context(), k, first.Fence))
	_, err := store.Put(s.t.Context(), s.Fleet, store.RecordKey{Project: s.project, Kind: "k", Name: "n"}, nil, 0, first.Fence)
	s.wantsLost("PutRecord", err)
	if err := l.Release(s.t.Context(), first); err != nil {
		s.t.Error(err)
	}
	begin := time.Now()
	third := s.acquire(l, "them", time.Minute)
	if third.Token <= second.Token || time.Since(begin) > 20*short {
		s.t.Errorf("token %d after %d, %v later", third.Token, second.Token, time.Since(begin))
	}
	s.wants(s, k, line("a"))
}
