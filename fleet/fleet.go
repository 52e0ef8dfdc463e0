package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/fleet/internal/slots"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// Fleet runs conversations. All methods may be called from any goroutine. Close
// ends it.
type Fleet struct {
	opts  Options
	store *announcer
	inbox *approval.Questions
	clock clock
	log   *outcomelog.Log

	bounds  bounds
	records *records
	asked   *asked
	leases  *leases
	budgets *budgets

	days    *days        // nil without a budget for a day
	tenants *tenantRates // nil without a rate of tenants

	overdue *overdue
	newer   newerRecords
	temps   temporary

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	closing chan struct{}  // closed when Close begins
	missed  chan struct{}  // one slot: prompts may have come unnoticed
	running sync.WaitGroup // what looks at the store
	awake   sync.WaitGroup // conversations that have a slot

	checked atomic.Bool // the CLI is new enough

	notified bool // the store says what changes

	mu     sync.Mutex
	closed bool
	// active are the conversations that are awake, or have prompts that wait.
	active   map[string]*conversation
	most     int                        // of them, see [shrink.Drop]
	queued   int                        // prompts that wait, of all conversations
	live     int                        // slots that are taken
	seated   map[*conversation]bool     // those that have them
	waitlist *slots.List[*conversation] // those that need one
	order    uint64                     // counts who was wanted or served
	asks     bool                       // the store is being asked for leases
	timer    *time.Timer                // for the next conversation that has to wait
	last     time.Time                  // when the last prompt was accepted
	turn     time.Duration              // how long turns take
	rates    rates                      // of conversations
}

// Open starts a fleet on what its store has: prompts that were accepted and not
// answered before are taken up. If the CLI that is installed is too old to run
// them, the error is [claude.ErrUnsupportedVersion]; without a conversation in
// the store, the first Send says so.
func Open(ctx context.Context, o Options) (*Fleet, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f := assemble(ctx, o)
	if err := f.checkFirst(ctx); err != nil {
		f.cancel()
		return nil, err
	}
	stop, err := f.listen(ctx) // before the first look, so that nothing is missed
	if err != nil {
		f.cancel()
		return nil, err
	}
	f.running.Go(func() {
		<-f.ctx.Done()
		stop()
	})
	f.temps.sweep() // what a process has left that was killed may never be needed again
	if err := errors.Join(f.finishDeletions(ctx), f.finishCopies(ctx), f.look(ctx)); err != nil {
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		f.stopAll()
		f.awake.Wait()
		f.running.Wait()
		return nil, err
	}
	f.running.Go(f.poll)
	if o.MaxLive != NoCLIs {
		f.running.Go(f.watchDecisions)
		f.running.Go(f.endOverdue)
		f.running.Go(f.cleanUp)
		f.running.Go(func() { f.temps.keepSwept(f.ctx) })
		if f.days != nil {
			f.running.Go(f.newDay)
		}
	}
	return f, nil
}

// assemble makes a fleet that does nothing yet. Its parts know only what they are given
// here, and none of them knows the fleet.
func assemble(ctx context.Context, o Options) *Fleet {
	f := &Fleet{
		opts: o, store: newAnnouncer(o.Store, o.Trace), inbox: approval.NewQuestions(stepwise{o.Store}, o.Project),
		closing: make(chan struct{}), missed: make(chan struct{}, 1), active: make(map[string]*conversation), seated: make(map[*conversation]bool), waitlist: slots.New[*conversation](), turn: time.Second, overdue: newOverdue(),
		rates: make(rates), bounds: bounds{o.StoreTimeout},
	}
	f.log = outcomelog.New(f.store, o.Project, func(name string, err error) {
		o.Logger.Warn("the mark of an outcome cannot be read, and stays", "conversation", keyAt(name), "error", err)
	})
	f.tenants = newTenantRates(&f.opts, f.store, &f.clock)
	f.newer.log = o.Logger
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.days = newDays(f.ctx, &f.opts, f.store, &f.clock)
	f.records = &records{f.store, o.Project, f.log, f.days, &f.newer}
	f.asked = &asked{f.store, o.Project, f.inbox}
	f.leases = &leases{f.store, &f.opts}
	f.budgets = &budgets{&f.opts, f.days}
	return f
}

