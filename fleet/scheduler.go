package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet/internal/shrink"
	"github.com/claude-agent-go/claude/fleet/internal/slots"
)

// withdrawal takes a prompt back that a CLI was given to steer its turn and has not begun.
// It reports whether it has: the prompt then waits, and this CLI does not get it again.
// Any goroutine may call it.
type withdrawal func(ctx context.Context, id string) bool

// conversation is the knowledge of this process about a conversation that is awake
// or has prompts. The lock of the fleet guards it.
type conversation struct {
	slots.Seat // how it waits for a slot

	key      string
	waiting  []string      // the names of its prompts that have no outcome, in order
	reserved int           // prompts that are about to be accepted
	stuck    bool          // as of the last read of its record; any process may free it
	left     chan struct{} // closed when it gives its slot or its lease back; nil if it has none
	stop     chan struct{} // closed when its work must end
	token    int64         // of its lease, 0 if this process does not have it
	freed    bool          // its lease was given back since this process last asked for it
	wakeup   chan struct{} // one slot: there may be something to do
	more     chan struct{} // one slot: a prompt has come, which may steer the turn

	session     *claude.Session // while a CLI runs
	withdraw    withdrawal      // while a CLI runs
	starting    bool            // a CLI is being started
	lost        lostAttempt     // the last one that lost its lease
	leaving     bool            // its work is done, and its CLI ends before it gives its slot back
	own         choices         // of the options with which it was started
	turn        *turn           // what it works on while it is awake
	interrupted string          // the prompt whose turn is to be interrupted, now or once it has begun
	watchers    map[string][]*watcher
	watching    int // those who need it to stay in memory
	liveText    liveText
	liveReaders int       // those who read it
	follower    *follower // while it has readers, if it may run elsewhere

	prewarmed chan error // gets how a start ahead of a prompt ended; nil: none was asked for

	resting bool   // it is between two turns, and a prompt may be offered
	offered *offer // the one that is

	accepting token // for writing prompts down, in the order of their names
}

// roster knows which conversations are awake in this process, which have prompts, and
// which gets the next slot. It is all that a fleet keeps in memory; its callers deal
// with the store. Its lock also guards the conversations.
type roster struct {
	opts    *Options
	ctx     context.Context // ends with Close
	running *sync.WaitGroup // what looks at the store
	ear     *ear
	leases  *leases
	run     func(*conversation) // uses a slot, and gives it back; set before the first look

	awake sync.WaitGroup // conversations that have a slot

	mu     sync.Mutex
	closed bool
	// active are the conversations that are awake, or have prompts that wait.
	active   map[string]*conversation
	most     int                        // of them, see [shrink.Drop]
	queued   int                        // prompts that wait, of all conversations
	live     int                        // slots that are taken
	seated   map[*conversation]bool     // those that have them
	waitlist *slots.List[*conversation] // those that need one
	order    uint64                     // counts conversations that were wanted or served
	asks     bool                       // the store is being asked for leases
	timer    *time.Timer                // for the next conversation that has to wait
	last     time.Time                  // when the last prompt was accepted
	turn     time.Duration              // how long turns take
	rates    rates                      // of conversations
}

func newRoster(ctx context.Context, o *Options, running *sync.WaitGroup, e *ear, l *leases) *roster {
	return &roster{
		opts: o, ctx: ctx, running: running, ear: e, leases: l, turn: time.Second, rates: make(rates),
		active: make(map[string]*conversation), seated: make(map[*conversation]bool), waitlist: slots.New[*conversation](),
	}
}

// conversation returns a conversation, and keeps it in memory until forget.
func (r *roster) conversation(key string) *conversation {
	c := r.active[key]
	if c == nil {
		c = &conversation{key: key, Seat: slots.Seat{Tenant: TenantOf(key)}, wakeup: make(chan struct{}, 1), more: make(chan struct{}, 1), accepting: newToken(), stop: make(chan struct{}), watchers: make(map[string][]*watcher)}
		r.active[key] = c
	}
	return c
}

