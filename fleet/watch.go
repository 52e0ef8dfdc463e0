package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// watcher watches a prompt. It never blocks the conversation: messages that it does not
// read in time are dropped, and it learns so.
type watcher struct {
	mu    sync.Mutex
	items []watched
	look  bool          // the store is to be looked at
	more  chan struct{} // one slot: there may be something new
}

// watched is a message, or the end of the watching, with an error or without.
type watched struct {
	msg message.Message
	err error
}

// maxUnread is how many messages a watcher may leave unread.
const maxUnread = 4096

func (r *roster) watch(key, prompt string) *watcher {
	w := &watcher{more: make(chan struct{}, 1)}
	c := r.hold(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	c.watchers[prompt] = append(c.watchers[prompt], w)
	return w
}

func (r *roster) unwatch(key, prompt string, w *watcher) {
	r.mu.Lock()
	c := r.conversation(key)
	c.watchers[prompt] = slices.DeleteFunc(c.watchers[prompt], func(other *watcher) bool { return other == w })
	if len(c.watchers[prompt]) == 0 {
		delete(c.watchers, prompt)
	}
	r.mu.Unlock()
	r.unhold(c)
}

// hold keeps a conversation in memory until unhold.
func (r *roster) hold(key string) *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.conversation(key)
	c.watching++
	return c
}

func (r *roster) unhold(c *conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.watching--
	r.forget(c)
}

// busy reports whether a conversation runs here, or has prompts as far as is known here.
func (r *roster) busy(c *conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.Awake || len(c.waiting) > 0
}

// news passes messages and the ends of prompts on to listeners in this process and, over
// the Bus, in others.
type news struct {
	opts   *Options
	store  *announcer
	roster *roster
	peers  *peers
}

// publish passes a message or an error on to the readers of the conversation and to the
// watchers of a prompt. An error is the last thing they get.
func (n *news) publish(c *conversation, prompt string, m message.Message, err error) {
	if m != nil {
		n.addLiveText(c, m)
	}
	n.roster.notify(c, prompt, m, err)
}

// notify passes a message or an error on to the watchers of a prompt.
func (r *roster) notify(c *conversation, prompt string, m message.Message, err error) {
	r.mu.Lock()
	watchers := slices.Clone(c.watchers[prompt])
	r.mu.Unlock()
	for _, w := range watchers {
		w.put(watched{m, err})
	}
}

// publishAll ends the watching of every prompt of a conversation.
func (n *news) publishAll(c *conversation, err error) {
	n.roster.mu.Lock()
	prompts := slices.Collect(maps.Keys(c.watchers))
	n.roster.mu.Unlock()
	for _, prompt := range prompts {
		n.publish(c, prompt, nil, err)
	}
}

// recheckAll lets the watchers of all prompts of a conversation look at the store.
func (c *conversation) recheckAll() {
	for _, watchers := range c.watchers {
		for _, w := range watchers {
			w.recheck()
		}
	}
}

// finished lets the watchers of a prompt know that it has ended.
func (n *news) finished(c *conversation, o Ticket) {
	var err error
	if o.Status != PromptAnswered {
		err = &FailedError{c.key, o}
	}
	n.publish(c, o.Prompt, nil, err)
}

func (w *watcher) put(it watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.items) >= maxUnread {
		w.items = []watched{{err: ErrLagging}}
	} else if len(w.items) != 1 || !errors.Is(w.items[0].err, ErrLagging) {
		w.items = append(w.items, it)
	}
	signal(w.more)
}

// recheck makes a watcher look at the store.
func (w *watcher) recheck() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look = true
	signal(w.more)
}

func (w *watcher) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.items) == 0
}

// take returns the unread items. It waits for some, but not for longer than the time
// after which the store is to be looked at. A signal may be stale: then there is
// nothing to read, and nothing to look at.
func (w *watcher) take(ctx context.Context, poll time.Duration) (items []watched, look bool) {
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case <-w.more:
	case <-t.C:
		look = true
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	items, w.items = w.items, nil
	if len(items) == 0 {
		look, w.look = look || w.look, false
	} else if w.look {
		signal(w.more) // when these are read
	}
	return items, look
}

// recheck makes the watchers of a prompt look at the store.
func (r *roster) recheck(key, prompt string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.active[key]; c != nil {
		for _, w := range c.watchers[prompt] {
			w.recheck()
		}
	}
}
