package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

func deletions() []contract {
	return []contract{
		{"a deleted session is gone, and stays so", deletedStaysGone},
		{"to delete what never was is not an error", deleteNothing},
		{"sub-agents go with their session, and nothing else", deleteWithSubs},
		{"a sub-agent can go alone", deleteSub},
		{"a reader of what comes back does not read on in it", deleteWhileReading},
		{"nobody brings a session back while it is deleted", deleteWhileWriting},
		{"a fence is looked at", deleteFenced},
		{"an ended context deletes nothing", deleteRefused},
	}
}

func deletedStaysGone(s *subject) {
	k := s.session()
	s.append(k, line("a"))
	remove(s, k)
	s.wantsNone(s, k)
	s.wantsNone(s.again(), k)
	late := s.again()
	s.wantsError("a late append", late.Append(s.t.Context(), k, batch("", line("b"))), store.ErrDeleted)
	sub := k
	sub.Sub = "subagents/agent-1"
	s.wantsError("a late append of a sub-agent", late.Append(s.t.Context(), sub, batch("", line("b"))), store.ErrDeleted)
	s.wantsNone(s, k)
	s.wantsNone(s, sub)
}

func deleteNothing(s *subject) {
	k := s.session()
	remove(s, k)
	remove(s, k)
	k.Sub = "subagents/agent-1"
	remove(s, k)
}

func deleteWithSubs(s *subject) {
	k, other := s.session(), s.session()
	elsewhere := k
	elsewhere.Project += "-b"
	sub := k
	sub.Sub = "subagents/agent-1"
	for _, k := range []store.Key{k, sub, other, elsewhere} {
		s.append(k, line("a"))
	}
	remove(s, k)
	s.wantsNone(s, k)
	s.wantsNone(s, sub)
	s.wants(s, other, line("a"))
	s.wants(s, elsewhere, line("a"))
	s.append(elsewhere, line("b"))
	if got := collect(s.t, s.Fleet.List(s.t.Context(), s.project)); len(got) != 1 || got[0].Session != other.Session {
		s.t.Errorf("List = %v", got)
	}
	if got := collect(s.t, s.Fleet.Subagents(s.t.Context(), k.Project, k.Session)); len(got) != 0 {
		s.t.Errorf("Subagents = %v", got)
	}
}

func deleteSub(s *subject) {
	k := s.session()
	one, two := k, k
	one.Sub, two.Sub = "subagents/agent-1", "subagents/agent-2"
	for _, k := range []store.Key{k, one, two} {
		s.append(k, line("a"))
	}
	remove(s, one)
	s.wantsNone(s, one)
	s.wants(s, k, line("a"))
	s.wants(s, two, line("a"))
	s.append(one, line("b")) // it may come back
	s.wants(s.again(), one, line("b"))
	s.append(one, line("a"))
	s.wants(s, one, line("b"), line("a"))
}

// deleteWhileReading deletes a transcript of several pages while it is read, and writes
// another one in its place. The reader gets entries of the one that it began with: all of
// them, or fewer and an error.
func deleteWhileReading(s *subject) {
	const entries = 30
	k := s.session()
	k.Sub = "subagents/agent-1"
	pad := strings.Repeat("x", 300<<10) // a store reads a few of them at once
	fill := func(what string) {
		for n := range entries {
			s.append(k, fmt.Sprintf(`{"what":%q,"n":%d,"pad":%q}`, what, n, pad))
		}
	}
	fill("old")
	n := 0
	var last error
	for e, err := range store.Entries(s.t.Context(), s.Fleet, k) {
		if last = err; err != nil {
			break
		}
		if want := fmt.Sprintf(`{"what":"old","n":%d,`, n); !strings.HasPrefix(string(e), want) {
			s.t.Fatalf("entry %d is %.40s", n, e)
		}
		if n++; n == 1 {
			remove(s, k)
			fill("new")
		}
	}
	if whole := n == entries && last == nil; !whole && !errors.Is(last, store.ErrNotFound) {
		s.t.Errorf("%d entries, then %v", n, last)
	}
}

func deleteWhileWriting(s *subject) {
	k := s.session()
	s.append(k, line("a"))
	var wg sync.WaitGroup
	for w := range 4 {
		h := s.again()
		wg.Go(func() {
			for i := range 20 {
				_ = h.Append(s.t.Context(), k, batch("", line(fmt.Sprintf("%d-%d", w, i)))) // refused from some moment on
			}
		})
	}
	remove(s, k)
	wg.Wait()
	s.wantsNone(s, k)
}

func deleteFenced(s *subject) {
	l := s.Fleet
	k := s.session()
	s.append(k, line("a"))
	lease, err := l.Acquire(s.t.Context(), s.project, "c", "me", time.Minute)
	if err != nil {
		s.t.Fatal(err)
	}
	old := lease.Fence
	old.Token--
	s.wantsError("an old token", s.Fleet.Delete(s.t.Context(), k, old), store.ErrLeaseLost)
	s.wants(s, k, line("a"))
	if err := s.Fleet.Delete(s.t.Context(), k, lease.Fence); err != nil {
		s.t.Fatal(err)
	}
	s.wantsNone(s, k)
}

func deleteRefused(s *subject) {
	k := s.session()
	s.append(k, line("a"))
	if err := s.Fleet.Delete(ended(s.t), k, store.Fence{}); err == nil {
		s.t.Error("Delete works with a context that has ended")
	}
	s.wants(s, k, line("a"))
	if got := slices.Collect(s.bad()); len(got) != 0 {
		s.t.Errorf("bad keys are deleted: %v", got)
	}
}

// remove deletes a transcript and wants it to work.
func remove(s *subject, k store.Key) {
	s.t.Helper()
	if err := s.Fleet.Delete(s.t.Context(), k, store.Fence{}); err != nil {
		s.t.Fatalf("Delete: %v", err)
	}
}
