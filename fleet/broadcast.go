package fleet

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// liveFrame is a piece of a live answer, numbered within one run of a conversation in
// one process.
type liveFrame struct {
	Run     string          `json:"run"`
	Number  uint64          `json:"number"`
	Message json.RawMessage `json:"message,omitzero"` // none: the CLI has ended
}

// liveState is the whole live answer, up to a number.
type liveState struct {
	Run     string          `json:"run"`
	Number  uint64          `json:"number"`
	Answer  string          `json:"answer,omitzero"`
	Blocks  []liveBlock     `json:"blocks,omitempty"`
	Before  wholeAnswer     `json:"before,omitzero"`
	Whole   wholeAnswer     `json:"whole,omitzero"`
	Results int             `json:"results,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
	Compact json.RawMessage `json:"compact,omitzero"` // how a compaction began that runs
}

type liveBlock struct {
	Start json.RawMessage   `json:"start"`
	Delta message.DeltaType `json:"delta,omitzero"`
	Text  string            `json:"text,omitzero"`
	Full  bool              `json:"full,omitzero"`
}

// addLiveText adds a message of the CLI to the live text, here and in other processes.
func (n *news) addLiveText(c *conversation, m message.Message) {
	run, number := c.liveText.add(m)
	if number > 0 && n.opts.Bus != nil {
		n.broadcast(c.key, liveFrame{run, number, m.Head().Raw})
	}
}

// endLiveText drops the live text of a CLI that has ended.
func (n *news) endLiveText(c *conversation) {
	run, number := c.liveText.end()
	if n.opts.Bus != nil {
		n.broadcast(c.key, liveFrame{Run: run, Number: number})
	}
}

func (n *news) broadcast(key string, frame liveFrame) {
	data, err := jsonx.Marshal(frame)
	if err != nil {
		n.opts.Logger.Warn("live text cannot be sent", "conversation", key, "error", err)
		return
	}
	n.opts.Bus.Publish(liveTopic(n.opts.Project, key), data)
}

// state is a snapshot of the live text, in the form that is sent to other processes.
func (t *liveText) state() liveState {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := liveState{Run: t.named(), Number: t.number, Answer: t.answer, Before: t.before, Whole: t.whole, Results: t.results}
	if t.result != nil {
		out.Result = t.result.Raw
	}
	if t.compact.number > 0 {
		out.Compact = t.compact.status.Raw // nothing for one that was cut off, and load cuts it off as well
	}
	for _, b := range t.blocks {
		out.Blocks = append(out.Blocks, liveBlock{b.start.Raw, b.delta, b.text.String(), b.full})
	}
	return out
}

// named is the name of the run. It is made on first use.
func (t *liveText) named() string {
	if t.run == "" {
		t.run = uuid.New()
	}
	return t.run
}

// load replaces the live text with the snapshot of another process, with a result if
// there was one.
func (t *liveText) load(in liveState, result *message.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answer, t.blocks, t.before, t.whole = in.Answer, nil, in.Before, in.Whole
	for _, b := range in.Blocks {
		m, _ := message.Decode(b.Start) // what fits is enough
		start, ok := m.(*message.StreamEvent)
		if !ok {
			break
		}
		start.MessageID = in.Answer
		text := new(strings.Builder)
		text.WriteString(b.Text)
		t.blocks = append(t.blocks, growingBlock{start, b.Delta, text, b.Full})
	}
	if result != nil {
		t.result = result
		t.results++
	}
	m, _ := message.Decode(in.Compact) // what fits is enough
	if status, ok := m.(*message.Status); ok {
		t.compact.take(status)
	} else {
		t.compact.cut()
	}
	t.wake()
}

// follower keeps the live text of a conversation that another process runs.
type follower struct {
	n      *news
	c      *conversation
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	run     string
	number  uint64
	results int
	asking  bool
	late    []liveFrame // those that came while the whole state was being asked for
}

const (
	askLiveAgain = 200 * time.Millisecond // at the earliest
	maxLate      = 10_000
)

// followLive follows a conversation that runs elsewhere, until stop is called. All
// readers of the conversation share one follower.
func (n *news) followLive(ctx context.Context, c *conversation) (stop func()) {
	if n.opts.Bus == nil {
		return func() {}
	}
	n.roster.mu.Lock()
	defer n.roster.mu.Unlock()
	if c.liveReaders++; c.liveReaders == 1 {
		c.follower = &follower{n: n, c: c}
		c.follower.ctx, c.follower.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.follower.wg.Go(c.follower.listen)
	}
	return func() {
		n.roster.mu.Lock()
		var last *follower
		if c.liveReaders--; c.liveReaders == 0 {
			last, c.follower = c.follower, nil
		}
		n.roster.mu.Unlock()
		if last != nil {
			last.cancel()
			last.wg.Wait()
		}
	}
}

// listen follows the conversation until its context ends.
func (l *follower) listen() {
	for attempt := 0; l.ctx.Err() == nil; attempt++ {
		stop, err := l.n.opts.Bus.Subscribe(l.ctx, liveTopic(l.n.opts.Project, l.c.key), l.receive)
		if err == nil {
			l.mu.Lock()
			l.ask(0) // it may be in the middle of an answer
			l.mu.Unlock()
			<-l.ctx.Done()
			stop()
			return
		}
		pause(l.ctx, retryDelay(attempt))
	}
}

// receive takes a frame.
func (l *follower) receive(data []byte) {
	var frame liveFrame
	if jsonx.Unmarshal(data, &frame) != nil || frame.Run == "" || frame.Number == 0 {
		return // a frame of another program
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take(frame)
}

// take applies a frame if it is the next, and asks for the whole state if there is a
// gap.
func (l *follower) take(frame liveFrame) {
	switch {
	case frame.Run == l.run && frame.Number <= l.number:
		return
	case frame.Run == l.run && frame.Number == l.number+1:
		l.number++
	case frame.Number == 1:
		l.run, l.number, l.results = frame.Run, 1, 0
		l.show(func() { l.c.liveText.end() })
	default:
		if len(l.late) < maxLate {
			l.late = append(l.late, frame)
		}
		l.ask(askLiveAgain)
		return
	}
	if frame.Message == nil {
		l.show(func() { l.c.liveText.end() })
		return
	}
	m, _ := message.Decode(frame.Message) // what fits is enough
	if m == nil {
		return
	}
	if _, ok := m.(*message.Result); ok {
		l.results++
		// The store has everything from before the result, and readers look there
		// first.
		l.n.store.announce(place(l.c.key))
	}
	l.show(func() { l.c.liveText.add(m) })
}

// show changes the live text, unless this process runs the conversation itself.
func (l *follower) show(change func()) {
	if s, _ := l.n.roster.liveSession(l.c.key); s == nil {
		change()
	}
}

// ask asks for the whole state, with one request at a time.
func (l *follower) ask(after time.Duration) {
	if l.asking {
		return
	}
	l.asking = true
	l.wg.Go(func() {
		if after > 0 && !pause(l.ctx, after) {
			return
		}
		state, err := l.n.peers.live(l.ctx, l.c.key)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asking = false
		late := l.late
		l.late = nil
		if err != nil {
			return // no process runs it; the next frame makes this one ask again
		}
		l.adopt(*state)
		for _, frame := range late {
			if frame.Run == l.run {
				l.take(frame)
			}
		}
	})
}

// adopt replaces the live text with that of the process that runs the conversation.
func (l *follower) adopt(state liveState) {
	if state.Run == l.run && state.Number <= l.number {
		return
	}
	var result *message.Result
	if state.Run == l.run && state.Results > l.results {
		m, _ := message.Decode(state.Result) // what fits is enough
		result, _ = m.(*message.Result)
		l.n.store.announce(place(l.c.key))
	}
	l.run, l.number, l.results = state.Run, state.Number, state.Results
	l.show(func() { l.c.liveText.load(state, result) })
}
