package natsfleet

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// refusals remembers why a connection cannot work: the server does not accept its
// credentials any more, they do not allow a request, or the connection was made again,
// to a server that is too old. Requests then fail as if the server could not be
// reached, and would hide the reason.
type refusals struct {
	mu        sync.Mutex
	server    error     // since the connection broke, or was made again
	violation error     // the last request that was not allowed
	at        time.Time // when that was
}

// watch follows a connection, and checks each server it reconnects to. Its existing
// handlers are called as before.
func (r *refusals) watch(nc *nats.Conn, check func() error) {
	failed, again := nc.ErrorHandler(), nc.ReconnectHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		r.note(err)
		if failed != nil {
			failed(nc, sub, err)
		}
	})
	nc.SetReconnectHandler(func(nc *nats.Conn) {
		r.connected(check())
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
		r.server = fmt.Errorf("%w: %w", ErrRefused, err)
	case errors.Is(err, nats.ErrPermissionViolation):
		r.violation, r.at = fmt.Errorf("%w: %w", ErrRefused, err), time.Now()
	}
}

// connected forgets earlier errors, and keeps only that of the present server.
func (r *refusals) connected(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server, r.violation = err, nil
}

// why adds the reason to the error of a request that was begun at a time, and to which
// the server gave no answer.
func (r *refusals) why(err error, begun time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := r.server
	if reason == nil && r.at.After(begun) {
		reason = r.violation
	}
	if err == nil || reason == nil || !passes(err) || errors.Is(err, ErrRefused) || errors.Is(err, ErrOldServer) {
		return err
	}
	return fmt.Errorf("%w: %w", reason, err)
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
