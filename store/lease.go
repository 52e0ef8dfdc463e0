package store

import (
	"context"
	"fmt"
	"time"
)

// Fence is proof of a lease that a write carries. The store refuses it with
// [ErrLeaseLost] when the lease was released or given to somebody else.
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

// CheckLease returns a [*KeyError] if there can be no lease of this name.
func CheckLease(project, name string) error {
	if err := CheckProject(project); err != nil {
		return err
	}
	return checkPath("lease", name)
}

// Lease is the right to be the only one. It is a value; what holds it is the
// store.
type Lease struct {
	Fence
	Owner string        // who has it, for people to read
	TTL   time.Duration // how long it lasts from when it was acquired or renewed
}

// Leaser is a [Store] that gives a name to one owner at a time.
type Leaser interface {
	// Acquire gives out a lease, with a token that is higher than all before.
	// If somebody has it the error is a [*HeldError] at once: nobody waits.
	// Owner is for people; the same owner twice is two owners.
	Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (Lease, error)

	// Renew lets the time to live begin again. It is [ErrLeaseLost] if the
	// lease was released or somebody else has it. A lease that expired while
	// nobody else wanted it can be renewed.
	Renew(ctx context.Context, l Lease) error

	// Release gives the lease back. One that is lost is not an error.
	Release(ctx context.Context, l Lease) error
}

// HeldError means that somebody else has the lease. It matches [ErrLeased].
type HeldError struct {
	Name  string
	Owner string
	For   time.Duration // how long it lasts if it is not renewed
}

// Error says who has it, and for how long.
func (e *HeldError) Error() string {
	return fmt.Sprintf("claude: store: %s is leased to %s for another %v", e.Name, e.Owner, e.For.Round(time.Millisecond))
}

// Is reports whether target is [ErrLeased].
func (e *HeldError) Is(target error) bool { return target == ErrLeased }

// CheckAcquire checks what Acquire is called with. Every store calls it before it
// touches anything.
func CheckAcquire(project, name, owner string, ttl time.Duration) error {
	if err := CheckLease(project, name); err != nil {
		return err
	}
	if owner == "" || len(owner) > maxOwner {
		return &KeyError{"owner", owner, fmt.Sprintf("does not have 1 to %d bytes", maxOwner)}
	}
	if ttl < time.Millisecond {
		return fmt.Errorf("claude: store: %w: a lease of %v is too short", ErrInvalid, ttl)
	}
	return nil
}

const maxOwner = 1000
