package history

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
)

// maxAhead is how many pieces are read and decoded ahead of the loop,
// concurrently.
const maxAhead = 4

// batch holds the messages of a piece.
type batch struct {
	*piece
	entries  bool // messages keep their lines
	text     []byte
	messages []*StoredMessage
	err      error // about the line after the last message
	done     chan struct{}
}

// decodeAll yields the messages of the wanted entries, in their order. An error
// ends it.
func (t *Transcript) decodeAll(ctx context.Context, page Page, wanted func(*transcript.Entry) bool, yield func(*StoredMessage, error) bool) {
	f, closeIt, err := t.reopen()
	if err != nil {
		yield(nil, err)
		return
	}
	defer closeIt()
	var running []*batch
	var idle [][]byte // buffers for pieces that no caller keeps
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
		if !page.Entries && cap(b.text) <= maxPiece {
			idle = append(idle, b.text)
		}
		for _, m := range b.messages {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return false
			}
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
	for p := range pieces(t.selected(page), wanted) {
		b := &batch{piece: p, entries: page.Entries, done: make(chan struct{})}
		if n := len(idle); n > 0 {
			b.text, idle = idle[n-1], idle[:n-1]
		}
		running = append(running, b)
		go b.run(t, f)
		if len(running) > ahead && !first() {
			return
		}
	}
	for len(running) > 0 && first() {
	}
}

// run reads and decodes the piece.
func (b *batch) run(t *Transcript, from io.ReaderAt) {
	defer close(b.done)
	var got error
	b.text, got = b.read(from, b.text)
	b.messages = make([]*StoredMessage, 0, len(b.piece.entries))
	speech := make([]byte, 0, b.bytes+64*len(b.piece.entries)) // all texts, one after the other
	for _, e := range b.piece.entries {
		line := b.line(e, b.text)
		if line == nil {
			b.err = t.changed(got)
			return
		}
		before := len(speech)
		typ, subtype, err := e.Type(), t.index.Subtype(e), error(nil)
		if e.Kind != transcript.Attachment {
			speech, err = t.index.AppendSpeech(speech, line, e, t.parent)
		} else {
			typ, subtype = transcript.PromptType, ""
			speech, err = t.index.AppendPrompt(speech, line, e)
		}
		if err != nil {
			b.err = t.changed(err)
			return
		}
		m, err := message.DecodeAs(typ, subtype, speech[before:len(speech):len(speech)])
		if m == nil {
			b.err = fmt.Errorf("claude: history: session %s: %w", t.ID, err)
			return
		}
		said := &StoredMessage{Message: m, UUID: m.Head().UUID, Time: e.Time(), Summary: e.Summary(), MidTurn: e.Kind == transcript.Attachment}
		if b.entries {
			said.Entry = line
		}
		b.messages = append(b.messages, said)
	}
}