// forget drops a sleeping conversation from memory if the store knows everything about
// it.
func (r *roster) forget(c *conversation) {
	if !c.Awake && !c.Asking && len(c.waiting) == 0 && c.reserved == 0 && !c.Wanted && c.watching == 0 {
		shrink.Drop(&r.active, &r.most, c.key)
	}
}

// learn takes note of a prompt in the store, and reports whether it is new. One that is
// cancelled or interrupted and still there has to be cleaned up.
func (r *roster) learn(c *conversation, p *queued) bool {
	known := slices.Contains(c.waiting, p.name)
	if known && p.Cancelled.IsZero() && p.Interrupted.IsZero() {
		return false
	}
	if !known {
		c.waiting = append(c.waiting, p.name)
		r.tally(1, 0)
	}
	r.mark(c)
	c.signalMore()
	return !known
}

// nothingNew reports whether all known prompts have ended, and none has arrived. That
// is known in time only while changes are heard.
func (r *roster) nothingNew(c *conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ear.hearing() && !c.Wanted && len(c.waiting) == 0
}

// signalMore lets the turn that runs look for prompts that steer it.
func (c *conversation) signalMore() {
	signal(c.more)
}

// takeMore removes a signal that was not read, and reports whether there was one.
func (c *conversation) takeMore() bool {
	select {
	case <-c.more:
		return true
	default:
		return false
	}
}

// want notes that there may be something to do for a conversation.
func (r *roster) want(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.opts.MaxLive == NoCLIs {
		return
	}
	r.mark(r.conversation(key))
	r.schedule()
}

// wantWaiting is want for a conversation that has prompts, as far as is known here.
func (r *roster) wantWaiting(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.active[key]; c != nil && len(c.waiting) > 0 && !r.closed {
		r.mark(c)
		r.schedule()
	}
}

// mark notes that there may be something to do, behind those already noted. A process
// without CLIs never calls it.
func (r *roster) mark(c *conversation) {
	if r.opts.MaxLive == NoCLIs {
		return
	}
	if !c.Wanted {
		r.order++
		c.Wanted, c.Since = true, r.order
		r.waitlist.Put(c, time.Now())
	}
	signal(c.wakeup)
}

// schedule wakes conversations as long as there are slots. The tenant with the
// fewest slots comes first, of several the one that has not got any for longest,
// and in a tenant the conversation that has waited longest. Then it sets
// the timer for those that have to wait for their time.
func (r *roster) schedule() {
	if r.closed {
		return
	}
	now := time.Now()
	for r.live < r.opts.MaxLive {
		c := r.next(now)
		if c == nil {
			break
		}
		r.seat(c, now)
	}
	r.press(now)
	r.setTimer(now)
}

// seat gives a conversation a slot, and lets it run.
func (r *roster) seat(c *conversation, now time.Time) {
	c.Awake, c.leaving, c.left, c.After = true, false, make(chan struct{}), time.Time{}
	r.seated[c] = true
	r.order++
	r.waitlist.Slot(c, 1, r.order)
	r.waitlist.Put(c, now)
	r.tally(0, 1)
	r.awake.Go(func() { r.run(c) })
}

// prewarm gives a conversation that has nothing to do a slot that none needs. The channel
// done gets how the start of its CLI ended; it is nil if nothing was started. If the
// conversation is falling asleep, left is closed when it does, and it may be tried again.
func (r *roster) prewarm(key string) (done chan error, left <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.closed {
		return nil, nil, ErrClosed
	}
	if c := r.active[key]; c != nil && c.Awake && c.leaving {
		return nil, c.left, nil
	}
	if r.live >= r.opts.MaxLive || r.next(now) != nil {
		return nil, nil, nil
	}
	c := r.conversation(key)
	if c.Awake || c.Wanted || c.Asking || c.Stopped || c.reserved > 0 || len(c.waiting) > 0 {
		r.forget(c)
		return nil, nil, nil
	}
	done = make(chan error, 1)
	c.prewarmed = done
	r.seat(c, now)
	return done, nil, nil
}

