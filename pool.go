package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Pool keeps sessions started and initialised, so that the first prompt does
// not wait for a CLI to start, which takes about half a second. [NewPool]
// makes a pool, Close ends it.
//
// All methods may be called from any goroutine.
type Pool struct {
	opts    *Options
	size    int
	maxIdle time.Duration
	ctx     context.Context // bounds all starts
	cancel  context.CancelCauseFunc
	wg      sync.WaitGroup // starts, watches and closings

	mu       sync.Mutex
	idle     []*pooled    // ready, oldest first
	waiters  []chan start // calls of Get that found nothing ready, oldest first
	starting int
	failures int         // starts that failed and sessions that died, since the last session that was used
	retry    *time.Timer // runs during a back-off
	closed   bool
	errs     []error // of sessions that could not be ended
}

// PoolOptions configure a [Pool]. Zero fields have the defaults given.
type PoolOptions struct {
	// Size is how many sessions are kept ready: 1. Up to that many start at
	// once, also to replace sessions that were handed out.
	Size int
	// MaxIdle is how long a session may wait to be used: 10 minutes. Then it
	// is replaced, because credentials and settings age. [NoTimeout]: forever.
	MaxIdle time.Duration
}

// Bounds of the back-off after failed starts.
const (
	poolPause    = time.Second
	poolMaxPause = time.Minute
)

// pooled is a session that waits to be used.
type pooled struct {
	session *Session
	taken   chan struct{} // closed when the pool no longer owns it
}

// start is the outcome of starting a session.
type start struct {
	session *Session
	err     error
}

// NewPool returns a pool of sessions with the same options and begins to start
// them. Their callbacks' contexts carry the values of ctx. The end of ctx does
// not end the pool; Close does.
//
// The options apply to every session and are fixed when it starts: prompts,
// tools, hooks, callbacks, the working directory and the rest. After Get, you
// can change what a session lets you change (SetModel, SetPermissionMode,
// SessionMCP.Set and others). Callbacks serve all sessions; see [SessionFrom].
// Options that name one conversation cannot be shared and are refused:
// SessionID and Continue, and Resume without ForkSession.
//
// The error is an [*OptionError]. Failed starts are logged, and Get returns
// the error to callers waiting for a session.
func NewPool(ctx context.Context, opts *Options, pool PoolOptions) (*Pool, error) {
	o := opts.clone()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := shareable(o); err != nil {
		return nil, err
	}
	p := &Pool{opts: o, size: max(pool.Size, 1), maxIdle: pool.MaxIdle}
	if p.maxIdle == 0 {
		p.maxIdle = 10 * time.Minute
	}
	p.ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refill()
	return p, nil
}

// shareable refuses options that only one session can have.
func shareable(o *Options) error {
	switch {
	case o.SessionID != "":
		return &OptionError{"SessionID", "names one session, a pool has many"}
	case o.Continue:
		return &OptionError{"Continue", "names one conversation, a pool has many"}
	case o.Resume != "" && !o.ForkSession:
		return &OptionError{"Resume", "names one conversation, a pool has many: set ForkSession"}
	}
	return nil
}

// Get hands out a session. The caller owns it and must close it; it does not
// return to the pool. Another one is started in its place.
//
// If none is ready, Get waits for one as long as ctx allows. The error is that
// of ctx, ErrClosed, or the error of the start it waited for, as returned by
// [Connect].
func (p *Pool) Get(ctx context.Context) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("claude: pool: %w", context.Cause(ctx))
	}
	s, waiter, err := p.take()
	if s != nil || err != nil {
		return s, err
	}
	select {
	case got := <-waiter:
		return got.session, got.err
	case <-ctx.Done():
		if late := p.leave(waiter); late != nil {
			go late.Close() // the pool is closed and does not wait
		}
		return nil, fmt.Errorf("claude: pool: %w", context.Cause(ctx))
	}
}

// take returns a session that is ready, or a place in the queue for one.
func (p *Pool) take() (*Session, chan start, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	defer p.refill()
	for i, idle := range p.idle {
		select {
		case <-idle.session.Done(): // its watcher will replace it
		default:
			p.idle = slices.Delete(p.idle, i, i+1)
			close(idle.taken)
			p.failures = 0
			return idle.session, nil, nil
		}
	}
	waiter := make(chan start, 1)
	p.waiters = append(p.waiters, waiter)
	return nil, waiter, nil
}

// leave gives up a place in the queue. A session handed out at the same moment
// goes back to the pool, or is returned if the pool is closed.
func (p *Pool) leave(waiter chan start) (late *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiters, waiter); i >= 0 {
		p.waiters = slices.Delete(p.waiters, i, i+1)
		return nil
	}
	got := <-waiter
	if got.session == nil || p.closed {
		return got.session
	}
	p.keep(got.session)
	return nil
}

