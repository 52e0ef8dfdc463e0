package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/approval"
)

// Fleet runs conversations. All methods may be called from any goroutine. Close
// ends it.
type Fleet struct{ *house }

// Open starts a fleet on the contents of its store: prompts that were accepted and not
// answered before are taken up. If the CLI that is installed is too old to run them,
// the error is [claude.ErrUnsupportedVersion]; without a conversation in the store, the
// first Send returns it.
func Open(ctx context.Context, o Options) (*Fleet, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f := assemble(ctx, o)
	if err := f.admission.checkFirst(ctx); err != nil {
		f.cancel()
		return nil, err
	}
	if err := f.peers.open(ctx, f.performHere); err != nil {
		f.cancel()
		return nil, err
	}
	f.lookout.listen(ctx, &f.running) // before the first look, so that nothing is missed
	f.temps.sweep()                   // files of a killed process may never be needed again
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

// assemble makes a fleet that does nothing yet.
func assemble(ctx context.Context, o Options) *Fleet {
	h := newHouse(ctx, o)
	h.roster.run, h.endings.asleep = h.run, h.decideAsleep
	return &Fleet{h}
}

// Approvals returns the inbox of the questions that the conversations ask people. A
// decision wakes the conversation that waits for it.
func (f *Fleet) Approvals() approval.Inbox { return boundedInbox{f.inbox, f.bounds} }

// Close ends the fleet. Calls that wait for a person are deferred. Turns may run for
// Options.Grace, or less if ctx ends, and are then cut off. Everything that is not
// answered stays in the store for the next Open. Close returns when all CLIs have
// ended.
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

// Tenant returns the conversations of one tenant: those whose keys begin with its name
// and a slash. Any other key is refused with [ErrForeign], whether or not such a
// conversation exists.
func (f *Fleet) Tenant(name string) Conversations { return tenant{f, name} }

// stopAll cancels everything that the fleet does.
func (f *Fleet) stopAll() {
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	f.roster.traceLoad(TraceLoad{})
	f.cancel()
}
