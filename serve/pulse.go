package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// pulse lets the servers that share a store learn which logs the others have written,
// with one read for all conversations together, however many are watched. They read it when
// the store announces that it has changed. It is a hint where to look: a server that dies
// before it has given one is noticed later, because logs are also compared with the store
// now and then.
type pulse struct {
	records store.Records
	at      store.RecordKey
	logger  *slog.Logger
	// heard is called with the sums of the logs that others have written; nil means
	// that it may be any.
	heard func(sums []string)
	// wrote is called when the store announces that the head of a log has another revision,
	// 0 if it was dropped, also of those that are written here. Nil: nothing is.
	wrote func(key string, revision int64)

	mu      sync.Mutex
	written map[string]bool // sums of logs that the others do not know about
	kick    chan struct{}   // one slot: there are some, or another server has given the pulse
	hears   bool            // the store announces changes
	doubts  int64           // how often it was not certain that it had announced all of them
	known   int64           // the revision of the record that was read or written last

	note     pulseNote // as last read or written; only beat uses it
	revision int64
	begun    bool
	missed   bool // a look failed
}

// pulseNote is the record of the pulse. It holds no names, so that nothing is left in
// it of a conversation that is deleted.
type pulseNote struct {
	Last    int64         `json:"last"`
	Written []pulseMark   `json:"written"` // the newest last, each log once
	Unknown jsonx.Unknown `json:",embed"`
}

type pulseMark struct {
	Sum string `json:"sum"`
	N   int64  `json:"n"`
}

// How often servers look at the pulse while they do not hear that it has changed and while
// they do, how soon after a write they give it, and how many logs it remembers.
const (
	pulseEvery = 2 * time.Second
	pulseQuiet = 5 * time.Minute
	pulsePause = 500 * time.Millisecond
	pulseKeeps = 500
)

// pulseLasts is how long a watch of the store must last for the next one to be begun without
// delay.
const pulseLasts = 10 * time.Second

// kindPulse is the kind of the record of the pulse, of which a project has one.
const kindPulse = "serve-pulse"

func newPulse(records store.Records, project string, logger *slog.Logger, heard func([]string)) *pulse {
	return &pulse{
		records: records, at: store.RecordKey{Project: project, Kind: kindPulse, Name: "logs"}, logger: logger, heard: heard,
		written: make(map[string]bool), kick: make(chan struct{}, 1),
	}
}

// pulseSum identifies a log in the pulse.
func pulseSum(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// mark makes the other servers look at a log, soon.
func (p *pulse) mark(key string) {
	p.mu.Lock()
	p.written[pulseSum(key)] = true
	p.mu.Unlock()
	p.hurry()
}

// hurry makes the next beat come soon.
func (p *pulse) hurry() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// listen hears when others give the pulse, until ctx ends. A watch that ends is begun again,
// after a while if it did not last.
func (p *pulse) listen(ctx context.Context) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		begun := time.Now()
		for c, err := range p.records.Watch(ctx, p.at.Project) {
			if err != nil {
				break
			}
			p.hear(c)
		}
		p.deaf()
		if time.Since(begun) > pulseLasts {
			attempt = 0
		}
		waitTurn(ctx, nil, backoff(attempt))
	}
}

// hear takes a change in the store. After the zero one, nothing is missed until the watch
// ends.
func (p *pulse) hear(c store.Changed) {
	if key, ok := eventlog.KeyOfHead(c.Record); ok && p.wrote != nil {
		p.wrote(key, c.Revision)
		return
	}
	p.mu.Lock()
	if c.IsZero() {
		p.hears = true
		p.doubts++
	}
	news := c.IsZero() || c.Record == p.at && c.Revision != p.known
	p.mu.Unlock()
	if news {
		p.hurry()
	}
}

// certain reports whether the store has announced everything since it was in doubt so many
// times, and how often it was by now.
func (p *pulse) certain(doubts int64) (yes bool, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hears && p.doubts == doubts, p.doubts
}

// deaf makes run look often again, until the next zero.
func (p *pulse) deaf() {
	p.mu.Lock()
	heard := p.hears
	p.hears = false
	p.mu.Unlock()
	if heard {
		p.hurry()
	}
}

// pause returns how long to wait for a kick.
func (p *pulse) pause(failed bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hears && !failed {
		return pulseQuiet
	}
	return pulseEvery
}

// run exchanges what was written until ctx ends.
func (p *pulse) run(ctx context.Context) {
	var listening sync.WaitGroup
	listening.Go(func() { p.listen(ctx) })
	defer listening.Wait()
	for failed := false; ctx.Err() == nil; {
		err := p.beat(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			p.logger.Warn("serve: what other servers write cannot be noticed in time", "error", err)
		}
		failed = err != nil
		if waitTurn(ctx, p.kick, p.pause(failed)) {
			waitTurn(ctx, nil, pulsePause)
		}
	}
}

// last reports to the others what was written before the server stopped. The caller has ended
// run.
func (p *pulse) last() {
	p.mu.Lock()
	none := len(p.written) == 0
	p.mu.Unlock()
	if none {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pulseEvery)
	defer cancel()
	if err := p.beat(ctx); err != nil {
		p.logger.Warn("serve: other servers will notice later what was written last", "error", err)
	}
}

// beat takes over what the others have told, and tells them what was written here.
func (p *pulse) beat(ctx context.Context) error {
	p.mu.Lock()
	mine := slices.Sorted(maps.Keys(p.written))
	clear(p.written)
	p.mu.Unlock()
	err := p.exchange(ctx, mine)
	if err != nil {
		p.mu.Lock()
		for _, sum := range mine {
			p.written[sum] = true
		}
		p.mu.Unlock()
	}
	return err
}

func (p *pulse) exchange(ctx context.Context, mine []string) error {
	for {
		note, revision, err := recordio.Get[pulseNote](ctx, p.records, p.at)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			p.missed = true
			return err
		}
		switch {
		case !p.begun && p.missed: // logs may have been opened since
			p.heard(nil)
		case p.begun && revision != p.revision:
			if news := note.since(p.note.Last); news == nil || len(news) > 0 {
				p.heard(news)
			}
		}
		p.begun = true
		p.take(note, revision)
		if len(mine) == 0 {
			return nil
		}
		note = note.with(mine)
		revision, err = recordio.Put(ctx, p.records, p.at, &note, revision)
		if err == nil {
			p.take(note, revision)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// take keeps the record as it is now.
func (p *pulse) take(note pulseNote, revision int64) {
	p.note, p.revision = note, revision
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = revision
}

// with returns the note with more logs that were written.
func (n *pulseNote) with(sums []string) pulseNote {
	next := *n
	next.Last++
	next.Written = slices.DeleteFunc(slices.Clone(n.Written), func(m pulseMark) bool { return slices.Contains(sums, m.Sum) })
	for _, sum := range sums {
		next.Written = append(next.Written, pulseMark{sum, next.Last})
	}
	next.Written = slices.Clone(next.Written[max(0, len(next.Written)-pulseKeeps):])
	return next
}

// since returns the logs that were written after a number, nil if some of them may have
// been forgotten.
func (n *pulseNote) since(last int64) []string {
	if n.Last < last || len(n.Written) >= pulseKeeps && n.Written[0].N > last {
		return nil
	}
	news := []string{}
	for _, m := range n.Written {
		if m.N > last {
			news = append(news, m.Sum)
		}
	}
	return news
}
