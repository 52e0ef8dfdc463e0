package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// short is a time to live that a test waits for.
const short = 300 * time.Millisecond

func leases() []contract {
	return []contract{
		{"a lease excludes, and says whom", leaseExcludes},
		{"a lease that was given back is free, and its token is void", leaseReleased},
		{"a lease expires, and its owner is fenced off", leaseExpires},
		{"a lease that is renewed lasts", leaseRenewed},
		{"an expired lease that nobody wanted can be renewed", leaseRenewedLate},
		{"many want it, one gets it", leaseContended},
		{"no append of an old owner comes after one of the new", leaseFences},
		{"bad names, owners, times and fences", leaseRefused},
	}
}

// fenced makes a batch under a lease.
func fenced(l store.Lease, lines ...string) store.Batch {
	b := batch("", lines...)
	b.Fence = l.Fence
	return b
}

func leaseExcludes(s *subject) {
	mine, other := s.leaser()
	lease := s.acquire(mine, "me", time.Minute)
	if lease.Project != s.project || lease.Name != "conversation" || lease.Token < 1 || lease.Owner != "me" || lease.TTL != time.Minute {
		s.t.Errorf("lease %+v", lease)
	}
	_, err := other.Acquire(s.t.Context(), s.project, "conversation", "you", time.Minute)
	held, ok := errors.AsType[*store.HeldError](err)
	if !ok || !errors.Is(err, store.ErrLeased) || held.Owner != "me" || held.For <= 0 || held.For > time.Minute {
		s.t.Fatalf("the second: %v", err)
	}
	if _, err := mine.Acquire(s.t.Context(), s.project, "conversation", "me", time.Minute); !errors.Is(err, store.ErrLeased) {
		s.t.Errorf("the same owner again: %v", err)
	}
	if _, err := mine.Acquire(s.t.Context(), s.project, "another", "you", time.Minute); err != nil {
		s.t.Errorf("another name: %v", err)
	}
	if _, err := mine.Acquire(s.t.Context(), s.project+"-b", "conversation", "you", time.Minute); err != nil {
		s.t.Errorf("another project: %v", err)
	}
}

func leaseReleased(s *subject) {
	mine, other := s.leaser()
	k := s.session()
	first := s.acquire(mine, "me", time.Minute)
	if err := mine.Release(s.t.Context(), first); err != nil {
		s.t.Fatal(err)
	}
	s.wantsError("an append after Release", s.Append(s.t.Context(), k, fenced(first, line("a"))), store.ErrLeaseLost)
	s.wantsError("Renew after Release", mine.Renew(s.t.Context(), first), store.ErrLeaseLost)
	second := s.acquire(other, "you", time.Minute)
	if second.Token <= first.Token {
		s.t.Errorf("token %d after %d", second.Token, first.Token)
	}
	if err := mine.Release(s.t.Context(), first); err != nil {
		s.t.Errorf("Release again: %v", err)
	}
	if err := other.Renew(s.t.Context(), second); err != nil {
		s.t.Errorf("the release of an old lease took the new one away: %v", err)
	}
}

func leaseExpires(s *subject) {
	mine, other := s.leaser()
	k := s.session()
	first := s.acquire(mine, "me", short)
	if err := s.Append(s.t.Context(), k, fenced(first, line("a"))); err != nil {
		s.t.Fatal(err)
	}
	second := s.takeOver(other, "you")
	if second.Token <= first.Token {
		s.t.Errorf("token %d after %d", second.Token, first.Token)
	}
	s.wantsError("the old owner appends", s.Append(s.t.Context(), k, fenced(first, line("b"))), store.ErrLeaseLost)
	s.wantsError("the old owner renews", mine.Renew(s.t.Context(), first), store.ErrLeaseLost)
	if err := s.again().Append(s.t.Context(), k, fenced(second, line("c"))); err != nil {
		s.t.Fatal(err)
	}
	s.wants(s, k, line("a"), line("c"))
}