// next is the conversation that gets the next slot, nil if none needs one.
func (r *roster) next(now time.Time) *conversation {
	return r.waitlist.Next(now, func(c *conversation) bool { return r.runs(c.key) })
}

// runs reports whether this process may run a conversation.
func (r *roster) runs(key string) bool { return r.opts.Runs == nil || r.opts.Runs(key) }

// pressed reports whether a conversation without a slot needs one.
func (r *roster) pressed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live >= r.opts.MaxLive && r.next(time.Now()) != nil
}

// press makes awake conversations check whether they can give their slots up.
func (r *roster) press(now time.Time) {
	if r.live < r.opts.MaxLive || r.next(now) == nil {
		return
	}
	for c := range r.seated {
		signal(c.wakeup)
	}
}

// setTimer calls schedule when the next conversation may be woken, and asks for
// leases that may be free by now.
func (r *roster) setTimer(now time.Time) {
	if r.opts.MaxLive == NoCLIs {
		return
	}
	r.askForLeases(now)
	if r.timer != nil {
		r.timer.Stop()
	}
	due, ok := r.waitlist.Due(!r.asks) // leases are asked for one after another
	if !ok {
		return
	}
	r.timer = time.AfterFunc(due.Sub(now), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.schedule()
	})
}

// leave gives the slot of a conversation back. If it was left for a reason that
// may pass, it is woken again later.
func (r *roster) leave(c *conversation, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(c.left)
	refused := c.token == 0 // who had the lease has given it back itself, and keeps its pause
	c.Awake, c.left, c.session, c.withdraw, c.token = false, nil, nil, nil, 0
	delete(r.seated, c)
	r.tally(0, -1)
	if refused && c.freed && again > 0 {
		again, c.Held = 0, false
	}
	if again >= 0 {
		c.Wanted = false // behind the waiting ones
		c.After = time.Now().Add(again)
		r.mark(c)
	}
	r.waitlist.Put(c, time.Now())
	r.waitlist.Slot(c, -1, 0) // last: a tenant that has nothing more is forgotten
	r.forget(c)
	r.schedule()
}

// waitingNames returns the names of the prompts that are known to wait.
func (r *roster) waitingNames(c *conversation) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(c.waiting)
}

// reset replaces the known queue with that of the store. Prompts that came while it was
// read are kept.
func (r *roster) reset(c *conversation, before []string, all []*queued) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make(map[string]bool, len(all))
	for _, p := range all {
		names[p.name] = true
		if !slices.Contains(c.waiting, p.name) {
			c.waiting = append(c.waiting, p.name)
			r.tally(1, 0)
		}
	}
	for _, name := range before {
		if !names[name] {
			r.remove(c, name)
		}
	}
	slices.Sort(c.waiting)
}

// ended takes a prompt that has its outcome out of the queue.
func (r *roster) ended(c *conversation, p *queued) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c, p.name)
}

func (r *roster) remove(c *conversation, name string) {
	if i := slices.Index(c.waiting, name); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		r.tally(-1, 0)
	}
}

// took averages how long turns take, with more weight on recent ones.
func (r *roster) took(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn += (d - r.turn) / 8
}

// signal fills a channel with one slot.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// done takes a prompt out of the queue of a conversation that sleeps here: another
// process has ended it. The conversation may sleep because of that prompt, so those
// behind it are looked at. One that is awake may be about to sleep because of it, and
// looks once more. The caller schedules.
func (r *roster) done(key, name string) {
	c := r.active[key]
	if c == nil {
		return
	}
	if c.Awake {
		if len(c.waiting) > 1 && slices.Contains(c.waiting, name) {
			r.mark(c)
		}
		return
	}
	r.remove(c, name)
	if len(c.waiting) == 0 {
		c.Wanted = false
		r.waitlist.Put(c, time.Now())
	} else {
		r.mark(c)
	}
	r.forget(c)
}
