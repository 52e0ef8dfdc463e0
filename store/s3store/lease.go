package s3store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// leaseBody is the stored form of a lease. The lease begins when its object is
// written.
type leaseBody struct {
	Nonce    string        `json:"nonce"` // of each write another one, as in stamp
	Owner    string        `json:"owner"`
	Token    int64         `json:"token"`
	TTL      time.Duration `json:"ttl"`
	Released bool          `json:"released,omitempty"`
	// Objects are those that may be written under the lease, noted before they
	// are. The next owner closes them to this one before it begins.
	Objects []string `json:"objects,omitempty"`
}

// stamp is in every object that is written under fences.
type stamp struct {
	// Nonce differs in each write, so that no two states are equal: the tag of an
	// object is a digest of its content.
	Nonce string `json:"nonce"`
	// Fences are the lowest tokens that may still write, by lease.
	Fences map[string]int64 `json:"fences,omitempty"`
}

// pass wants a fence to be as new as all that were here, and notes it.
func (s *stamp) pass(f store.Fence) error {
	if f.IsZero() {
		return nil
	}
	if f.Token < s.Fences[f.Name] {
		return store.ErrLeaseLost
	}
	s.Fences = maps.Clone(s.Fences)
	if s.Fences == nil {
		s.Fences = make(map[string]int64)
	}
	s.Fences[f.Name] = f.Token
	return nil
}

// second is how coarse the times of S3 are.
const second = time.Second

// left returns how long a lease that was read lasts at most.
func (l leaseBody) left(o object) time.Duration {
	if l.Released || l.Token == 0 {
		return 0
	}
	return min(l.TTL, l.TTL-(o.now.Sub(o.modified)-second))
}

// leases are the leases, and the fences that they put up: the next owner of a lease closes
// each object to the one before.
type leases struct {
	*objects

	mu         sync.Mutex
	registered map[store.Fence]map[string]bool // objects that are noted in their lease
}

func (s *leases) leaseName(project, name string) string {
	return s.short(project+"/leases/", name)
}

// changeLease changes a lease. edit gets what there is, and returns what there
// shall be, or false if that is the same.
func (s *leases) changeLease(ctx context.Context, project, name string, edit func(leaseBody, object) (leaseBody, bool, error)) (leaseBody, error) {
	nonce := rand.Text()
	for {
		var l leaseBody
		o, err := s.getJSON(ctx, s.leaseName(project, name), &l)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return l, err
		}
		if l.Nonce == nonce { // ours: the reply was lost
			return l, nil
		}
		next, change, err := edit(l, o)
		if err != nil || !change {
			return next, err
		}
		next.Nonce = nonce
		if _, err = s.putJSON(ctx, s.leaseName(project, name), next, o.etag); !errors.Is(err, errTaken) {
			return next, err
		}
		if err := pause(ctx); err != nil {
			return l, err
		}
	}
}

