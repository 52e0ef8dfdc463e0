package fleet

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// Run sends a prompt when you range over it, and yields what the CLI says to it:
// all messages if the conversation runs in this process, otherwise only the
// result. The result comes last. If it is an error, a [*FailedError] follows. If
// the prompt gets no further by itself, the last thing is a [*DeferredError], because
// it waits for a person, a [*StuckError] or a [*BudgetError]. A prompt that the budget of
// a day holds back also ends the loop with a BudgetError, and continues when the day is
// over.
//
// If you leave the loop, you only stop watching: the prompt was accepted and
// will be answered. This differs from [claude.Session.Run].
func (f *Fleet) Run(ctx context.Context, key, prompt string) iter.Seq2[message.Message, error] {
	return f.RunPrompt(ctx, key, Prompt{Text: prompt})
}

// RunPrompt is like Run with any prompt.
func (f *Fleet) RunPrompt(ctx context.Context, key string, p Prompt) iter.Seq2[message.Message, error] {
	return func(yield func(message.Message, error) bool) {
		if err := checkKey(f.opts.Project, key); err != nil {
			yield(nil, err)
			return
		}
		own := p
		if own.ID == "" {
			own.ID, own.fresh = newID(), true
		}
		w := f.watch(key, own.ID)
		defer f.unwatch(key, own.ID, w)
		if _, err := f.Send(ctx, key, own); err != nil {
			yield(nil, err)
			return
		}
		if p.ID != "" {
			w.recheck() // it may have been sent before, and have ended
		}
		f.follow(ctx, key, own.ID, w, yield)
	}
}

// follow yields what a prompt brings, until it ends or waits for a person.
func (f *Fleet) follow(ctx context.Context, key, id string, w *watcher, yield func(message.Message, error) bool) {
	shown := false // the result
	for {
		items, look := w.take(ctx, f.opts.Poll)
		for _, it := range items {
			if it.msg != nil {
				_, shown = it.msg.(*message.Result)
				if !yield(it.msg, nil) {
					return
				}
				continue
			}
			if it.err != nil {
				yield(nil, it.err)
			}
			return
		}
		switch {
		case ctx.Err() != nil:
			yield(nil, context.Cause(ctx))
			return
		case len(items) > 0:
		case f.ctx.Err() != nil:
			yield(nil, ErrClosed)
			return
		case !look:
		default: // it may run elsewhere
			o, rec, err := f.ticket(ctx, key, id)
			if err != nil || !w.empty() {
				continue
			}
			if o.Status.Done() {
				f.conclude(key, o, shown, yield)
				return
			}
			if err := f.halted(ctx, &rec, o); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// halted returns why a prompt without an outcome does not get any further until
// somebody does something about it, nil if it does.
func (f *Fleet) halted(ctx context.Context, rec *record, o Ticket) error {
	switch {
	case rec.Stuck != nil:
		return rec.stuckError()
	case o.Status == Waiting:
		return &DeferredError{rec.Key, o.Prompt, o.Question}
	case o.Status == Queued:
		if err := f.budgets.budget(ctx, rec); !errors.Is(err, errUncounted) {
			return err
		}
	}
	return nil
}

// conclude yields the outcome of a prompt that nobody has told this process of.
func (f *Fleet) conclude(key string, o Ticket, shown bool, yield func(message.Message, error) bool) {
	if o.Result != nil && !shown && !yield(o.Result, nil) {
		return
	}
	if o.Status != Answered {
		yield(nil, &FailedError{key, o})
	}
}

// watcher is one who watches a prompt. It holds up nobody: what it does not read
// in time is dropped, and it learns so.
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

// maxUnread is how many messages one who watches may leave unread.
const maxUnread = 4096

func (f *Fleet) watch(key, prompt string) *watcher {
	w := &watcher{more: make(chan struct{}, 1)}
	c := f.hold(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	c.watchers[prompt] = append(c.watchers[prompt], w)
	return w
}

func (f *Fleet) unwatch(key, prompt string, w *watcher) {
	f.mu.Lock()
	c := f.conversation(key)
	c.watchers[prompt] = slices.DeleteFunc(c.watchers[prompt], func(other *watcher) bool { return other == w })
	if len(c.watchers[prompt]) == 0 {
		delete(c.watchers, prompt)
	}
	f.mu.Unlock()
	f.unhold(c)
}

// hold keeps a conversation in memory until unhold.
func (f *Fleet) hold(key string) *conversation {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.conversation(key)
	c.watching++
	return c
}

func (f *Fleet) unhold(c *conversation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.watching--
	f.forget(c)
}

// publish passes something on to those who read the conversation and to the
// watchers of a prompt. An error is the last thing they hear.
func (f *Fleet) publish(c *conversation, prompt string, m message.Message, err error) {
	if m != nil {
		f.addLiveText(c, m)
	}
	f.notify(c, prompt, m, err)
}

// notify passes something on to the watchers of a prompt.
func (f *Fleet) notify(c *conversation, prompt string, m message.Message, err error) {
	f.mu.Lock()
	watchers := slices.Clone(c.watchers[prompt])
	f.mu.Unlock()
	for _, w := range watchers {
		w.put(watched{m, err})
	}
}

// publishAll ends the watching of every prompt of a conversation.
func (f *Fleet) publishAll(c *conversation, err error) {
	f.mu.Lock()
	prompts := slices.Collect(maps.Keys(c.watchers))
	f.mu.Unlock()
	for _, prompt := range prompts {
		f.publish(c, prompt, nil, err)
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
func (f *Fleet) finished(c *conversation, o Ticket) {
	var err error
	if o.Status != Answered {
		err = &FailedError{c.key, o}
	}
	f.publish(c, o.Prompt, nil, err)
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

// take returns what there is to read. It waits for it, but not for longer than
// a time after which the store is to be looked at. A signal may be an old one: then
// there is nothing to read, and nothing to look at.
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
