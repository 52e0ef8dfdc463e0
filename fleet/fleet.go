package fleet

import (
	"context"
	"errors"
	"sync"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
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

	days *days // nil without a budget for a day

	newer newerRecords
	temps temporary

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	closing chan struct{}  // closed when Close begins
	running sync.WaitGroup // what looks at the store

	roster    *roster
	news      *news
	meter     *meter
	endings   *endings
	eraser    *eraser
	janitor   *janitor
	copier    *copier
	reports   *reports
	admission *admission
	lookout   *lookout
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
	if err := f.admission.checkFirst(ctx); err != nil {
		f.cancel()
		return nil, err
	}
	stop, err := f.lookout.listen(ctx) // before the first look, so that nothing is missed
	if err != nil {
		f.cancel()
		return nil, err
	}
	f.running.Go(func() {
		<-f.ctx.Done()
		stop()
	})
	f.temps.sweep() // what a process has left that was killed may never be needed again
	if err := errors.Join(f.eraser.finishDeletions(ctx), f.copier.finishCopies(ctx), f.lookout.look(ctx)); err != nil {
		f.roster.mu.Lock()
		f.roster.closed = true
		f.roster.mu.Unlock()
		f.stopAll()
		f.roster.awake.Wait()
		f.running.Wait()
		return nil, err
	}
	f.running.Go(f.lookout.poll)
	if o.MaxLive != NoCLIs {
		f.running.Go(f.lookout.watchDecisions)
		f.running.Go(f.endings.endOverdue)
		f.running.Go(f.janitor.cleanUp)
		f.running.Go(func() { f.temps.keepSwept(f.ctx) })
		if f.days != nil {
			f.running.Go(f.lookout.newDay)
		}
	}
	return f, nil
}

// assemble makes a fleet that does nothing yet. Its parts know only what they are given
// here, and none of them knows the fleet.
func assemble(ctx context.Context, o Options) *Fleet {
	f := &Fleet{
		opts: o, store: newAnnouncer(o.Store, o.Trace), inbox: approval.NewQuestions(stepwise{o.Store}, o.Project),
		closing: make(chan struct{}), bounds: bounds{o.StoreTimeout},
	}
	f.log = outcomelog.New(f.store, o.Project, func(name string, err error) {
		o.Logger.Warn("the mark of an outcome cannot be read, and stays", "conversation", keyAt(name), "error", err)
	})
	f.newer.log = o.Logger
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.days = newDays(f.ctx, &f.opts, f.store, &f.clock)
	f.records = &records{f.store, o.Project, f.log, f.days, &f.newer}
	f.asked = &asked{f.store, o.Project, f.inbox}
	f.leases = &leases{f.store, &f.opts}
	f.budgets = &budgets{&f.opts, f.days}
	f.roster = newRoster(f.ctx, &f.opts, &f.running, f.leases, f.run)
	f.news = &news{&f.opts, f.store, f.roster}
	f.meter = &meter{&f.opts, f.store, f.records, f.days}
	overdue := newOverdue()
	f.endings = &endings{&f.opts, f.ctx, f.store, &f.clock, overdue, f.records, f.asked, f.roster, f.leases, f.news}
	f.eraser = &eraser{&f.opts, f.ctx, &f.running, f.store, f.inbox, &f.newer, &f.temps, f.bounds, f.records, f.roster, f.leases, f.news, f.meter}
	f.janitor = &janitor{&f.opts, f.ctx, f.store, f.inbox, &f.newer, f.log, f.records}
	f.copier = &copier{&f.opts, f.ctx, &f.running, f.store, &f.newer, f.records, f.leases}
	f.reports = &reports{&f.opts, f.ctx, f.store, &f.newer, f.bounds, f.records, f.asked, f.roster, f.budgets}
	f.admission = &admission{
		opts: &f.opts, ctx: f.ctx, store: f.store, temps: &f.temps, days: f.days, tenants: newTenantRates(&f.opts, f.store, &f.clock),
		records: f.records, roster: f.roster, budgets: f.budgets,
	}
	f.lookout = &lookout{
		opts: &f.opts, ctx: f.ctx, store: f.store, inbox: f.inbox, newer: &f.newer, overdue: overdue, days: f.days, clock: &f.clock,
		records: f.records, roster: f.roster, endings: f.endings, missed: make(chan struct{}, 1),
	}
	return f
}

// Approvals returns the questions that the conversations ask people. A decision
// wakes the conversation that waits for it.
func (f *Fleet) Approvals() approval.Inbox { return boundedInbox{f.inbox, f.bounds} }

// Close ends the fleet. Calls that wait for a person are deferred, turns may run
// for as long as Options.Grace says, and are then cut off; ctx makes that
// shorter. Everything that is not answered stays in the store for the next Open.
// Close returns when all CLIs have ended.
func (f *Fleet) Close(ctx context.Context) error {
	f.roster.mu.Lock()
	first := !f.roster.closed
	f.roster.closed = true
	if first {
		close(f.closing)
	}
	if f.roster.timer != nil {
		f.roster.timer.Stop()
	}
	f.roster.mu.Unlock()
	grace, cancel := context.WithTimeout(ctx, f.opts.Grace)
	defer cancel()
	asleep := make(chan struct{})
	go func() {
		defer close(asleep)
		f.roster.awake.Wait()
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

// Tenant returns the conversations of one tenant: those whose keys begin with
// its name and a slash. A key of anybody else is [ErrForeign], whether or not
// there is such a conversation.
func (f *Fleet) Tenant(name string) Conversations { return tenant{f, name} }

// stopAll cancels everything that the fleet does.
func (f *Fleet) stopAll() {
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	f.roster.traceLoad(TraceLoad{})
	f.cancel()
}
