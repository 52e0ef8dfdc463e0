package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
)

// leaseFile is the stored form of a lease. It outlives its owner, because the
// next fencing token must be higher.
type leaseFile struct {
	Owner string    `json:"owner"`
	Token int64     `json:"token"`
	Ends  time.Time `json:"ends,omitzero"` // zero when it was released
}

func leasePath(project, name string) string {
	return path.Join(fileName(project), "leases", filePath(name))
}

// lockLease locks a lease and reads it.
func (s *FileStore) lockLease(ctx context.Context, r *os.Root, project, name string) (leaseFile, func(), error) {
	p := leasePath(project, name)
	var l leaseFile
	unlock, err := s.lock(ctx, r, p+lockEnd)
	if err != nil {
		return l, nil, err
	}
	text, err := r.ReadFile(p + valueEnd)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		if err = json.Unmarshal(text, &l); err != nil {
			err = fmt.Errorf("%s: %w: %w", p+valueEnd, ErrDamaged, err)
		}
	}
	if err != nil {
		unlock()
		return l, nil, fail(err)
	}
	return l, unlock, nil
}

// lock locks a file that has nothing in it and is never removed.
func (s *FileStore) lock(ctx context.Context, r *os.Root, name string) (unlock func(), err error) {
	if err := s.folder(r, path.Dir(name)); err != nil {
		return nil, err
	}
	f, err := r.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fail(err)
	}
	if err := lockFile(ctx, f, name); err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// lockBound is how long to wait for a lock. Others hold it for as long as a write
// takes, unless they are suspended.
const lockBound = 10 * time.Second

// boundLock bounds the wait for a lock.
func boundLock(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, lockBound, fmt.Errorf("%w after %v; it may be suspended", ErrBusy, lockBound))
}

// lockFile locks a file, or closes it.
func lockFile(ctx context.Context, f *os.File, name string) error {
	ctx, cancel := boundLock(ctx)
	defer cancel()
	if err := filelock.Lock(ctx, f); err != nil {
		f.Close()
		return fmt.Errorf("claude: store: lock %s: %w", name, err)
	}
	return nil
}

// writeLease keeps a lease.
func (s *FileStore) writeLease(r *os.Root, project, name string, l leaseFile) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fail(err)
	}
	return s.replace(r, leasePath(project, name)+valueEnd, text)
}

// fenced keeps a lease from changing hands during a write under its fence.
func (s *FileStore) fenced(ctx context.Context, r *os.Root, f Fence) (unlock func(), err error) {
	if f.IsZero() {
		return func() {}, nil
	}
	l, unlock, err := s.lockLease(ctx, r, f.Project, f.Name)
	if err != nil {
		return nil, err
	}
	if l.Token != f.Token || l.Ends.IsZero() {
		unlock()
		return nil, fmt.Errorf("claude: store: %s: %w", f.Name, ErrLeaseLost)
	}
	return unlock, nil
}

// Acquire implements [Leases].
func (s *FileStore) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (Lease, error) {
	if err := cmp.Or(checkAcquire(project, name, owner, ttl), ctx.Err()); err != nil {
		return Lease{}, err
	}
	r, err := s.root(true)
	if err != nil {
		return Lease{}, err
	}
	defer r.Close()
	l, unlock, err := s.lockLease(ctx, r, project, name)
	if err != nil {
		return Lease{}, err
	}
	defer unlock()
	now := time.Now()
	if left := l.Ends.Sub(now); left > 0 {
		return Lease{}, &HeldError{Name: name, Owner: l.Owner, For: left}
	}
	l = leaseFile{Owner: owner, Token: l.Token + 1, Ends: now.Add(ttl)}
	if err := s.writeLease(r, project, name, l); err != nil {
		return Lease{}, err
	}
	return Lease{Fence{project, name, l.Token}, owner, ttl}, nil
}

// Renew implements [Leases].
func (s *FileStore) Renew(ctx context.Context, l Lease) error {
	if err := cmp.Or(checkAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	return s.changeLease(ctx, l, func() time.Time { return time.Now().Add(l.TTL) })
}

// Release implements [Leases].
func (s *FileStore) Release(ctx context.Context, l Lease) error {
	if err := cmp.Or(CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	if err := s.changeLease(ctx, l, func() time.Time { return time.Time{} }); !errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// changeLease changes when a lease ends, if it is the current one. The time is
// taken under the lock, which others may hold for a while.
func (s *FileStore) changeLease(ctx context.Context, l Lease, ends func() time.Time) error {
	r, err := s.root(true)
	if err != nil {
		return err
	}
	defer r.Close()
	unlock, err := s.fenced(ctx, r, l.Fence)
	if err != nil {
		return err
	}
	defer unlock()
	end := ends()
	if err := s.writeLease(r, l.Project, l.Name, leaseFile{Owner: l.Owner, Token: l.Token, Ends: end}); err != nil {
		return err
	}
	if end.IsZero() {
		s.announce(r, Changed{Released: l.Name, By: l.Fence})
	}
	return nil
}