// register notes in a lease that an object is about to be written under it, and
// fails unless the lease is current. From then on the object itself shows whether
// the lease still is: the next owner closes it.
func (s *leases) register(ctx context.Context, f store.Fence, written string) error {
	if f.IsZero() {
		return nil
	}
	s.mu.Lock()
	known := s.registered[f][written]
	s.mu.Unlock()
	if known {
		return nil
	}
	_, err := s.changeLease(ctx, f.Project, f.Name, func(l leaseBody, _ object) (leaseBody, bool, error) {
		if l.Token != f.Token || l.Released {
			return l, false, store.ErrLeaseLost
		}
		if slices.Contains(l.Objects, written) {
			return l, false, nil
		}
		l.Objects = append(l.Objects, written)
		return l, true, nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registered == nil || len(s.registered) > maxFences {
		s.registered = make(map[store.Fence]map[string]bool) // to note it twice does no harm
	}
	if s.registered[f] == nil {
		s.registered[f] = make(map[string]bool)
	}
	s.registered[f][written] = true
	return nil
}

// maxFences is for how many leases it is remembered what was registered.
const maxFences = 1000

// close writes into an object that no token below one may write it any more.
// A writer that is about to finds it changed.
func (s *leases) close(ctx context.Context, name, lease string, token int64) error {
	for {
		body := make(map[string]json.RawMessage)
		o, err := s.getJSON(ctx, name, &body)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var st stamp
		if fences := body["fences"]; fences != nil {
			if err := json.Unmarshal(fences, &st.Fences); err != nil {
				return fmt.Errorf("%w: %s", store.ErrDamaged, name)
			}
		}
		if st.Fences[lease] >= token {
			return nil
		}
		if err := st.pass(store.Fence{Name: lease, Token: token}); err != nil {
			return err
		}
		if body["fences"], err = json.Marshal(st.Fences); err != nil {
			return err
		}
		body["nonce"] = json.RawMessage(`"` + rand.Text() + `"`)
		if _, err = s.putJSON(ctx, name, body, o.etag); !errors.Is(err, errTaken) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// closeAll closes what was written under a lease to all tokens below one.
func (s *leases) closeAll(ctx context.Context, lease string, token int64, objects []string) error {
	errs := make([]error, len(objects))
	var wg sync.WaitGroup
	free := make(chan struct{}, ahead)
	for i, name := range objects {
		free <- struct{}{}
		wg.Go(func() {
			errs[i] = s.close(ctx, name, lease, token)
			<-free
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(storeimpl.CheckAcquire(project, name, owner, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	l, err := s.changeLease(ctx, project, name, func(l leaseBody, o object) (leaseBody, bool, error) {
		if left := l.left(o); left > 0 {
			return l, false, &store.HeldError{Name: name, Owner: l.Owner, For: left}
		}
		return leaseBody{Owner: owner, Token: l.Token + 1, TTL: ttl, Objects: l.Objects}, true, nil
	})
	if err != nil {
		if held, ok := errors.AsType[*store.HeldError](err); ok {
			return store.Lease{}, held
		}
		return store.Lease{}, fail(name, err)
	}
	lease := store.Lease{Fence: store.Fence{Project: project, Name: name, Token: l.Token}, Owner: owner, TTL: ttl}
	if len(l.Objects) == 0 {
		return lease, nil
	}
	// The lease before is over when nothing can be written under it any more.
	// That takes time, so ours begins again afterwards.
	err = s.closeAll(ctx, name, l.Token, l.Objects)
	if err == nil {
		err = s.setLease(ctx, lease, func(l *leaseBody) { l.Objects = nil })
	}
	if err != nil {
		// The caller does not get the lease: release it, if that is possible.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.setLease(ctx, lease, func(l *leaseBody) { l.Released = true })
		return store.Lease{}, fail(name, err)
	}
	return lease, nil
}

// setLease changes a lease if it is the current one.
func (s *leases) setLease(ctx context.Context, l store.Lease, set func(*leaseBody)) error {
	_, err := s.changeLease(ctx, l.Project, l.Name, func(now leaseBody, _ object) (leaseBody, bool, error) {
		if now.Token != l.Token || now.Released {
			return now, false, store.ErrLeaseLost
		}
		set(&now)
		return now, true, nil
	})
	return err
}

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(storeimpl.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	return fail(l.Name, s.setLease(ctx, l, func(now *leaseBody) { now.Owner, now.TTL = l.Owner, l.TTL }))
}

// Release implements [store.Leases].
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	err := s.release(ctx, l)
	if errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	return fail(l.Name, err)
}

// release gives a lease back, and closes what was written under it.
func (s *leases) release(ctx context.Context, l store.Lease) error {
	s.mu.Lock()
	delete(s.registered, l.Fence)
	s.mu.Unlock()
	now, err := s.changeLease(ctx, l.Project, l.Name, func(now leaseBody, _ object) (leaseBody, bool, error) {
		if now.Token != l.Token {
			return now, false, store.ErrLeaseLost
		}
		change := !now.Released
		now.Released = true
		return now, change, nil
	})
	if err != nil || len(now.Objects) == 0 {
		return err
	}
	if err := s.closeAll(ctx, l.Name, l.Token+1, now.Objects); err != nil {
		return err
	}
	_, err = s.changeLease(ctx, l.Project, l.Name, func(now leaseBody, _ object) (leaseBody, bool, error) {
		if now.Token != l.Token {
			return now, false, nil // the next owner does it
		}
		now.Objects = nil
		return now, true, nil
	})
	return err
}

// Now implements [store.Leases]. The server reports its time with every answer, in whole
// seconds.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.serverTime(ctx)
	return now, fail("clock", err)
}
