package serve

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// The times of a stream.
const (
	writeWait = 10 * time.Second // for one write: a reader that takes nothing is dropped
	pingEvery = 10 * time.Second
	comeBack  = 2 * time.Second
	lookAgain = 30 * time.Second // how often to check whether the reader may still read
	// identifyBound is how long it may take to find out who a reader is now.
	identifyBound = 10 * time.Second
)

// stream is the answer to a request for events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	html    func(*api.Event) string
	still   func() bool        // whether the reader may still read; nil: it may
	leave   context.CancelFunc // ends the sources; nil: they end by themselves
}

// events streams a conversation.
func (c *call) events() error {
	after, err := c.number("after")
	if err != nil {
		return err
	}
	// A browser that comes back sends its position, which is newer than the one in the
	// address.
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		if after, err = strconv.ParseInt(last, 10, 64); err != nil || after < 0 {
			after = -1 // not one of our ids: reset
		}
	}
	ctx, cancel := c.streaming()
	defer cancel()
	events, err := c.service().follow(ctx, c.user, c.id(), after)
	if err != nil {
		return err
	}
	sources := []iter.Seq[eventlog.Event]{events}
	if c.query("feed") == "1" {
		hints, err := c.service().Feed(ctx, c.user)
		if err != nil {
			return err
		}
		sources = append(sources, unlogged(hints))
	}
	return c.stream(ctx, c.query("html") == "1", sources...)
}

// feed streams hints.
func (c *call) feed() error {
	ctx, cancel := c.streaming()
	defer cancel()
	hints, err := c.service().Feed(ctx, c.user)
	if err != nil {
		return err
	}
	return c.stream(ctx, false, unlogged(hints))
}

// unlogged yields events that are in no log.
func unlogged(events iter.Seq[api.Event]) iter.Seq[eventlog.Event] {
	return func(yield func(eventlog.Event) bool) {
		for e := range events {
			if !yield(eventlog.Event{Event: e}) {
				return
			}
		}
	}
}

// streaming returns a context that ends with the request or with the server.
func (c *call) streaming() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx())
	stop := context.AfterFunc(c.s.ctx, cancel)
	c.leave = cancel
	return ctx, func() { stop(); cancel() }
}

// stream writes events until the reader, the server or a source ends. A browser gives
// up a stream for good if the status is anything but 200. So if there are too many
// readers, the next one gets a stream that asks it to come back later.
func (c *call) stream(ctx context.Context, html bool, sources ...iter.Seq[eventlog.Event]) error {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	st := &stream{w: c.w, control: http.NewResponseController(c.w), still: func() bool { return c.stillAllowed(ctx, c.id()) }, leave: c.leave}
	if page := c.service().page; html && page != nil {
		st.html = page.HTML
	}
	c.w.WriteHeader(http.StatusOK)
	o := &c.service().opts
	if !c.s.streams.enter(c.user.Name, o.StreamsPerUser, o.Streams) {
		st.write([]byte("retry: 15000\n\n"))
		st.send(&api.Event{Type: api.EventBye, Reason: "too many streams are open: close some, or come back later"})
		return nil
	}
	defer c.s.streams.leave(c.user.Name)
	if !st.write([]byte("retry: " + strconv.Itoa(int(comeBack/time.Millisecond)) + "\n\n")) {
		return nil
	}
	st.merge(ctx, sources)
	if c.s.ctx.Err() != nil {
		st.send(&api.Event{Type: api.EventBye, Reason: "the server stops"})
	}
	return nil
}

// stillAllowed reports whether the user may still read a stream, and its conversation
// if it has one. A stream may stay open for days, and meanwhile a login ends, a token
// is revoked, a role changes or a conversation is made private. A store that does not
// answer ends no stream, and is not waited for once ctx ends. Neither does a deletion end
// one, because it may still fail: once it is done, the log ends and gives the reason.
func (c *call) stillAllowed(ctx context.Context, conversation string) bool {
	ctx, cancel := context.WithTimeout(ctx, identifyBound)
	defer cancel()
	now, err := c.service().access.identify(nil, c.r.WithContext(ctx))
	if err == nil {
		err = need(now, c.route.least)
	}
	if err == nil && (now.Name != c.user.Name || now.Role != c.user.Role) {
		return false
	}
	if err == nil && conversation != "" {
		_, err = c.service().conversations.findAny(ctx, now, conversation)
	}
	return !unauthorized.is(err) && !forbidden.is(err) && !notFound.is(err)
}

// mayNoLonger is the reason for the end of a stream whose reader lost access.
const mayNoLonger = "you may no longer read this: log in again"

// merge writes the events of all sources, and a ping from time to time. Only one
// goroutine writes; the sources wait for it, and the logs wait for neither.
func (st *stream) merge(ctx context.Context, sources []iter.Seq[eventlog.Event]) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan eventlog.Event, writeTogether)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	if st.leave != nil {
		defer st.leave()
	}
	for _, source := range sources {
		readers.Go(func() {
			defer cancel() // the stream ends with the first of them
			for e := range source {
				select {
				case events <- e:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	ping, look := time.NewTicker(pingEvery), time.NewTicker(lookAgain)
	defer ping.Stop()
	defer look.Stop()
	for {
		select {
		case e := <-events:
			if !st.put(&e) || !st.putAll(events) || !st.flush() {
				return
			}
		case <-ping.C:
			if !st.send(&api.Event{Type: api.EventPing, At: time.Now().UTC()}) {
				return
			}
		case <-look.C:
			if st.still != nil && !st.still() {
				st.send(&api.Event{Type: api.EventBye, Reason: mayNoLonger})
				return
			}
		case <-ctx.Done():
			if st.putAll(events) { // a source may have sent last events before it ended
				st.flush()
			}
			return
		}
	}
}

// writeTogether is how many events are written at once.
const writeTogether = 64

// putAll writes the events that are ready.
func (st *stream) putAll(events <-chan eventlog.Event) bool {
	for {
		select {
		case e := <-events:
			if !st.put(&e) {
				return false
			}
		default:
			return true
		}
	}
}

// send writes one event at once.
func (st *stream) send(e *api.Event) bool { return st.put(&eventlog.Event{Event: *e}) && st.flush() }

// put writes one event, which is sent with the next flush.
func (st *stream) put(e *eventlog.Event) bool {
	if st.html != nil && e.Type == api.EventMessage {
		e = e.WithHTML(st.html(&e.Event))
	}
	text, err := e.Encode()
	return err == nil && st.putText(text)
}

// putText writes text, within a deadline.
func (st *stream) putText(text []byte) bool {
	_ = st.control.SetWriteDeadline(time.Now().Add(writeWait)) // a recorder in tests has no deadline
	_, err := st.w.Write(text)
	return err == nil
}

// flush sends what was written.
func (st *stream) flush() bool { return st.control.Flush() == nil }

// write writes text at once.
func (st *stream) write(text []byte) bool { return st.putText(text) && st.flush() }
