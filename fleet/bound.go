package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/approval"
)

// A store may hang, because a suspended writer holds its lock or because a cluster has
// lost its quorum. Callers of a fleet must not hang with it: a call waits for the store
// no longer than Options.StoreTimeout. One that makes many changes waits that long for
// each of them. The fleet itself also waits that long for each answer, see [timely].

// boundKey is the key of the storeBound of a context.
type boundKey struct{}

// storeBound describes a context that is bounded.
type storeBound struct {
	parent context.Context // which the bounded one was made from
	extend func()          // gives the call the whole time again; nil if all its steps share one time
	pause  func() (resume func())
}

// bounds bounds calls that wait for the store.
type bounds struct{ limit time.Duration }

// bound bounds a call that waits for the store. The function that it returns ends the
// bound, and makes err match [ErrTimeout] if the time has run out.
func (bs bounds) bound(parent context.Context, key string) (context.Context, func(err *error)) {
	return bs.boundBy(parent, key, false)
}

// boundEach is bound for a call that makes many changes: each of them extends the time.
func (bs bounds) boundEach(parent context.Context, key string) (context.Context, func(err *error)) {
	return bs.boundBy(parent, key, true)
}

func (bs bounds) boundBy(parent context.Context, key string, each bool) (context.Context, func(err *error)) {
	b := &storeBound{parent: parent}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, boundKey{}, b))
	limit := bs.limit
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w within %v", ErrTimeout, limit)) })
	b.pause = func() (resume func()) {
		if !timer.Stop() {
			return func() {}
		}
		return func() { timer.Reset(limit) }
	}
	if each {
		b.extend = func() {
			if timer.Stop() {
				timer.Reset(limit)
			}
		}
	}
	return ctx, func(err *error) {
		timer.Stop()
		cancel(nil)
		if cause := context.Cause(ctx); *err != nil && errors.Is(cause, ErrTimeout) && !errors.Is(*err, ErrTimeout) {
			*err = timedOut(key, *err, cause)
		}
	}
}

// timedOut is the error of a call whose time has run out.
func timedOut(key string, err, cause error) error {
	if doubt, ok := errors.AsType[*InDoubtError](err); ok {
		return &InDoubtError{doubt.Key, doubt.Prompt, fmt.Errorf("%w: %w", cause, doubt.Err)}
	}
	if at, ok := errors.AsType[*ConversationError](err); ok {
		return &ConversationError{at.Key, fmt.Errorf("%w: %w", cause, at.Reason)}
	}
	if key == "" {
		return fmt.Errorf("claude: fleet: %w: %w", cause, err)
	}
	return &ConversationError{key, fmt.Errorf("%w: %w", cause, err)}
}

// withoutBound is the context that a bounded one was made from, for waits on anything
// but the store.
func withoutBound(ctx context.Context) context.Context {
	if b, ok := ctx.Value(boundKey{}).(*storeBound); ok {
		return b.parent
	}
	return ctx
}

// pauseBound stops the time of a call, until resume, while it waits for anything but
// the store.
func pauseBound(ctx context.Context) (unbounded context.Context, resume func()) {
	if b, ok := ctx.Value(boundKey{}).(*storeBound); ok {
		return b.parent, b.pause()
	}
	return ctx, func() {}
}

// answered extends the time of a call that the store has just answered, or that has read
// the next of many items.
func answered(ctx context.Context, err error) {
	if b, ok := ctx.Value(boundKey{}).(*storeBound); ok && b.extend != nil && err == nil {
		b.extend()
	}
}

// isBounded reports whether a context is bounded.
func isBounded(ctx context.Context) bool {
	_, ok := ctx.Value(boundKey{}).(*storeBound)
	return ok
}

// outlasting is a context that does not end with ctx, nor with its bound.
func outlasting(ctx context.Context) context.Context {
	return context.WithoutCancel(withoutBound(ctx))
}

// boundSeq bounds each step of a loop over the contents of the store. The time that the
// loop body takes does not count.
func boundSeq[T any](b bounds, parent context.Context, seq func(ctx context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, end := b.boundEach(parent, "")
		var err error
		defer func() { end(&err) }()
		var item T
		for item, err = range seq(ctx) {
			if err != nil {
				end(&err)
				yield(item, err)
				return
			}
			_, resume := pauseBound(ctx)
			if !yield(item, nil) {
				return
			}
			resume()
		}
	}
}

// boundedInbox is an inbox whose calls do not hang with the store.
type boundedInbox struct {
	approval.Inbox
	bounds bounds
}

func (i boundedInbox) Get(ctx context.Context, id string) (q approval.Question, err error) {
	ctx, end := i.bounds.bound(ctx, "")
	defer end(&err)
	return i.Inbox.Get(ctx, id)
}

func (i boundedInbox) List(ctx context.Context, filter approval.Filter) iter.Seq2[approval.Question, error] {
	return boundSeq(i.bounds, ctx, func(ctx context.Context) iter.Seq2[approval.Question, error] { return i.Inbox.List(ctx, filter) })
}

func (i boundedInbox) Decide(ctx context.Context, id string, a approval.Answer) (q approval.Question, err error) {
	ctx, end := i.bounds.bound(ctx, "")
	defer end(&err)
	return i.Inbox.Decide(ctx, id, a)
}

func (i boundedInbox) Acknowledge(ctx context.Context, id, by string) (q approval.Question, err error) {
	ctx, end := i.bounds.bound(ctx, "")
	defer end(&err)
	return i.Inbox.Acknowledge(ctx, id, by)
}
