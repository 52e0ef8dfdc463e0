package serve

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// The times of a stream.
const (
	writeWait = 10 * time.Second // for one write: a reader that takes nothing is dropped
	pingEvery = 10 * time.Second
	comeBack  = 2 * time.Second
)

// stream is the answer to a request for events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	html    func(*Event) string
	buf     bytes.Buffer
}

// events streams a conversation.
func (c *call) events() error {
	after, err := c.number("after")
	if err != nil {
		return err
	}
	// A browser that comes back says where it was; what the address said then is
	// old.
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		if after, err = strconv.ParseInt(last, 10, 64); err != nil || after < 0 {
			after = -1 // not ours: reset
		}
	}
	ctx, cancel := c.streaming()
	defer cancel()
	events, err := c.service().Follow(ctx, c.user, c.id(), after)
	if err != nil {
		return err
	}
	sources := []iter.Seq[Event]{events}
	if c.query("feed") == "1" {
		hints, err := c.service().Feed(ctx, c.user)
		if err != nil {
			return err
		}
		sources = append(sources, hints)
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
	return c.stream(ctx, false, hints)
}

// streaming returns a context that ends with the request or with the server.
func (c *call) streaming() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx())
	stop := context.AfterFunc(c.s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// stream writes events until the reader, the server or a source ends. A browser
// gives a stream up for good if it is answered with anything but 200, so a reader
// too many is asked to come back later inside of one.
func (c *call) stream(ctx context.Context, html bool, sources ...iter.Seq[Event]) error {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	st := &stream{w: c.w, control: http.NewResponseController(c.w)}
	if page := c.service().page; html && page != nil {
		st.html = page.HTML
	}
	c.w.WriteHeader(http.StatusOK)
	o := &c.service().opts
	if !c.s.streams.enter(c.user.Name, o.StreamsPerUser, o.Streams) {
		st.write("retry: 15000\n\n")
		st.send(&Event{Type: EventBye, Reason: "too many streams are open: close some, or come back later"})
		return nil
	}
	defer c.s.streams.leave(c.user.Name)
	if !st.write("retry: " + strconv.Itoa(int(comeBack/time.Millisecond)) + "\n\n") {
		return nil
	}
	st.merge(ctx, sources)
	if c.s.ctx.Err() != nil {
		st.send(&Event{Type: EventBye, Reason: "the server stops"})
	}
	return nil
}

// merge writes the events of all sources and a ping from time to time. Only one
// goroutine writes; the others wait for it, and nobody waits for them.
func (st *stream) merge(ctx context.Context, sources []iter.Seq[Event]) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan Event)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
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
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case e := <-events:
			if !st.send(&e) {
				return
			}
		case <-ping.C:
			if !st.send(&Event{Type: EventPing, At: time.Now().UTC()}) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// send writes one event. Only those that last have an id: a browser resumes after
// the last id that it saw.
func (st *stream) send(e *Event) bool {
	if st.html != nil && e.Type == EventMessage {
		own := *e
		own.HTML = st.html(e)
		e = &own
	}
	data, err := jsonx.Marshal(e)
	if err != nil {
		return false
	}
	st.buf.Reset()
	st.buf.WriteString("event: " + string(e.Type) + "\n")
	if e.Seq > 0 {
		st.buf.WriteString("id: " + formatSeq(e.Seq) + "\n")
	}
	st.buf.WriteString("data: ")
	st.buf.Write(data) // one line: JSON escapes breaks
	st.buf.WriteString("\n\n")
	return st.write(st.buf.String())
}

// write writes text at once, within a deadline.
func (st *stream) write(text string) bool {
	_ = st.control.SetWriteDeadline(time.Now().Add(writeWait)) // a recorder in tests has none
	if _, err := st.w.Write([]byte(text)); err != nil {
		return false
	}
	return st.control.Flush() == nil
}
