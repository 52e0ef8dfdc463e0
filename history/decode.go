package history

import (
	"fmt"
	"iter"
	"runtime"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
)

// Lines are decoded in batches: the first few when they are asked for, the others
// on all processors, ahead of the loop by a batch for each.
const (
	firstBatch = 16       // lines
	batchBytes = 64 << 10 // of all lines of a batch
	maxAhead   = 4        // batches
)

// batch is some lines and the messages that become of them.
type batch struct {
	lines    []line
	bytes    int
	messages []*StoredMessage
	err      error // of the line behind the last message
	done     chan struct{}
}

// run decodes the lines.
func (b *batch) run(t *Transcript) {
	defer close(b.done)
	for _, l := range b.lines {
		m, err := t.decode(l)
		if err != nil {
			b.err = err
			return
		}
		b.messages = append(b.messages, m)
	}
}

// decodeAll yields the messages of lines, in their order. An error ends it.
func (t *Transcript) decodeAll(lines iter.Seq2[line, error], yield func(*StoredMessage, error) bool) {
	var running []*batch
	defer func() {
		for _, b := range running { // nothing is left behind when the loop ends
			<-b.done
		}
	}()
	// first yields the outcome of the oldest batch.
	first := func() bool {
		b := running[0]
		running = running[1:]
		<-b.done
		for _, m := range b.messages {
			if !yield(m, nil) {
				return false
			}
		}
		if b.err != nil {
			yield(nil, b.err)
		}
		return b.err == nil
	}
	ahead := min(runtime.GOMAXPROCS(0), maxAhead)
	n := 0
	next := &batch{done: make(chan struct{})}
	for l, err := range lines {
		if err == nil && n < firstBatch {
			n++
			m, err := t.decode(l)
			if !yield(m, err) || err != nil {
				return
			}
			continue
		}
		if err != nil {
			next.lines = append(next.lines, line{err: err})
			break
		}
		next.lines = append(next.lines, l)
		if next.bytes += len(l.text); next.bytes < batchBytes {
			continue
		}
		running = append(running, next)
		go next.run(t)
		next = &batch{done: make(chan struct{})}
		if len(running) > ahead && !first() {
			return
		}
	}
	running = append(running, next)
	next.run(t)
	for len(running) > 0 && first() {
	}
}

// decode makes a message of a line.
func (t *Transcript) decode(l line) (*StoredMessage, error) {
	if l.err != nil {
		return nil, l.err
	}
	var speech []byte
	typ, subtype := l.Type(), t.index.Subtype(l.Entry)
	if l.Kind == transcript.Attachment {
		if !t.index.Wrote(l.text, l.Entry) {
			return nil, t.changed(nil)
		}
		typ, subtype, speech = transcript.PromptType, "", transcript.Prompt(l.text)
	} else {
		var err error
		if speech, err = t.index.Speech(l.text, l.Entry, t.parent); err != nil {
			return nil, t.changed(err)
		}
	}
	m, err := message.DecodeAs(typ, subtype, speech)
	if m == nil {
		return nil, t.unreadable(err)
	}
	return &StoredMessage{Message: m, UUID: m.Head().UUID, Time: l.Time(), Summary: l.Summary(), Entry: l.text}, nil
}

// unreadable is the error for a line that is an entry but not a message.
func (t *Transcript) unreadable(err error) error {
	return fmt.Errorf("claude: history: session %s: %w", t.ID, err)
}
