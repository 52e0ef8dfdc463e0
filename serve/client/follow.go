package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// ErrReset is the error of [Client.Follow] when the server no longer keeps events from
// that position on: load the conversation, and follow it after its LastSeq.
var ErrReset = errors.New("claude: client: the server does not keep events from that place on: load the conversation again")

// quiet is how long a stream may be silent before it counts as cut. The server pings
// every ten seconds.
const quiet = 35 * time.Second

// Follow yields the events of a conversation after a number, 0 for all that the server
// keeps (the last 10,000), then one of type [api.EventSynced], and then new events,
// until ctx ends or the loop is left. It reconnects after a cut. It yields each event
// with a number once, in order and without gaps, however often and wherever the stream
// is cut. Text that is being written has no number: after a cut, [api.EventPartial]
// repeats all of it.
//
// An error is always the last: ctx has ended, the server refuses, it did not answer for
// [Options.Patience], or [ErrReset].
func (c *Client) Follow(ctx context.Context, id string, after int64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		f := follower{c: c, path: join("v1", "conversations", id, "events"), last: after, reached: time.Now(), delay: 2 * time.Second}
		for {
			err := f.connect(ctx, func(e api.Event) bool { return yield(e, nil) })
			switch {
			case f.left:
				return
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case err == nil || f.passes(err):
				wait := f.pause(err)
				if time.Since(f.reached)+wait <= c.patience {
					if err = sleep(ctx, wait); err == nil {
						continue
					}
				} else if err == nil {
					err = unreached(io.ErrUnexpectedEOF)
				}
			}
			yield(api.Event{}, err)
			return
		}
	}
}

// follower follows one conversation over many connections.
type follower struct {
	c       *Client
	path    string
	last    int64         // the number of the last event that was yielded
	synced  bool          // EventSynced was yielded
	left    bool          // the loop was left
	reached time.Time     // when the server last answered
	delay   time.Duration // between attempts, as the server asks
	failed  int           // attempts since something new came
}

// passes reports whether to connect again after an error.
func (f *follower) passes(err error) bool {
	if errors.Is(err, errUnreached) {
		return true
	}
	p, ok := errors.AsType[*api.Problem](err)
	return ok && (p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError && p.Status != http.StatusNotImplemented)
}

// pause returns the back-off before the next attempt: none after the first cut, or
// after a connection that brought something new; then longer and longer, and at least
// as long as the server asks for.
func (f *follower) pause(err error) time.Duration {
	f.failed++
	p, refused := errors.AsType[*api.Problem](err)
	if f.failed == 1 && !refused {
		return 0
	}
	wait := min(f.delay<<min(max(f.failed-2, 0), 4), max(f.delay, 30*time.Second))
	wait += rand.N(wait/2 + 1) // jitter: clients that were cut off together come back one by one
	if refused {
		wait = max(wait, retryAfter(p))
	}
	return wait
}

// connect follows one connection until it ends. It returns no error if the server ended
// the connection in good order.
func (f *follower) connect(ctx context.Context, yield func(api.Event) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(quiet, func() { cancel(unreached(errors.New("the stream is silent"))) })
	defer silence.Stop()
	r := request{method: http.MethodGet, path: f.path, query: values("after", strconv.FormatInt(f.last, 10))}
	res, err := f.c.send(ctx, &r, nil, "", "text/event-stream")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return problemOf(res)
	}
	if kindOf(res) != "text/event-stream" {
		return fmt.Errorf("claude: client: %s is not a stream of events: check the address, and what is in between", f.path)
	}
	frames := newFrames(res.Body)
	for {
		frame, err := frames.next()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, errTooLong) {
				return fmt.Errorf("claude: client: %w", err)
			}
			return unreached(err)
		}
		if frame.retry > 0 {
			f.delay = frame.retry
		}
		silence.Stop() // the server is not to blame for the time that the loop's body takes
		if frame.event != "" {
			if done, err := f.take(&frame, yield); done || err != nil {
				return err
			}
			f.reached = time.Now()
		}
		silence.Reset(quiet)
	}
}

// take takes one event. It reports whether the connection is over.
func (f *follower) take(frame *frame, yield func(api.Event) bool) (done bool, err error) {
	e := api.Event{Type: api.EventType(frame.event)}
	if err := json.Unmarshal(frame.data, &e); err != nil {
		return true, fmt.Errorf("claude: client: an event %q is not what the API says: %w", frame.event, err)
	}
	switch {
	case e.Type == api.EventReset:
		return true, ErrReset
	case e.Type == api.EventBye:
		return true, nil
	case e.Type == api.EventPing:
		f.failed = 0
		return false, nil
	case e.Type == api.EventSynced && f.synced:
		return false, nil
	case e.Type == api.EventSynced:
		f.synced, f.failed = true, 0
	case e.Seq > 0 && e.Seq <= f.last:
		return false, nil // a repetition
	case e.Seq > f.last+1:
		return true, unreached(fmt.Errorf("event %d came after event %d", e.Seq, f.last))
	}
	if e.Seq > 0 {
		f.last, f.failed = e.Seq, 0
	}
	f.left = !yield(e)
	return f.left, nil
}