// Send accepts a prompt for a conversation, which is made if there is none, and
// returns its id. The prompt is accepted when it is written to the store. From
// then on it is answered, or reported as failed, but never lost. After an
// [*InDoubtError] it may be accepted: send it again with the id that the error has.
// After any other error it is not. Send waits for the store no longer than
// Options.StoreTimeout. Errors: [ErrOverloaded], [ErrBudget], [ErrStuck],
// [ErrClosed], [ErrTimeout], a [*ConversationError].
func (f *Fleet) Send(ctx context.Context, key string, p Prompt) (id string, err error) {
	carrier, sent := f.sending(ctx, key, p.ID)
	bounded, end := f.bounds.bound(ctx, key)
	id, err = f.send(bounded, key, p, carrier)
	end(&err)
	sent(id, err)
	return id, err
}

func (f *Fleet) send(ctx context.Context, key string, p Prompt, carrier map[string]string) (id string, err error) {
	content, err := p.content()
	if err != nil {
		return "", err
	}
	if err := checkKey(f.opts.Project, key); err != nil {
		return "", err
	}
	if err := f.checkCLI(key); err != nil {
		return "", err
	}
	q := &queued{ID: cmp.Or(p.ID, uuid.New()), Content: content, Steer: p.Steer, Rewind: p.rewind, Carrier: carrier, fresh: p.ID == "" || p.fresh}
	c, err := f.sendNow(ctx, key, q)
	if err == nil {
		return q.ID, nil
	}
	inDoubt := !errors.Is(err, errDeclined)
	if c == nil && inDoubt {
		return "", err
	}
	known, now, err := f.admit(ctx, key, q)
	if err == nil && !known && c == nil {
		var limits ConversationLimits
		if limits, err = f.budgets.limits(key); err == nil {
			c, err = f.reserve(ctx, key, limits.Rate)
		}
	} else if c != nil && (err != nil || known) {
		f.giveRoom(c)
	}
	if err != nil && inDoubt {
		err = q.inDoubt(key, err)
	}
	if err != nil {
		return "", err
	}
	if known {
		return q.ID, nil
	}
	err = f.acceptNext(ctx, c, q, now)
	f.settle(c, q, err)
	if err != nil {
		return "", err
	}
	return q.ID, nil
}

// acceptNext writes a prompt down behind all that this process has accepted: one after
// another, so that prompts are accepted in the order of their names.
func (f *Fleet) acceptNext(ctx context.Context, c *conversation, q *queued, now time.Time) error {
	if err := c.accepting.take(ctx); err != nil {
		return q.inDoubt(c.key, err) // another Send with its id may be writing it
	}
	defer c.accepting.give()
	q.Accepted = f.tick(now)
	q.name = place(c.key) + "/" + stamp(q.Accepted, q.ID)
	return f.records.accept(ctx, c.key, q)
}

// admit finds out whether a prompt may be queued, and at what time: behind all that were
// accepted before. The conversation may know the prompt already. If it cannot be asked, the prompt is in
// doubt: an earlier Send with this id may have been accepted.
func (f *Fleet) admit(ctx context.Context, key string, q *queued) (known bool, now time.Time, err error) {
	may := func() error { return nil }
	if q.Rewind == nil { // which costs nothing
		may = func() error { return f.days.allow(ctx, key) }
	}
	rec, now, err := f.records.recordAndTime(ctx, key, may)
	if err == nil && !q.fresh {
		if known, err = f.records.known(ctx, key, q.ID); known {
			return true, now, nil
		}
	}
	if err != nil && !q.fresh && !errors.Is(err, ErrDeleted) && !errors.Is(err, ErrBudget) {
		err = q.inDoubt(key, err)
	}
	if err != nil {
		return false, now, err
	}
	if rec.Stuck != nil {
		return false, now, rec.stuckError()
	}
	if q.Rewind == nil { // which costs nothing
		err = f.budgets.budget(ctx, &rec)
	}
	if err == nil {
		now, err = f.records.behind(ctx, key, now)
	}
	return false, now, err
}

