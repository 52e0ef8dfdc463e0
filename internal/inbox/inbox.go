package inbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/wire"
)

var (
	// ErrFull means that frames were not taken in time and the bound was passed.
	ErrFull = errors.New("inbox full")
	// ErrIdle means that everything was taken and no background agent is at
	// work.
	ErrIdle = errors.New("no background agent is at work")
)

// DefaultLimit is the bound of an inbox in bytes.
const DefaultLimit = 64 << 20

// overhead is the size of an item beside its line and its names: itself, and the
// turn and the ending that it may have caused.
const overhead = 208

// Item is a frame with its place in the session.
type Item struct {
	Frame wire.Frame

	turn *turn
	end  *ending // of prompts that end here, nil for most frames
	free bool    // it came during Hold and does not count against the bound
}

// kind marks frames that are there for the inbox, whether or not the program
// asked for them.
type kind int

const (
	otherFrame kind = iota
	echoFrame       // repeats a prompt
	stateFrame      // reports whether the CLI is idle
)

// ending is the end of some prompts, or of a turn without a prompt.
type ending struct {
	prompts    []*prompt
	how        End
	unprompted bool // a result that answers no prompt
	idle       bool // no background agent is at work
	barrier    uint64
}

// End is how a prompt ends with a frame.
type End int

// The ends of a prompt.
const (
	NotYet     End = iota
	WithResult     // the frame is its result
	Cancelled      // it was taken out of the queue, discarded or refused
	Lost           // it had a result that could not be read
	Answered       // it was answered before, in another process
)

// Ends reports whether and how a prompt ends with the frame.
func (it *Item) Ends(id string) End {
	if it.end != nil && slices.ContainsFunc(it.end.prompts, func(p *prompt) bool { return p.id == id }) {
		return it.end.how
	}
	return NotYet
}

// Unprompted reports whether the frame is the result of a turn that no prompt
// began, such as one that answers a background agent.
func (it *Item) Unprompted() bool { return it.end != nil && it.end.unprompted }

// Idle reports whether the frame is a result after which no background agent
// is at work.
func (it *Item) Idle() bool { return it.end != nil && it.end.idle }

// Barrier is the value of Inbox.Mark when a result came, 0 for other frames.
func (it *Item) Barrier() uint64 {
	if it.end == nil {
		return 0
	}
	return it.end.barrier
}

// unwanted reports whether no caller waits for the frame: neither for its turn
// nor for the prompts that end with it.
func (it *Item) unwanted() bool {
	return it.turn.discarded() && (it.end == nil || !slices.ContainsFunc(it.end.prompts, (*prompt).wanted))
}

// size is the memory of an item. The names of unknown types are copies.
func (it *Item) size() int {
	if it.free {
		return 0
	}
	f := &it.Frame
	return max(len(f.Line), f.Retained) + len(f.Type) + len(f.Subtype) + overhead
}

// partial reports whether the frame is repeated in a whole message later on.
func (it *Item) partial() bool { return it.Frame.Type == "stream_event" }

// Inbox is safe for concurrent use by one producer, one consumer at a time,
// and any number of senders.
type Inbox struct {
	// HideEchoes and HideStates keep frames from the consumer that the program
	// has not asked for. They are set before the first Put.
	HideEchoes, HideStates bool
	// Mark is called for each result, if it is set: what it returns is the
	// result's Barrier.
	Mark func() uint64

	limit int
	slot  chan struct{} // held by the one consumer
	wake  chan struct{} // one slot: something changed
	taken chan struct{} // one slot: the consumer has taken some, or need not

	wantedVersion atomic.Uint64 // counts what may change which frames are wanted
	batch         batch

	_ [64]byte // what follows changes with each Put, and is the reader's

	mu      sync.Mutex
	turns   turns
	queue   queue
	bytes   int
	partial int // partial messages in queue
	dropped int
	full    bool
	holding bool  // the consumer waits for something else
	back    *Item // what it has put back
	closed  bool
	err     error
	batches int           // batches that the consumer has taken
	stalled time.Duration // how long the consumer was waited for in vain since it took the last
}

