package fleet

import (
	"slices"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet/internal/shrink"
	"github.com/claude-agent-go/claude/fleet/internal/slots"
)

// conversation is what is known here of a conversation that is awake or has
// prompts. The lock of the fleet guards it.
type conversation struct {
	slots.Seat // how it waits for a slot

	key      string
	waiting  []string // the names of its prompts that have no outcome, in order
	reserved int      // prompts that are about to be accepted
	// accepted are those of waiting that were accepted here, and that the store has
	// not announced yet.
	accepted map[string]bool
	stuck    bool          // it was when its record was last read; somebody may free it anywhere
	left     chan struct{} // closed when it gives its slot or its lease back; nil if it has none
	stop     chan struct{} // closed when its work must end
	token    int64         // of its lease, 0 if this process does not have it
	wakeup   chan struct{} // one slot: there may be something to do
	more     chan struct{} // one slot: a prompt has come, which may steer the turn

	session     *claude.Session // while a CLI runs
	starting    bool            // a CLI is being started
	own         choices         // of the options with which it was started
	turn        *turn           // what it works on while it is awake
	interrupted string          // the prompt whose turn is to be interrupted, now or once it has begun
	watchers    map[string][]*watcher
	watching    int // those who need it to stay in memory
	liveText    liveText
	liveReaders int       // those who read it
	follower    *follower // while somebody does, if it may run elsewhere

	resting bool   // it is between two turns, and a prompt may be offered
	offered *offer // the one that is

	accepting token // for writing prompts down, in the order of their names
}

// conversation returns a conversation, and keeps it in memory until forget.
func (f *Fleet) conversation(key string) *conversation {
	c := f.active[key]
	if c == nil {
		c = &conversation{key: key, Seat: slots.Seat{Tenant: TenantOf(key)}, wakeup: make(chan struct{}, 1), more: make(chan struct{}, 1), accepting: newToken(), stop: make(chan struct{}), watchers: make(map[string][]*watcher)}
		f.active[key] = c
	}
	return c
}

// forget removes a conversation that sleeps from memory if nothing is known of
// it that the store does not know.
func (f *Fleet) forget(c *conversation) {
	if !c.Awake && !c.Asking && len(c.waiting) == 0 && c.reserved == 0 && !c.Wanted && c.watching == 0 {
		shrink.Drop(&f.active, &f.most, c.key)
	}
}

// learn takes note of a prompt in the store, and reports whether it is new. One that is
// cancelled or interrupted and still there has to be tidied up.
func (f *Fleet) learn(c *conversation, p *queued) bool {
	known := slices.Contains(c.waiting, p.name)
	if known && p.Cancelled.IsZero() && p.Interrupted.IsZero() {
		return false
	}
	if !known {
		c.waiting = append(c.waiting, p.name)
		f.tally(1, 0)
	}
	f.mark(c)
	c.signalMore()
	return !known
}