// Ready returns how many sessions are ready to be handed out.
func (p *Pool) Ready() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// refill starts missing sessions. During a back-off it serves only waiting
// callers. The caller holds the pool's lock.
func (p *Pool) refill() {
	missing := p.size + len(p.waiters) - len(p.idle) - p.starting
	if p.retry != nil {
		missing = len(p.waiters) - p.starting
	}
	if p.closed {
		missing = 0
	}
	for range missing {
		p.starting++
		p.wg.Go(func() {
			s, err := Connect(p.ctx, p.opts)
			p.started(start{s, err})
		})
	}
}

// started takes in a session, or the reason why it did not start.
func (p *Pool) started(got start) {
	p.mu.Lock()
	p.starting--
	var pause time.Duration
	if got.err == nil {
		p.resume()
		p.keep(got.session)
		p.refill()
	} else if !p.closed {
		if len(p.waiters) > 0 {
			p.answer(got)
		}
		pause = p.pause()
	}
	p.mu.Unlock()
	if pause > 0 {
		p.opts.Logger.Warn("a session for the pool could not be started", "error", got.err, "pause", pause)
	}
}

// keep hands a session to a waiting caller, or puts it aside. The caller holds
// the pool's lock.
func (p *Pool) keep(s *Session) {
	switch {
	case p.closed || len(p.waiters) == 0 && len(p.idle) >= p.size:
		p.end(s)
	case len(p.waiters) > 0:
		p.answer(start{session: s})
	default:
		idle := &pooled{session: s, taken: make(chan struct{})}
		p.idle = append(p.idle, idle)
		p.wg.Go(func() { p.watch(idle) })
	}
}

// answer gives the caller that has waited longest the outcome of a start. The
// caller of answer holds the pool's lock.
func (p *Pool) answer(got start) {
	p.waiters[0] <- got // one slot, and used once
	p.waiters = slices.Delete(p.waiters, 0, 1)
}

// pause backs off after a failure, longer each time, and returns for how long;
// 0 if a back-off is already running. The caller holds the pool's lock.
func (p *Pool) pause() time.Duration {
	if p.retry != nil { // one of several that were started together
		return 0
	}
	pause := min(poolPause<<min(p.failures, 10), poolMaxPause)
	p.failures++
	var own *time.Timer
	own = time.AfterFunc(pause, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.retry == own { // not ended by a success in the meantime
			p.retry = nil
			p.refill()
		}
	})
	p.retry = own
	return pause
}

// resume ends the back-off. The caller holds the pool's lock.
func (p *Pool) resume() {
	if p.retry != nil {
		p.retry.Stop()
		p.retry = nil
	}
}

// watch replaces a session that dies or grows old before it is used.
func (p *Pool) watch(idle *pooled) {
	var old <-chan time.Time
	if p.maxIdle > 0 {
		t := time.NewTimer(p.maxIdle)
		defer t.Stop()
		old = t.C
	}
	select {
	case <-idle.taken:
		return
	case <-idle.session.Done():
		p.replace(idle, true)
	case <-old:
		p.replace(idle, false)
	}
}

// replace removes an unused session. A session that died counts as a failed
// start: the next one may die as soon.
func (p *Pool) replace(idle *pooled, died bool) {
	p.mu.Lock()
	i := slices.Index(p.idle, idle)
	if i < 0 { // handed out in the same moment
		p.mu.Unlock()
		return
	}
	p.idle = slices.Delete(p.idle, i, i+1)
	if died {
		p.pause()
	} else {
		p.failures = 0
	}
	p.end(idle.session)
	p.refill()
	p.mu.Unlock()
	if died {
		p.opts.Logger.Warn("a session of the pool ended before it was used", "error", idle.session.life.cause)
	}
}

// end closes a session without waiting for it. The caller holds the pool's
// lock.
func (p *Pool) end(s *Session) {
	p.wg.Go(func() {
		if err := s.Close(); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.errs = append(p.errs, err)
		}
	})
}

// Close ends the pool and all sessions that were not handed out, and returns
// when they are gone. Callers waiting in Get get ErrClosed. Close may be called
// more than once and concurrently. The error names the processes that could not
// be ended.
func (p *Pool) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.resume()
		p.cancel(ErrClosed)
		for _, idle := range p.idle {
			close(idle.taken)
			p.end(idle.session)
		}
		p.idle = nil
		for len(p.waiters) > 0 {
			p.answer(start{err: ErrClosed})
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}