// tick returns the time, later than that of all prompts before.
func (f *Fleet) tick(now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.After(f.last) {
		now = f.last.Add(1)
	}
	f.last = now
	return now
}

// reserve makes room for a prompt in the queues, and counts it.
func (f *Fleet) reserve(ctx context.Context, key string, rate Rate) (*conversation, error) {
	c, err := f.makeRoom(key, rate)
	if err != nil {
		return nil, err
	}
	if err := f.tenants.take(ctx, key); err != nil {
		f.mu.Lock()
		f.rates.giveBack(rate, key)
		f.mu.Unlock()
		f.giveRoom(c)
		return nil, err
	}
	return c, nil
}

// makeRoom is reserve without the rate of the tenant, which the store counts.
func (f *Fleet) makeRoom(key string, rate Rate) (*conversation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.conversation(key)
	switch {
	case f.closed:
		f.forget(c)
		return nil, ErrClosed
	case c.Stopped:
		return nil, &ConversationError{key, ErrDeleted}
	case len(c.waiting)+c.reserved >= f.opts.Queue:
		return nil, &OverloadedError{Key: key, Queued: len(c.waiting) + c.reserved, Wait: f.wait(1)}
	case f.queued >= f.opts.QueueAll:
		n := f.queued
		f.forget(c)
		return nil, &OverloadedError{Queued: n, Wait: f.wait(f.queued / 10)}
	}
	if wait := f.rates.take(rate, key, time.Now()); wait > 0 {
		f.forget(c)
		return nil, &OverloadedError{Key: key, Wait: wait}
	}
	c.reserved++
	f.tally(1, 0)
	return c, nil
}

// settle takes the prompt into the queue, or gives its room back. A prompt that
// may be written counts until the store has been looked at.
func (f *Fleet) settle(c *conversation, q *queued, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.reserved--
	f.tally(-1, 0)
	if err == nil && f.learn(c, q) && f.notified {
		if c.accepted == nil {
			c.accepted = make(map[string]bool)
		}
		c.accepted[q.name] = true
	}
	f.forget(c)
	f.schedule()
}

// wait is how long so many prompts take.
func (f *Fleet) wait(prompts int) time.Duration {
	slots := max(f.opts.MaxLive, 1)
	n := time.Duration(max(prompts, 1)+slots-1) / time.Duration(slots)
	return max(time.Second, (n * f.turn).Round(time.Second))
}

// poll looks for prompts that other processes have accepted, until the end.
func (f *Fleet) poll() {
	for waitFor(f.ctx, f.missed, nil, f.opts.Poll) {
		if err := f.look(f.ctx); err != nil && f.ctx.Err() == nil {
			f.opts.Logger.Warn("the store could not be looked at for prompts", "error", err)
		}
	}
}

// look takes up the prompts that the store has, and forgets those that others have
// ended.
func (f *Fleet) look(ctx context.Context) error {
	known := f.knownPrompts()
	newer := make(map[string]bool)
	for p, err := range f.records.pending(ctx, "") {
		if err != nil {
			return err
		}
		if p.newer {
			newer[keyAt(p.name)] = true
			continue
		}
		f.mu.Lock()
		if key := keyAt(p.name); key != "" && !f.closed {
			c := f.conversation(key)
			f.learn(c, p)
			if !p.Interrupted.IsZero() {
				f.noticeInterrupted(c, p.ID)
			}
		}
		f.mu.Unlock()
		delete(known, p.name)
	}
	freed, left := f.freed(ctx), f.newer.prompts(newer)
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range known {
		f.done(keyAt(name), name)
	}
	for _, key := range freed {
		if c := f.active[key]; c != nil && c.stuck {
			f.mark(c)
		}
	}
	for _, key := range left {
		if c := f.active[key]; c != nil && len(c.waiting) > 0 {
			f.mark(c)
		}
	}
	f.waitlist.Reconsider(time.Now())
	f.schedule()
	return nil
}

