package main

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

var (
	errUnknown = errors.New("no such conversation")
	errFull    = errors.New("too many conversations at once")
	errClosing = errors.New("shutting down")
)

// conversations are those of all users. One that is awake has a process; one
// that is asleep is a file in its user's folder.
type conversations struct {
	root string           // has a folder for each user
	cli  claude.Transport // nil: a child process
	idle time.Duration    // after this long without a prompt, a process ends
	max  int              // how many processes there may be

	mu     sync.Mutex
	awake  map[key]*conversation
	closed bool
	turns  sync.WaitGroup
}

// key names the user as well, so that nobody reaches another user's
// conversation by its id.
type key struct{ user, id string }

// conversation is one that is awake. The request that has set busy owns the
// session.
type conversation struct {
	busy    bool
	session *claude.Session // nil until it is started
	last    time.Time       // when the last turn ended
	timer   *time.Timer     // puts it to sleep
}

func newConversations(root string, cli claude.Transport) *conversations {
	return &conversations{
		root: root, cli: cli, idle: 10 * time.Minute, max: 50,
		awake: make(map[key]*conversation),
	}
}

// ask sends a prompt and returns the answer. A conversation that is asleep is
// resumed; begin says that this is its first prompt. It answers one prompt at a
// time: a second one gets ErrBusy, and never a second process.
func (c *conversations) ask(ctx context.Context, k key, begin bool, prompt string) (*message.Result, error) {
	c.makeRoom(k)
	conv, err := c.take(k)
	if err != nil {
		return nil, err
	}
	defer c.release(k, conv)
	if conv.session == nil || ended(conv.session) {
		if conv.session, err = c.start(ctx, k, begin); err != nil {
			return nil, err
		}
	}
	return conv.session.Ask(ctx, prompt)
}

// take reserves a conversation for one request.
func (c *conversations) take(k key) (*conversation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conv := c.awake[k]
	switch {
	case c.closed:
		return nil, errClosing
	case conv == nil && len(c.awake) >= c.max:
		return nil, errFull
	case conv == nil:
		conv = new(conversation)
		c.awake[k] = conv
	case conv.busy:
		return nil, claude.ErrBusy
	default:
		conv.timer.Stop()
	}
	conv.busy = true
	c.turns.Add(1)
	return conv, nil
}

// release gives a conversation back after a request. If nobody asks for it
// again, it is put to sleep.
func (c *conversations) release(k key, conv *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.turns.Done()
	if conv.session == nil || ended(conv.session) {
		delete(c.awake, k)
		return
	}
	conv.busy, conv.last = false, time.Now()
	conv.timer = time.AfterFunc(c.idle, func() { c.putToSleep(k, conv) })
}

// putToSleep ends the process of a conversation that nobody uses. It stays
// busy until the process is gone: two must never write the same file.
func (c *conversations) putToSleep(k key, conv *conversation) {
	c.mu.Lock()
	if conv.busy {
		c.mu.Unlock()
		return // in use again
	}
	conv.busy = true
	c.mu.Unlock()
	if err := conv.session.Close(); err != nil {
		log.Printf("conversation %s: %v", k.id, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awake, k)
}

// makeRoom ends the process that has been idle the longest if a new one would
// be too many.
func (c *conversations) makeRoom(k key) {
	c.mu.Lock()
	var oldest key
	if c.awake[k] == nil && len(c.awake) >= c.max {
		for k, conv := range c.awake {
			if !conv.busy && (oldest == key{} || conv.last.Before(c.awake[oldest].last)) {
				oldest = k
			}
		}
	}
	conv := c.awake[oldest]
	c.mu.Unlock()
	if conv != nil {
		c.putToSleep(oldest, conv)
	}
}

// close waits for the requests that are running and ends all processes. The
// conversations stay on disk.
func (c *conversations) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.turns.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make(chan error)
	for _, conv := range c.awake {
		go func() { errs <- conv.session.Close() }()
	}
	var all error
	for range c.awake {
		all = errors.Join(all, <-errs)
	}
	return all
}

func ended(s *claude.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}
