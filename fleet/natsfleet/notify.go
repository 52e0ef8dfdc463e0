package natsfleet

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// Notify implements [store.Notifier]. The server itself announces what it has
// stored, so that no process can die between a change and its announcement.
func (s *Store) Notify(ctx context.Context, project string, do func(store.Change)) (stop func(), err error) {
	if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
		return nil, err
	}
	var one sync.Mutex // call at a time
	var full overflows
	sub, err := s.nc.Subscribe(s.layout.name+".stored.*."+token(project)+".>", func(m *nats.Msg) {
		one.Lock()
		defer one.Unlock()
		if seq, err := strconv.ParseUint(serverHeader(m, "Nats-Sequence"), 10, 64); err == nil {
			s.horizon.reach(seq)
		}
		if c, ok := s.layout.change(project, m); ok {
			do(c)
		}
		if full.dropped(m.Sub) {
			do(store.Change{})
		}
	})
	if err != nil {
		return nil, fail(project, err)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	if err := s.nc.FlushWithContext(ctx); err != nil {
		_ = sub.Unsubscribe() // the first error matters more
		return nil, fail(project, err)
	}
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	stopMissed := s.missed(func() {
		one.Lock()
		defer one.Unlock()
		do(store.Change{})
	})
	return func() {
		stopMissed()
		if sub.Unsubscribe() == nil {
			<-done
		}
	}, nil
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
func (l layout) change(project string, m *nats.Msg) (store.Change, bool) {
	parts := strings.Split(strings.TrimPrefix(m.Subject, l.name+".stored."), ".")
	if len(parts) < 4 || parts[len(parts)-1] == barrierToken {
		return store.Change{}, false
	}
	switch parts[0] {
	case "r":
		k := store.RecordKey{Project: project, Kind: untoken(parts[2]), Name: untokens(strings.Join(parts[3:], "."))}
		by, _ := strconv.ParseInt(m.Header.Get(headerToken), 10, 64) // 0 without one
		return store.Change{Record: k, Dropped: m.Header.Get(headerGone) != "", Lease: m.Header.Get(headerLease), Token: by}, true
	case "t":
		if m.Header.Get(headerRewritten) != "" {
			return store.Change{}, false // it repeats an earlier announcement
		}
		k := store.Key{Project: project, Session: parts[2]}
		if parts[3] != mainToken {
			k.Sub = untoken(parts[3])
		}
		return store.Change{Transcript: k, Lease: m.Header.Get(headerLease)}, true
	case "l":
		return store.Change{Lease: untoken(parts[2]), Released: true}, m.Header.Get(headerFree) != ""
	}
	return store.Change{}, false
}
