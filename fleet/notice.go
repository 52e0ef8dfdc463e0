package fleet

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/store"
)

// lookout notices what other processes change: prompts that they accept, mark and end,
// decisions, and the end of a day. The store announces changes; the lookout also looks at
// it now and then, in case an announcement was lost.
type lookout struct {
	opts    *Options
	ctx     context.Context // ends with Close
	ear     *ear
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

// listen begins to notice the changes of other processes. It returns when none is missed
// any more, or after a moment: then the first look may be followed by a second.
func (l *lookout) listen(ctx context.Context, running *sync.WaitGroup) {
	l.ear.notice = l.notice
	running.Go(func() {
		l.ear.watch(l.ctx, l.opts.Project, func(err error) {
			l.opts.Logger.Warn("the store cannot be watched, so it is looked at more often until it can", "error", err)
		})
	})
	waitFor(ctx, l.missed, nil, listenBound)
}

// listenBound is how long Open waits for the store to announce changes.
const listenBound = time.Second

// notice handles the announcement of a change, which may be late: it is only a hint where
// to look.
func (l *lookout) notice(c store.Changed, own bool) {
	switch reactTo(c, own) {
	case lookAtAll:
		l.noticeMissed()
	case promptChanged:
		l.noticePrompt(c)
	case promptGone:
		l.noticePromptGone(c.Record.Name)
	case promptEnded:
		name := c.Record.Name
		l.roster.recheck(keyAt(name), name[strings.LastIndexByte(name, '/')+1:])
	case outcomeMarked:
		l.store.announce(outcomesPlace)
	case conversationChanged:
		l.noticeConversation(c.Record.Name)
	case questionChanged:
		l.inbox.Announce()
	case leaseFree:
		l.roster.noticeReleased(placeOf(c.Released))
	case saidMore:
		if !l.roster.owns(c.By) { // the readers of a conversation that runs here know it
			l.store.announce(placeOf(c.By.Name))
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
		c.recheckAll()
	}
}

// noticeConversation lets a conversation with prompts be looked at again: a retry may
// have freed it. One that is awake here may just be giving up its slot because it was
// stuck.
func (l *lookout) noticeConversation(at string) {
	l.store.announce(at)
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	c := l.roster.active[keyAt(at)]
	if c == nil {
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

// noticePromptGone takes a prompt that another process has ended out of the queue.
func (l *lookout) noticePromptGone(name string) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	if l.roster.closed {
		return
	}
	l.roster.done(keyAt(name), name)
	l.roster.schedule()
}

// noticePrompt updates the queue that is known here with a new or changed prompt.
func (l *lookout) noticePrompt(ch store.Changed) {
	name := ch.Record.Name
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	if l.roster.closed {
		return
	}
	c := l.roster.conversation(keyAt(name))
	isNew := l.roster.learn(c, &queued{name: name})
	if ch.By == (store.Fence{}) {
		l.endings.lookInterrupted(c, &queued{ID: stamped(name), name: name})
	}
	l.roster.schedule()
	if !isNew {
		c.recheckAll() // it may wait for a person now
	}
}
