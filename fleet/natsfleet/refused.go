package natsfleet

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// refusals remembers why the server does not let a connection do what it should: its
// credentials are not accepted any more, or do not allow it. What fails meanwhile fails
// as if the server could not be reached, and would not say so.
type refusals struct {
	mu        sync.Mutex
	login     error     // since the connection broke
	violation error     // the last thing that was not allowed
	at        time.Time // when that was
}

// watch takes note of what happens to a connection. The handlers that it has are called
// as before.
func (r *refusals) watch(nc *nats.Conn) {
	failed, again := nc.ErrorHandler(), nc.ReconnectHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		r.note(err)
		if failed != nil {
			failed(nc, sub, err)
		}
	})
	nc.SetReconnectHandler(func(nc *nats.Conn) {
		r.clear()
		if again != nil {
			again(nc)
		}
	})
}

func (r *refusals) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case isRefusal(err):
		r.login = err
	case errors.Is(err, nats.ErrPermissionViolation):
		r.violation, r.at = err, time.Now()
	}
}

func (r *refusals) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.login, r.violation = nil, nil
}

// why adds the reason to an error of something that was begun at a time, and to which
// the server gave no answer.
func (r *refusals) why(err error, begun time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := r.login
	if reason == nil && r.at.After(begun) {
		reason = r.violation
	}
	if err == nil || reason == nil || !passes(err) || errors.Is(err, ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %w: %w", ErrRefused, reason, err)
}

// isRefusal reports whether the server has not accepted credentials.
func isRefusal(err error) bool {
	for _, other := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired} {
		if errors.Is(err, other) {
			return true
		}
	}
	return false
}