// freed returns the conversations that were stuck here and are not anymore: another
// process may have cancelled the prompt, or let it try again. Only records of those that
// are stuck are read.
func (f *Fleet) freed(ctx context.Context) (keys []string) {
	for _, key := range f.stuckHere() {
		rec, err := f.records.load(ctx, key)
		switch {
		case errors.Is(err, ErrUnknown), err == nil && rec.Stuck == nil:
			keys = append(keys, key)
		case err != nil && !errors.Is(err, ErrDeleted) && ctx.Err() == nil:
			f.opts.Logger.Warn("a conversation that is stuck cannot be read", "conversation", key, "error", err)
		}
	}
	return keys
}

// stuckHere returns the conversations with prompts that sleep because they are stuck.
func (f *Fleet) stuckHere() (keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, c := range f.active {
		if c.stuck && !c.Wanted && len(c.waiting) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// knownPrompts are the names of the prompts that are known to wait.
func (f *Fleet) knownPrompts() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := make(map[string]bool)
	for _, c := range f.active {
		for _, name := range c.waiting {
			names[name] = true
		}
	}
	return names
}

// done takes a prompt out of the queue of a conversation that sleeps here: another
// process has ended it. The conversation may sleep because of that prompt, so those
// behind it are looked at. One that is awake may be about to sleep because of it, and
// looks once more. The caller schedules.
func (f *Fleet) done(key, name string) {
	c := f.active[key]
	if c == nil {
		return
	}
	if c.Awake {
		if len(c.waiting) > 1 && slices.Contains(c.waiting, name) {
			f.mark(c)
		}
		return
	}
	f.remove(c, name)
	if len(c.waiting) == 0 {
		c.Wanted = false
		f.waitlist.Put(c, time.Now())
	} else {
		f.mark(c)
	}
	f.forget(c)
}

// watchDecisions wakes conversations whose questions are decided, and those with
// prompts whose questions were withdrawn. Prompts that wait for a question which has
// expired are ended.
func (f *Fleet) watchDecisions() {
	for attempt := 0; f.ctx.Err() == nil; attempt++ {
		for q, err := range f.inbox.Watch(f.ctx, approval.Filter{States: []approval.State{approval.Decided, approval.Gone}}) {
			if err != nil {
				break
			}
			attempt = 0
			switch {
			case q.State == approval.Decided:
				f.want(q.Conversation)
			case q.Outcome == approval.Withdrawn:
				f.wantWaiting(q.Conversation)
			case q.Outcome == approval.Expired && q.Deferred && f.hasWaiting(q.Conversation):
				f.overdue.add(q)
			}
		}
		pause(f.ctx, retryDelay(attempt))
	}
}

// Approvals returns the questions that the conversations ask people. A decision
// wakes the conversation that waits for it.
func (f *Fleet) Approvals() approval.Inbox { return boundedInbox{f.inbox, f.bounds} }

// Close ends the fleet. Calls that wait for a person are deferred, turns may run
// for as long as Options.Grace says, and are then cut off; ctx makes that
// shorter. Everything that is not answered stays in the store for the next Open.
// Close returns when all CLIs have ended.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	first := !f.closed
	f.closed = true
	if first {
		close(f.closing)
	}
	if f.timer != nil {
		f.timer.Stop()
	}
	f.mu.Unlock()
	grace, cancel := context.WithTimeout(ctx, f.opts.Grace)
	defer cancel()
	asleep := make(chan struct{})
	go func() {
		defer close(asleep)
		f.awake.Wait()
	}()
	select {
	case <-asleep:
	case <-grace.Done():
	}
	f.stopAll()
	<-asleep
	f.running.Wait()
	if err := ctx.Err(); err != nil && first && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
