package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
)

// look takes up the prompts in the store, and forgets those that other processes have
// ended.
func (l *lookout) look(ctx context.Context) error {
	known := l.roster.knownPrompts()
	newer, busy := make(map[string]bool), make(map[string]bool)
	for p, err := range l.records.pending(ctx, "") {
		if err != nil {
			return err
		}
		if p.newer {
			newer[keyAt(p.name)] = true
			continue
		}
		l.roster.mu.Lock()
		if key := keyAt(p.name); key != "" && !l.roster.closed {
			c := l.roster.conversation(key)
			l.roster.learn(c, p)
			if !p.Interrupted.IsZero() {
				l.endings.noticeInterrupted(c, p.ID)
			}
		}
		l.roster.mu.Unlock()
		busy[keyAt(p.name)] = true
		delete(known, p.name)
	}
	for name := range known {
		busy[keyAt(name)] = true
	}
	l.announce(busy)
	freed, left := l.freed(ctx), l.newer.prompts(newer)
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	for name := range known {
		l.roster.done(keyAt(name), name)
	}
	for _, key := range freed {
		if c := l.roster.active[key]; c != nil && c.stuck {
			l.roster.mark(c)
		}
	}
	for _, key := range left {
		if c := l.roster.active[key]; c != nil && len(c.waiting) > 0 {
			l.roster.mark(c)
		}
	}
	l.roster.waitlist.Reconsider(time.Now())
	l.roster.schedule()
	return nil
}

// announce lets the readers of conversations read what their prompts cause in other
// processes, whose announcements may be lost.
func (l *lookout) announce(busy map[string]bool) {
	l.roster.mu.Lock()
	for key := range busy {
		if c := l.roster.active[key]; key == "" || c != nil && c.Awake {
			delete(busy, key) // what happens here is announced
		}
	}
	l.roster.mu.Unlock()
	for key := range busy {
		l.store.announce(place(key))
	}
}

// poll looks for prompts that other processes have accepted or ended, until the end.
func (l *lookout) poll() {
	for waitFor(l.ctx, l.missed, nil, l.ear.pollEvery()) {
		if err := l.look(l.ctx); err != nil && l.ctx.Err() == nil {
			l.opts.Logger.Warn("the store could not be looked at for prompts", "error", err)
		}
		l.lookForEnds()
	}
}

// freed returns the conversations that were stuck here and are not any more: another
// process may have cancelled the prompt, or let it try again. It reads only the records
// of stuck conversations.
func (l *lookout) freed(ctx context.Context) (keys []string) {
	for _, key := range l.roster.stuckHere() {
		rec, err := l.records.load(ctx, key)
		switch {
		case errors.Is(err, ErrUnknown), err == nil && rec.Stuck == nil:
			keys = append(keys, key)
		case err != nil && !errors.Is(err, ErrDeleted) && ctx.Err() == nil:
			l.opts.Logger.Warn("a conversation that is stuck cannot be read", "conversation", key, "error", err)
		}
	}
	return keys
}

// watchDecisions wakes conversations whose questions are decided, and those with
// prompts whose questions were withdrawn. It ends prompts that wait for an expired
// question.
func (l *lookout) watchDecisions() {
	for attempt := 0; l.ctx.Err() == nil; attempt++ {
		for q, err := range l.inbox.Watch(l.ctx, approval.Filter{States: []approval.State{approval.StateDecided, approval.StateGone}}) {
			if err != nil {
				break
			}
			attempt = 0
			switch {
			case q.State == approval.StateDecided:
				l.roster.want(q.Conversation)
			case q.Outcome == approval.OutcomeWithdrawn:
				l.roster.wantWaiting(q.Conversation)
			case q.Outcome == approval.OutcomeExpired && q.Deferred && l.roster.hasWaiting(q.Conversation):
				l.overdue.add(q)
			}
		}
		pause(l.ctx, retryDelay(attempt))
	}
}

// newDay wakes the conversations that had to wait for the next day, when it begins or when
// they may spend more before that.
func (l *lookout) newDay() {
	for wait := time.Duration(0); pause(l.ctx, wait); {
		wait = clockLook
		if now, err := l.clock.about(l.ctx, l.store); err == nil {
			for _, key := range l.days.release(l.ctx, now) {
				l.roster.want(key)
			}
			wait = min(wait, dayspend.Of(now).Ends().Sub(now))
		}
	}
}

// clockLook is how often the clock of the store is checked for the end of a day. A
// timer until midnight would be late on a machine that was suspended.
const clockLook = time.Minute
