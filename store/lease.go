package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/store/internal/rule"
)

// Fence is proof of a lease that a write carries. The store refuses it with
// [ErrLeaseLost] if the lease was released or given to another owner.
type Fence struct {
	Project string
	Name    string // what was leased, such as a conversation
	Token   int64  // higher than all that were given out for the name before
}

// IsZero reports whether there is no fence.
func (f Fence) IsZero() bool { return f == Fence{} }

// check checks a fence for a write to a project.
func (f Fence) check(project string) error {
	if f.IsZero() {
		return nil
	}
	if err := CheckLease(f.Project, f.Name); err != nil {
		return err
	}
	if f.Project != project {
		return &KeyError{"fence of project", f.Project, "guards nothing in project " + project}
	}
	return nil
}

// CheckLease returns a [*KeyError] if a lease cannot have this name.
func CheckLease(project, name string) error {
	if err := CheckProject(project); err != nil {
		return err
	}
	return checkPath("lease", name)
}

// Lease is the right to be the only owner. It is a value; the store keeps the
// lease itself.
type Lease struct {
	Fence
	Owner string        // who has it, for people to read
	TTL   time.Duration // how long it lasts from when it was acquired or renewed
}

// Leases gives a name to one owner at a time, for a time measured by the store's own
// clock. A store that has no leases answers all four methods with
// [errors.ErrUnsupported].
type Leases interface {
	// Acquire gives out a lease, with a token that is higher than all before.
	// If another owner has it, Acquire returns a [*HeldError] at once, without
	// waiting. owner is for people to read; the same owner twice is two
	// owners.
	Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (Lease, error)

	// Renew restarts the lease's time to live. It returns [ErrLeaseLost] if
	// the lease was released or another owner has it. A lease that expired can
	// still be renewed if no other owner has taken it.
	Renew(ctx context.Context, l Lease) error

	// Release ends the lease early. A lost lease is not an error.
	Release(ctx context.Context, l Lease) error

	// Now returns the time of the store's clock, which all its users share.
	Now(ctx context.Context) (time.Time, error)
}

// HeldError means that another owner has the lease. It matches [ErrLeased].
type HeldError struct {
	Name  string
	Owner string
	For   time.Duration // how long it lasts if it is not renewed
}

// Error names the owner, and how long its lease still lasts.
func (e *HeldError) Error() string {
	return fmt.Sprintf("claude: store: %s is leased to %s for another %v", e.Name, e.Owner, e.For.Round(time.Millisecond))
}

// Is reports whether target is [ErrLeased].
func (e *HeldError) Is(target error) bool { return target == ErrLeased }

// checkAcquire checks the arguments of Acquire.
func checkAcquire(project, name, owner string, ttl time.Duration) error {
	return cmp.Or(CheckLease(project, name), rule.Term(owner, ttl, ErrInvalid))
}