// nothingNew reports whether all prompts have ended that are known, and none has come.
// It is only known in time if the store says what changes.
func (f *Fleet) nothingNew(c *conversation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notified && !c.Wanted && len(c.waiting) == 0
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
func (f *Fleet) want(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.opts.MaxLive == NoCLIs {
		return
	}
	f.mark(f.conversation(key))
	f.schedule()
}

// wantWaiting is want for a conversation that has prompts, as far as is known here.
func (f *Fleet) wantWaiting(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.active[key]; c != nil && len(c.waiting) > 0 && !f.closed {
		f.mark(c)
		f.schedule()
	}
}

// mark notes that there may be something to do, behind those that are noted
// already. A process without CLIs never does it.
func (f *Fleet) mark(c *conversation) {
	if f.opts.MaxLive == NoCLIs {
		return
	}
	if !c.Wanted {
		f.order++
		c.Wanted, c.Since = true, f.order
		f.waitlist.Put(c, time.Now())
	}
	signal(c.wakeup)
}

// schedule wakes conversations as long as there are slots. The tenant with the
// fewest slots comes first, of several the one that has not got any for longest,
// and in a tenant the conversation that has waited longest. Then it sets
// the timer for those that have to wait for their time.
func (f *Fleet) schedule() {
	if f.closed {
		return
	}
	now := time.Now()
	for f.live < f.opts.MaxLive {
		c := f.next(now)
		if c == nil {
			break
		}
		c.Awake, c.left, c.After = true, make(chan struct{}), time.Time{}
		f.seated[c] = true
		f.order++
		f.waitlist.Slot(c, 1, f.order)
		f.waitlist.Put(c, now)
		f.tally(0, 1)
		f.awake.Go(func() { f.run(c) })
	}
	f.press(now)
	f.setTimer(now)
}

// next is the conversation that gets the next slot, nil if none needs one.
func (f *Fleet) next(now time.Time) *conversation {
	return f.waitlist.Next(now, func(c *conversation) bool { return f.runs(c.key) })
}

// runs reports whether this process may run a conversation.
func (f *Fleet) runs(key string) bool { return f.opts.Runs == nil || f.opts.Runs(key) }

// pressed reports whether a conversation without a slot needs one.
func (f *Fleet) pressed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live >= f.opts.MaxLive && f.next(time.Now()) != nil
}

// press makes those that are awake look whether they can give their slot up.
func (f *Fleet) press(now time.Time) {
	if f.live < f.opts.MaxLive || f.next(now) == nil {
		return
	}
	for c := range f.seated {
		signal(c.wakeup)
	}
}

// setTimer calls schedule when the next conversation may be woken, and asks for
// leases that may be free by now.
func (f *Fleet) setTimer(now time.Time) {
	if f.opts.MaxLive == NoCLIs {
		return
	}
	f.askForLeases(now)
	if f.timer != nil {
		f.timer.Stop()
	}
	due, ok := f.waitlist.Due(!f.asks) // leases are asked for one after another
	if !ok {
		return
	}
	f.timer = time.AfterFunc(due.Sub(now), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.schedule()
	})
}

// leave gives the slot of a conversation back. If it was left for a reason that
// may pass, it is woken again later.
func (f *Fleet) leave(c *conversation, again time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(c.left)
	c.Awake, c.left, c.session, c.token = false, nil, nil, 0
	delete(f.seated, c)
	f.tally(0, -1)
	if again >= 0 {
		c.Wanted = false // behind the waiting ones
		c.After = time.Now().Add(again)
		f.mark(c)
	}
	f.waitlist.Put(c, time.Now())
	f.waitlist.Slot(c, -1, 0) // last: a tenant that has nothing more is forgotten
	f.forget(c)
	f.schedule()
}

// waitingNames returns the names of the prompts that are known to wait.
func (f *Fleet) waitingNames(c *conversation) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(c.waiting)
}

// reset makes the queue that is known what the store has. Prompts that came
// while it was read are kept.
func (f *Fleet) reset(c *conversation, before []string, all []*queued) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := make(map[string]bool, len(all))
	for _, p := range all {
		names[p.name] = true
		if !slices.Contains(c.waiting, p.name) {
			c.waiting = append(c.waiting, p.name)
			f.tally(1, 0)
		}
	}
	for _, name := range before {
		if !names[name] {
			f.remove(c, name)
		}
	}
	slices.Sort(c.waiting)
}

// ended takes a prompt that has its outcome out of the queue.
func (f *Fleet) ended(c *conversation, p *queued) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(c, p.name)
}

func (f *Fleet) remove(c *conversation, name string) {
	delete(c.accepted, name)
	if i := slices.Index(c.waiting, name); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		f.tally(-1, 0)
	}
}

// took keeps how long turns take, the last ones more than those before.
func (f *Fleet) took(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn += (d - f.turn) / 8
}

// signal fills a channel with one slot.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