func leaseRenewed(s *subject) {
	mine, other := s.leaser()
	lease := s.acquire(mine, "me", short)
	var renewed time.Time
	for range 6 {
		time.Sleep(short / 3) // lets a third of the time pass, twice the time to live in all
		renewed = time.Now()
		if err := mine.Renew(s.t.Context(), lease); err != nil {
			s.t.Fatal(err)
		}
	}
	for ttl := short; ; ttl *= 2 {
		taken, err := other.Acquire(s.t.Context(), s.project, "conversation", "you", ttl)
		if errors.Is(err, store.ErrLeased) {
			return
		}
		if err != nil || time.Since(renewed) < ttl || ttl > time.Minute {
			s.t.Fatalf("Acquire of a lease that was renewed: %v", err)
		}
		// A busy machine took longer than the lease lasts, which proves nothing:
		// try again with a longer lease.
		if err := other.Release(s.t.Context(), taken); err != nil {
			s.t.Fatal(err)
		}
		lease = s.acquire(mine, "me", 2*ttl)
		renewed = time.Now()
		if err := mine.Renew(s.t.Context(), lease); err != nil {
			s.t.Fatal(err)
		}
	}
}

func leaseRenewedLate(s *subject) {
	mine, _ := s.leaser()
	k := s.session()
	lease := s.acquire(mine, "me", 5*time.Millisecond)
	time.Sleep(20 * time.Millisecond) // lets it expire
	if err := s.Append(s.t.Context(), k, fenced(lease, line("a"))); err != nil {
		s.t.Errorf("Append: %v", err)
	}
	if err := mine.Renew(s.t.Context(), lease); err != nil {
		s.t.Errorf("Renew: %v", err)
	}
}

func leaseContended(s *subject) {
	var got atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		l := s.again()
		wg.Go(func() {
			switch _, err := l.Acquire(s.t.Context(), s.project, "conversation", fmt.Sprint("worker-", i), time.Minute); {
			case err == nil:
				got.Add(1)
			case !errors.Is(err, store.ErrLeased):
				s.t.Error(err)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		s.t.Errorf("%d owners", got.Load())
	}
}

// nearEnd waits until a lease that was just acquired for short is about to end. Its
// owner, who writes without a pause from then on, spares the machine until then.
func nearEnd() { <-time.After(short - short/10) }

func leaseFences(s *subject) {
	mine, other := s.leaser()
	k := s.session()
	first := s.acquire(mine, "me", short)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			err := s.Append(s.t.Context(), k, fenced(first, line(fmt.Sprint("old-", i))))
			if err != nil {
				if !errors.Is(err, store.ErrLeaseLost) {
					s.t.Error(err)
				}
				return
			}
			if i == 0 {
				nearEnd()
			}
		}
	})
	second := s.takeOver(other, "you")
	err := s.again().Append(s.t.Context(), k, fenced(second, line("new")))
	close(stop)
	wg.Wait()
	if err != nil {
		s.t.Fatal(err)
	}
	all := collect(s.t, store.Entries(s.t.Context(), s, k))
	if last := all[len(all)-1]; string(last) != line("new") {
		s.t.Errorf("the last entry is %s", last)
	}
}

func leaseRefused(s *subject) {
	l, _ := s.leaser()
	ctx := s.t.Context()
	for what, acquire := range map[string]func() (store.Lease, error){
		"project":       func() (store.Lease, error) { return l.Acquire(ctx, "../x", "n", "o", time.Minute) },
		"name":          func() (store.Lease, error) { return l.Acquire(ctx, s.project, "..", "o", time.Minute) },
		"owner":         func() (store.Lease, error) { return l.Acquire(ctx, s.project, "n", "", time.Minute) },
		"time":          func() (store.Lease, error) { return l.Acquire(ctx, s.project, "n", "o", 0) },
		"endless time":  func() (store.Lease, error) { return l.Acquire(ctx, s.project, "n", "o", math.MaxInt64) },
		"ended context": func() (store.Lease, error) { return l.Acquire(ended(s.t), s.project, "n", "o", time.Minute) },
	} {
		if _, err := acquire(); err == nil {
			s.t.Errorf("a bad %s is taken", what)
		}
	}
	lease := s.acquire(l, "me", time.Minute)
	k := s.session()
	k.Project += "-b"
	err := s.Append(ctx, k, fenced(lease, line("a")))
	if _, ok := errors.AsType[*store.KeyError](err); !ok {
		s.t.Errorf("the fence of another project: %v", err)
	}
	unknown := lease
	unknown.Name = "unknown"
	s.wantsError("a lease that never was", s.Append(ctx, s.session(), fenced(unknown, line("a"))), store.ErrLeaseLost)
	future := lease
	future.Token++
	s.wantsError("a token from the future", s.Append(ctx, s.session(), fenced(future, line("a"))), store.ErrLeaseLost)
	if err := l.Renew(context.WithoutCancel(ctx), lease); err != nil {
		s.t.Errorf("the lease itself: %v", err)
	}
}
