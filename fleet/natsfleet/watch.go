package natsfleet

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Watch implements [store.Records]. The server itself announces what it has stored, so
// that no process can die between a change and its announcement.
func (s *Store) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	if s.joined != nil {
		return s.joined.Watch(ctx, project)
	}
	return func(yield func(store.Changed, error) bool) {
		var h *storeimpl.Hub
		h = storeimpl.NewHub(func(ctx context.Context) error { return s.listen(ctx, project, h) })
		h.Watch(ctx, project)(yield)
	}
}

// listen passes changes on to a hub until the context or the store ends.
func (s *Store) listen(ctx context.Context, project string, h *storeimpl.Hub) error {
	for {
		stop, err := s.subscribe(ctx, project, func(c store.Changed) {
			if c.IsZero() {
				h.Missed()
			} else {
				h.Send(c)
			}
		})
		switch {
		case err == nil:
			defer stop()
			h.Missed()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-s.replies.closed:
				return fail(project, nats.ErrConnectionClosed)
			}
		case s.nc.IsClosed() || !pause(ctx, reachAgain):
			return err
		}
	}
}

// reachAgain is how long a watcher waits until it tries to reach a server again.
const reachAgain = time.Second

// subscribe calls do for each change, one call at a time, until stop is called. A zero
// Changed means that some may have been missed.
func (s *Store) subscribe(ctx context.Context, project string, do func(store.Changed)) (stop func(), err error) {
	var one sync.Mutex // call at a time
	var full overflows
	sub, err := s.nc.Subscribe(s.layout.name+".stored.*."+token(project)+".>", func(m *nats.Msg) {
		one.Lock()
		defer one.Unlock()
		seq, _ := strconv.ParseUint(serverHeader(m, "Nats-Sequence"), 10, 64) // 0 without one
		s.horizon.reach(seq)
		if c, ok := s.layout.change(project, m, seq); ok {
			do(c)
		}
		if full.dropped(m.Sub) {
			do(store.Changed{})
		}
	})
	if err != nil {
		return nil, fail(project, err)
	}
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	stopMissed := s.missed(func() {
		one.Lock()
		defer one.Unlock()
		do(store.Changed{})
	})
	stop = func() {
		stopMissed()
		if sub.Unsubscribe() == nil {
			<-done
		}
	}
	ctx, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	if err := s.nc.FlushWithContext(ctx); err != nil {
		stop()
		return nil, fail(project, err)
	}
	return stop, nil
}

// overflows detects announcements that were dropped because do is slower than they
// come. That happens only while many wait for do, so it is enough to look whenever one
// was handled.
type overflows struct {
	known int
	told  time.Time
}

// dropped reports whether announcements were dropped since its last report. While
// many are pending, it reports so from time to time.
func (o *overflows) dropped(sub *nats.Subscription) bool {
	n, err := sub.Dropped()
	waiting, _, err2 := sub.Pending()
	if err != nil || err2 != nil || n == o.known || waiting > 0 && time.Since(o.told) < time.Second {
		return false // or it was stopped
	}
	o.known, o.told = n, time.Now()
	return true
}

// missed calls do whenever the connection was made again: announcements may have been
// lost before.
func (s *Store) missed(do func()) (stop func()) {
	connected := s.nc.StatusChanged(nats.CONNECTED)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range connected {
			_ = s.nc.FlushTimeout(attemptBound) // the server knows the subscriptions then, or the connection breaks again
			do()
		}
	})
	return func() {
		s.nc.RemoveStatusListener(connected)
		wg.Wait()
	}
}

// change returns the change that an announcement is about, false if there is none.
func (l layout) change(project string, m *nats.Msg, seq uint64) (store.Changed, bool) {
	parts := strings.Split(strings.TrimPrefix(m.Subject, l.name+".stored."), ".")
	if len(parts) < 3 || parts[len(parts)-1] == barrierToken {
		return store.Changed{}, false
	}
	c := store.Changed{By: by(project, m)}
	switch kind := parts[0]; {
	case kind == "r" && len(parts) > 3:
		c.Record = store.RecordKey{Project: project, Kind: untoken(parts[2]), Name: untokens(strings.Join(parts[3:], "."))}
		if m.Header.Get(headerGone) == "" {
			c.Revision = int64(seq)
		}
	case kind == "t" && len(parts) > 3:
		if m.Header.Get(headerRewritten) != "" || !lastPart(m.Header.Get(headerPart)) {
			return c, false // it repeats an earlier announcement, or another one follows
		}
		c.Transcript = store.Key{Project: project, Session: parts[2]}
		if parts[3] != mainToken {
			c.Transcript.Sub = untoken(parts[3])
		}
	case kind == "d":
		c.Transcript = store.Key{Project: project, Session: parts[2]}
	case kind == "l" && m.Header.Get(headerFree) != "":
		c.Released = untoken(parts[2])
	default:
		return c, false
	}
	return c, true
}

// by is the fence under which a message was written.
func by(project string, m *nats.Msg) store.Fence {
	token, err := strconv.ParseInt(m.Header.Get(headerToken), 10, 64)
	if err != nil {
		return store.Fence{}
	}
	return store.Fence{Project: project, Name: m.Header.Get(headerLease), Token: token}
}

// lastPart reports whether a message is the last of its batch, as its header says.
func lastPart(header string) bool {
	n, of, _ := strings.Cut(header, "/")
	return n == of || of == ""
}