// New returns an inbox with a bound in bytes; 0 means DefaultLimit.
func New(limit int) *Inbox {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Inbox{limit: limit, slot: make(chan struct{}, 1), wake: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// Effect is the effect of a frame besides being queued.
type Effect struct {
	// StartsAbandoned: it starts a turn for a prompt that was abandoned while it waited.
	StartsAbandoned bool
	// Dropping: because of it partial messages are dropped, for the first time.
	Dropping bool
}

// wakeThreshold is how many frames are worth waking the consumer for, although more
// may come at once.
const wakeThreshold = 32

// Put takes the next frame of the wire. It never blocks, and wakes a consumer
// that waits only when enough has come together: Flush does when there is no
// more to put for now. It returns ErrFull, once, when the bound was passed: from
// then on nothing is taken.
func (b *Inbox) Put(f wire.Frame) (e Effect, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	it, begun := b.turns.observe(f)
	it.free = b.holding
	if b.Mark != nil && f.Type == "result" {
		it.end.barrier = b.Mark()
	}
	e.StartsAbandoned = begun
	if b.turns.changed {
		b.turns.changed = false
		b.wantedVersion.Add(1)
	}
	if b.closed || b.full || b.hides(&it) {
		if !b.turns.agentAtWork() {
			signal(b.wake) // of one that waits for that
		}
		return e, nil
	}
	if !b.fits(it) {
		before := b.dropped
		b.dropPartial()
		if it.partial() {
			b.dropped++
		}
		e.Dropping = before == 0 && b.dropped > 0
		if it.partial() {
			return e, nil
		}
		if !b.fits(it) {
			b.full = true
			return e, ErrFull
		}
	}
	if it.partial() {
		b.partial++
	}
	b.queue.push(it)
	b.bytes += it.size()
	if b.queue.count == wakeThreshold {
		signal(b.wake)
	}
	return e, nil
}

// hides reports whether the frame that was observed last is not for the consumer.
func (b *Inbox) hides(it *Item) bool {
	switch b.turns.kind {
	case echoFrame:
		return b.HideEchoes || it.unwanted()
	case stateFrame:
		return b.HideStates
	}
	return it.unwanted()
}

// Flush wakes a consumer that waits, if there is something for it.
func (b *Inbox) Flush() {
	b.mu.Lock()
	some := b.queue.count > 0
	b.mu.Unlock()
	if some {
		signal(b.wake)
	}
}

// fits reports whether there is room; one frame always has room.
func (b *Inbox) fits(it Item) bool {
	return it.free || b.queue.count == 0 || b.bytes+it.size() <= b.limit
}

// dropPartial gives up queued partial messages.
func (b *Inbox) dropPartial() {
	if b.partial == 0 {
		return
	}
	b.queue.keep(func(it *Item) bool {
		if it.partial() {
			b.dropped++
			b.bytes -= it.size()
		}
		return !it.partial()
	})
	b.partial = 0
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close ends the inbox: queued items can still be taken, then Next returns err.
// The first Close counts.
func (b *Inbox) Close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed, b.err = true, err
		signal(b.wake)
		signal(b.taken)
	}
}

// Hold notes that the consumer waits for something other than frames: those that
// come in the meantime do not count against the bound.
func (b *Inbox) Hold(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = on
}

// PutBack returns the consumer's last item to the inbox: the next call of Next
// yields it again.
func (b *Inbox) PutBack(it Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.back = &it
	b.wantedVersion.Add(1) // so that it is looked for
	signal(b.wake)
}

// Acquire makes the caller the one consumer; it reports false when there is
// one already. Release ends that.
func (b *Inbox) Acquire() bool {
	select {
	case b.slot <- struct{}{}:
		return true
	default:
		return false
	}
}

// Release frees the consumer's slot.
func (b *Inbox) Release() { <-b.slot }

// Next returns the next item, waiting for it. After Close and the last item it
// returns the error of Close.
func (b *Inbox) Next(ctx context.Context) (Item, error) { return b.next(ctx, false) }

// NextUntilIdle is Next that returns ErrQuiet in place of waiting when no
// background agent is at work.
func (b *Inbox) NextUntilIdle(ctx context.Context) (Item, error) { return b.next(ctx, true) }

func (b *Inbox) next(ctx context.Context, untilIdle bool) (Item, error) {
	for {
		if ctx.Err() != nil {
			return Item{}, context.Cause(ctx)
		}
		it, ok, end, err := b.nextWanted()
		if ok {
			return it, nil
		}
		if end {
			signal(b.wake) // for the next consumer
			return Item{}, err
		}
		if untilIdle && b.idle() {
			return Item{}, ErrIdle
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
}

// Sent registers a prompt. It is called before the prompt is written.
func (b *Inbox) Sent(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns.pending = append(b.turns.pending, &prompt{id: id})
}

// Unsent takes back a prompt that was never written.
func (b *Inbox) Unsent(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.turns.find(id); p != nil {
		b.turns.remove(p)
	}
}

// Ready notes that the CLI has answered the handshake. From then on a failed
// result answers a prompt; before, it may explain why the CLI does not start.
func (b *Inbox) Ready() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns.ready = true
}

// InputEnds notes that the CLI's input ends with the prompt: the CLI may hold
// results back from then on.
func (b *Inbox) InputEnds() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns.delayed = true
}

// AbandonedPrompt is where an abandoned prompt is on the wire.
type AbandonedPrompt struct {
	Progress
	Named       bool // the CLI names prompts, so that one can be un-queued
	Shared      bool // an interrupt would hit a prompt that is still wanted
	AgentAtWork bool // a background agent is at work
}

// Abandon gives up the answer to a prompt: the rest of its turn is dropped.
func (b *Inbox) Abandon(id string) AbandonedPrompt {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wantedVersion.Add(1)
	place := AbandonedPrompt{Progress: Ended, Named: b.turns.named, AgentAtWork: b.turns.agentAtWork()}
	if p := b.turns.find(id); p != nil {
		p.abandoned = true
		place.Progress, place.Shared = p.progress, b.turns.shared(p)
		p.stopped = p.stopped || p.progress == Started && !place.Shared
		return place
	}
	place.Shared = slices.ContainsFunc(b.turns.pending, (*prompt).wanted)
	if b.back != nil {
		b.back.end.abandon(id)
	}
	for it := range b.queue.all() {
		it.end.abandon(id)
	}
	if c := b.batch.chunk; c != nil {
		for i := range c.n {
			c.items[i].end.abandon(id)
		}
	}
	return place
}

// abandon gives up a prompt whose end has arrived but was not taken yet.
func (e *ending) abandon(id string) {
	if e == nil {
		return
	}
	for _, p := range e.prompts {
		p.abandoned = p.abandoned || p.id == id
	}
}

// Progress returns the progress of a prompt on the wire.
func (b *Inbox) Progress(id string) Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.turns.find(id); p != nil {
		return p.progress
	}
	return Ended
}

// Busy reports whether work runs: a turn, a prompt without its end, or
// something in the background.
func (b *Inbox) Busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns.busy() || len(b.turns.work.tasks) > 0
}

// Prompted reports whether a prompt has no end yet, or a turn runs.
func (b *Inbox) Prompted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns.current != nil || len(b.turns.pending) > 0
}

// NeedsControl reports whether something runs that may still ask for
// callbacks: a turn, a prompt, or a background task that is an agent and not
// merely a shell command.
func (b *Inbox) NeedsControl() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns.busy()
}

func (b *Inbox) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.count == 0 && !b.turns.agentAtWork()
}

// Dropped returns how many partial messages were given up.
func (b *Inbox) Dropped() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}
