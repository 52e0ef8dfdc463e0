package storeimpl_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store/storeimpl"
)

var (
	errDown  = errors.New("the server is down")
	errNever = errors.New("the user may not listen")
)

// channel is a channel of a server, which can be down or let nothing through.
type channel struct {
	mu       sync.Mutex
	dialed   error // what dialing fails with
	swallows bool  // lines bring nothing
	lines    map[*line]bool
	dials    []time.Duration // when, from the beginning
	begin    time.Time
}

type line struct {
	c     *channel
	texts chan string
	cut   chan struct{}
}

func (c *channel) dial(context.Context) (storeimpl.Line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dials = append(c.dials, time.Since(c.begin))
	if c.dialed != nil {
		return nil, c.dialed
	}
	l := &line{c, make(chan string, 100), make(chan struct{})}
	c.lines[l] = true
	return l, nil
}

func (c *channel) send(_ context.Context, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialed != nil {
		return c.dialed
	}
	for l := range c.lines {
		if !c.swallows {
			l.texts <- text
		}
	}
	return nil
}

// set changes how the server is. One that is down cuts its lines.
func (c *channel) set(dialed error, swallows bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialed, c.swallows = dialed, swallows
	for l := range c.lines {
		if dialed != nil {
			close(l.cut)
			delete(c.lines, l)
		}
	}
}

func (l *line) Receive(ctx context.Context, within time.Duration) (string, bool, error) {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case text := <-l.texts:
		return text, true, nil
	case <-t.C:
		return "", false, nil
	case <-l.cut:
		return "", false, errDown
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

func (l *line) Close() {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	delete(l.c.lines, l)
}

func swallowing(c *channel) { c.swallows = true }

// heard is what a watch yields: the revisions of records, and 0 for the zero Changed.
type heard struct {
	mu    sync.Mutex
	items []int64
	err   error
}

// taken returns what has come since it was last called.
func (h *heard) taken() []int64 {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	items := h.items
	h.items = nil
	return items
}

// listen watches a channel.
func listen(t *testing.T, look time.Duration, options ...func(*channel)) (*channel, *storeimpl.Listener, *heard, func()) {
	c := &channel{lines: make(map[*line]bool), begin: time.Now()}
	for _, o := range options {
		o(c)
	}
	l := &storeimpl.Listener{Dial: c.dial, Send: c.send, Fatal: func(err error) bool { return err == errNever }, Look: look}
	l.Hub = storeimpl.NewHub(l.Run)
	l.Take = func(text string) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Errorf("%q was taken", text)
		}
		l.Hub.Send(revision(n))
	}
	h := new(heard)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() {
		defer close(done)
		for c, err := range l.Hub.Watch(ctx, "p") {
			h.mu.Lock()
			if h.err = err; err == nil {
				h.items = append(h.items, c.Revision)
			}
			h.mu.Unlock()
		}
	}()
	return c, l, h, func() { cancel(); <-done }
}

func say(t *testing.T, c *channel, text string) {
	t.Helper()
	if err := c.send(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, what string, h *heard, want ...int64) {
	t.Helper()
	if got := h.taken(); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, h, stop := listen(t, 0)
		wants(t, "at first", h, 0)
		say(t, c, "1")
		say(t, c, "2")
		wants(t, "two changes", h, 1, 2)
		<-time.After(time.Hour)
		say(t, c, "3")
		wants(t, "after a quiet hour", h, 3)
		if len(c.dials) != 1 {
			t.Errorf("dialed %d times", len(c.dials))
		}
		stop()
		if len(c.lines) != 0 {
			t.Error("a line is left")
		}
	})
}

// A connection that is lost is made again, less and less often, and readers look then.
func TestListenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, h, stop := listen(t, 0)
		defer stop()
		wants(t, "at first", h, 0)
		c.set(errDown, false)
		<-time.After(time.Minute)
		wants(t, "while the server is down", h)
		ctx, cancel := context.WithCancel(t.Context())
		late := make(chan bool, 1)
		var done sync.WaitGroup
		done.Go(func() {
			for range l.Hub.Watch(ctx, "p") {
				late <- true
				cancel()
			}
		})
		synctest.Wait()
		if len(late) > 0 {
			t.Error("a new reader does not wait for the server")
		}
		defer done.Wait()
		if n := len(c.dials); n < 10 || n > 30 {
			t.Errorf("dialed %d times in a minute", n)
		}
		c.set(nil, false)
		<-time.After(10 * time.Second)
		wants(t, "when it is back", h, 0)
		say(t, c, "1")
		wants(t, "a change", h, 1)
		c.set(errDown, false)
		c.set(nil, false)
		<-time.After(time.Second)
		wants(t, "after a short loss", h, 0)
	})
}

// A line that was cut silently is noticed, and made again.
func TestListenSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, h, stop := listen(t, 0)
		defer stop()
		wants(t, "at first", h, 0)
		c.mu.Lock()
		clear(c.lines) // which bring nothing from now on
		c.mu.Unlock()
		<-time.After(25 * time.Second)
		wants(t, "after a while", h, 0)
		say(t, c, "1")
		wants(t, "a change", h, 1)
		if l.Alone() {
			t.Error("nothing comes through")
		}
	})
}

// Where nothing comes through, readers look at everything every few seconds, until something
// does.
func TestListenAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, h, stop := listen(t, 0, swallowing)
		defer stop()
		<-time.After(4 * time.Second)
		wants(t, "before it is known", h)
		<-time.After(30 * time.Second)
		if got := h.taken(); len(got) < 5 || len(got) > 8 || slices.Max(got) != 0 || !l.Alone() {
			t.Errorf("in half a minute: %v, alone: %v", got, l.Alone())
		}
		c.set(nil, false)
		<-time.After(2 * time.Minute)
		if h.taken(); l.Alone() {
			t.Error("it is not tried again")
		}
		say(t, c, "1")
		<-time.After(time.Minute)
		wants(t, "when something comes through", h, 1)
	})
}

// A server that announces after the change may lose an announcement: readers look now and then.
func TestListenLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, h, stop := listen(t, time.Minute)
		defer stop()
		wants(t, "at first", h, 0)
		<-time.After(3*time.Minute + time.Second)
		wants(t, "three minutes later", h, 0, 0, 0)
	})
}

func TestListenFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, h, stop := listen(t, 0)
		defer stop()
		wants(t, "at first", h, 0)
		c.set(errNever, false)
		<-time.After(time.Second)
		wants(t, "when it is useless", h)
		if h.err != errNever {
			t.Errorf("the watch ends with %v", h.err)
		}
	})
}
