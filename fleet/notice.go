package fleet

import (
	"context"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// listen lets the store say what other processes change, if it can.
func (f *Fleet) listen(ctx context.Context) (stop func(), err error) {
	n, ok := f.opts.Store.(store.Notifier)
	if !ok {
		return func() {}, nil
	}
	f.notified = true
	return n.Notify(ctx, f.opts.Project, f.notice)
}

// notice takes note of a change. It may be one of our own, and it may come late:
// it only says where to look.
func (f *Fleet) notice(c store.Change) {
	switch {
	case c == store.Change{}:
		f.noticeMissed()
	case c.Record.Kind == kindPrompt:
		f.noticePrompt(c)
	case c.Record.Kind == kindOutcome:
		if i := strings.LastIndexByte(c.Record.Name, '/'); i >= 0 && !f.ours(c) {
			f.recheck(keyAt(c.Record.Name), c.Record.Name[i+1:])
		}
	case c.Record.Kind == outcomelog.KindMark:
		if !c.Dropped {
			f.store.announce(outcomesPlace)
		}
	case c.Record.Kind == kindConversation:
		f.noticeConversation(c)
	case c.Record.Kind == approval.Kind:
		f.inbox.Announce()
	case c.Released:
		if at, ok := strings.CutPrefix(c.Lease, leasePrefix); ok {
			f.noticeReleased(at)
		}
	case c.Lease != "":
		if at, ok := strings.CutPrefix(c.Lease, leasePrefix); ok {
			f.store.announce(at)
		}
	}
}

// noticeMissed makes everybody look at the store: changes may have been missed.
func (f *Fleet) noticeMissed() {
	signal(f.missed)
	f.store.announceAll()
	f.inbox.Announce()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.active {
		clear(c.accepted) // the store may announce them no more
		c.recheckAll()
	}
}

// noticeConversation lets a conversation with prompts be looked at again: somebody may
// have made it try again. One that is awake here may just be giving up its slot because
// it was stuck, so only what this process has changed as its owner is left out.
func (f *Fleet) noticeConversation(ch store.Change) {
	at := ch.Record.Name
	f.store.announce(at)
	ours := f.ours(ch)
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[keyAt(at)]
	if c == nil || ours {
		return
	}
	if !c.Awake {
		c.recheckAll() // it may be stuck now
	}
	if len(c.waiting) > 0 {
		f.mark(c)
		f.schedule()
	}
}

// ours reports whether this process has made a change, as the owner of a conversation.
// Those who watch it here are told directly, and need not look at the store.
func (f *Fleet) ours(ch store.Change) bool {
	at, ok := strings.CutPrefix(ch.Lease, leasePrefix)
	if !ok || ch.Token == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[keyAt(at)]
	return c != nil && c.token == ch.Token
}

// noticePrompt takes a prompt into the queue that is known here, or out of it.
func (f *Fleet) noticePrompt(ch store.Change) {
	name := ch.Record.Name
	key := keyAt(name)
	if key == "" || f.ours(ch) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if ch.Dropped {
		f.done(key, name)
		f.schedule()
		return
	}
	c := f.conversation(key)
	if c.accepted[name] && ch.Lease == "" {
		delete(c.accepted, name)
		return // it was accepted here, and has not changed since
	}
	isNew := f.learn(c, &queued{name: name})
	if ch.Lease == "" {
		f.lookInterrupted(c, &queued{ID: stamped(name), name: name})
	}
	f.schedule()
	if !isNew {
		c.recheckAll() // it may wait for a person now
	}
}

// recheck lets those who watch a prompt look at the store.
func (f *Fleet) recheck(key, prompt string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.active[key]; c != nil {
		for _, w := range c.watchers[prompt] {
			w.recheck()
		}
	}
}
