package fleet

import (
	"context"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// lookout notices what other processes change: prompts that they accept, mark and end,
// decisions, and the end of a day. It polls the store now and then, even if the store
// announces changes.
type lookout struct {
	opts    *Options
	ctx     context.Context // ends with Close
	store   *announcer
	inbox   *approval.Questions
	newer   *newerRecords
	overdue *overdue
	days    *days // nil without a budget for a day
	clock   *clock
	records *records
	roster  *roster
	endings *endings
	ended   endWatch

	missed chan struct{} // one slot: prompts may have come unnoticed
}

// listen subscribes to the changes of other processes, if the store announces them.
func (l *lookout) listen(ctx context.Context) (stop func(), err error) {
	n, ok := l.opts.Store.(store.Notifier)
	if !ok {
		return func() {}, nil
	}
	l.roster.notified = true
	return n.Notify(ctx, l.opts.Project, l.notice)
}

// notice handles the announcement of a change. The change may be one of our own, and
// the announcement may be late: it is only a hint where to look.
func (l *lookout) notice(c store.Change) {
	switch {
	case c == store.Change{}:
		l.noticeMissed()
	case c.Record.Kind == kindPrompt:
		l.noticePrompt(c)
	case c.Record.Kind == kindOutcome:
		if i := strings.LastIndexByte(c.Record.Name, '/'); i >= 0 && !l.roster.ours(c) {
			l.roster.recheck(keyAt(c.Record.Name), c.Record.Name[i+1:])
		}
	case c.Record.Kind == outcomelog.KindMark:
		if !c.Dropped {
			l.store.announce(outcomesPlace)
		}
	case c.Record.Kind == kindConversation:
		l.noticeConversation(c)
	case c.Record.Kind == approval.Kind:
		l.inbox.Announce()
	case c.Released:
		if at, ok := strings.CutPrefix(c.Lease, leasePrefix); ok {
			l.roster.noticeReleased(at)
		}
	case c.Lease != "":
		if at, ok := strings.CutPrefix(c.Lease, leasePrefix); ok {
			l.store.announce(at)
		}
	}
}

// noticeMissed makes all watchers look at the store: changes may have been missed.
func (l *lookout) noticeMissed() {
	signal(l.missed)
	l.store.announceAll()
	l.inbox.Announce()
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	for _, c := range l.roster.active {
		clear(c.accepted) // the store may never announce them
		c.recheckAll()
	}
}

// noticeConversation lets a conversation with prompts be looked at again: a retry may
// have freed it. One that is awake here may just be giving up its slot because it was
// stuck, so only the changes that this process made as its owner are left out.
func (l *lookout) noticeConversation(ch store.Change) {
	at := ch.Record.Name
	l.store.announce(at)
	ours := l.roster.ours(ch)
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	c := l.roster.active[keyAt(at)]
	if c == nil || ours {
		return
	}
	if !c.Awake {
		c.recheckAll() // it may be stuck now
	}
	if len(c.waiting) > 0 {
		l.roster.mark(c)
		l.roster.schedule()
	}
}

// noticePrompt updates the queue that is known here with a prompt that has come,
// changed or gone.
func (l *lookout) noticePrompt(ch store.Change) {
	name := ch.Record.Name
	key := keyAt(name)
	if key == "" || l.roster.ours(ch) {
		return
	}
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	if l.roster.closed {
		return
	}
	if ch.Dropped {
		l.roster.done(key, name)
		l.roster.schedule()
		return
	}
	c := l.roster.conversation(key)
	if c.accepted[name] && ch.Lease == "" {
		delete(c.accepted, name)
		return // it was accepted here, and has not changed since
	}
	isNew := l.roster.learn(c, &queued{name: name})
	if ch.Lease == "" {
		l.endings.lookInterrupted(c, &queued{ID: stamped(name), name: name})
	}
	l.roster.schedule()
	if !isNew {
		c.recheckAll() // it may wait for a person now
	}
}
