package secret

import (
	"bytes"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// maxHeld bounds the bytes of lines that are held back.
const maxHeld = 32 << 20

// Lines hides secrets in the lines of a session, even those that are spread over
// the pieces of a streamed block. While a block is streamed, lines are held back; if
// the whole of it has a secret, its first piece has all of its text, without the
// secret, and the others have none. A block that is too long to be held is cut off,
// and so are blocks that have not stopped when a message or a turn ends: nothing
// waits for them any longer. E is the data that belong to a line, such as its time.
// It is for one goroutine.
type Lines[E any] struct {
	set   *Set
	emit  func(about E, line []byte)
	limit int

	held  []heldLine[E]
	size  int
	first int // the number of the first held line, of all that were ever held
	open  map[blockKey]*block
	cut   map[blockKey]bool // blocks of which nothing more is shown
}

type heldLine[E any] struct {
	about E
	line  []byte
}

// blockKey names a block that is being streamed.
type blockKey struct {
	parent string
	index  int
}

// block is the text of a block so far.
type block struct {
	member string // of a delta, that has the text
	text   []byte
	lines  []int // the numbers of its lines
}

// NewLines returns Lines that hide the secrets of a set.
func NewLines[E any](s *Set, emit func(about E, line []byte)) *Lines[E] {
	return &Lines[E]{set: s, emit: emit, limit: maxHeld, open: make(map[blockKey]*block), cut: make(map[blockKey]bool)}
}

// Other takes a line in which nothing is streamed, to keep it in its place.
func (l *Lines[E]) Other(about E, line []byte) {
	if l.size+len(line) > l.limit {
		l.cutOff()
	}
	l.add(about, line)
	l.release()
}

// Next takes the next line of the CLI.
func (l *Lines[E]) Next(about E, line []byte) {
	p, streamed := pieceOf(line)
	switch {
	case !streamed:
		if p.Type == "result" {
			l.cutOff()
		}
		l.Other(about, line)
		return
	case p.Event.Type == "content_block_delta":
		if l.size+len(line) > l.limit {
			l.cutOff()
		}
		line = l.piece(p, line)
	case p.Event.Type == "content_block_stop":
		l.close(func(k blockKey) bool { return k == p.key() }, false)
	case p.Event.Type == "content_block_start":
		l.over(func(k blockKey) bool { return k == p.key() })
	case p.Event.Type == "message_start" || p.Event.Type == "message_stop":
		l.over(func(k blockKey) bool { return k.parent == p.Parent })
	}
	l.add(about, line)
	l.release()
}

// End ends all blocks: no more lines will come.
func (l *Lines[E]) End() {
	l.close(func(blockKey) bool { return true }, true)
	l.release()
}

// piece notes a piece of a block, whose line is the next one.
func (l *Lines[E]) piece(p piece, line []byte) []byte {
	member, text := p.text()
	if member == "" {
		return line
	}
	key := p.key()
	if l.cut[key] {
		return withDelta(line, member, "")
	}
	b := l.open[key]
	if b == nil || b.member != member {
		l.close(func(k blockKey) bool { return k == key }, false)
		b = &block{member: member}
		l.open[key] = b
	}
	b.text = append(b.text, text...)
	b.lines = append(b.lines, l.first+len(l.held))
	return line
}

// cutOff ends all blocks, to release the lines held back for them.
func (l *Lines[E]) cutOff() {
	for key := range l.open {
		l.cut[key] = true
	}
	l.close(func(blockKey) bool { return true }, true)
	l.release()
}

// over ends blocks that have not stopped, though others begin in their place.
func (l *Lines[E]) over(which func(blockKey) bool) {
	l.close(which, true)
	l.close(which, false) // and what comes under their names is shown again
}

// close ends blocks. One that is cut off may end inside of a secret.
func (l *Lines[E]) close(which func(blockKey) bool, cutOff bool) {
	for key, b := range l.open {
		if !which(key) {
			continue
		}
		delete(l.open, key)
		shown := l.set.whole(b, cutOff)
		if shown == string(b.text) {
			continue
		}
		for _, n := range b.lines {
			held := &l.held[n-l.first]
			held.line = withDelta(held.line, b.member, shown)
			shown = ""
		}
	}
	if !cutOff {
		for key := range l.cut {
			if which(key) {
				delete(l.cut, key)
			}
		}
	}
}

// whole is the text of a block without its secrets.
func (s *Set) whole(b *block, cutOff bool) string {
	text := b.text
	if b.member == "partial_json" {
		text = s.JSON(text)
	} else {
		text = s.embedded(text)
	}
	if cutOff {
		return string(maskSpans(text, s.tailSpans(text)))
	}
	return string(maskSpans(text, s.spans(text)))
}

func (l *Lines[E]) add(about E, line []byte) {
	l.held = append(l.held, heldLine[E]{about, line})
	l.size += len(line)
}

// release passes on lines that wait for no block any more.
func (l *Lines[E]) release() {
	last := l.first + len(l.held)
	for _, b := range l.open {
		last = min(last, b.lines[0])
	}
	for _, h := range l.held[:last-l.first] {
		l.size -= len(h.line)
		l.emit(h.about, l.set.JSON(h.line))
	}
	rest := len(l.held) - (last - l.first)
	copy(l.held, l.held[last-l.first:])
	clear(l.held[rest:])
	l.held, l.first = l.held[:rest], last
}

// piece is a line of a streamed message.
type piece struct {
	Type   string `json:"type"`
	Parent string `json:"parent_tool_use_id"`
	Event  struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta struct {
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
			Input    string `json:"partial_json"`
		} `json:"delta"`
	} `json:"event"`
}

// pieceOf reads a line of a streamed message, or one that ends a turn, which is not
// ok.
func pieceOf(line []byte) (p piece, ok bool) {
	if !bytes.Contains(line, []byte(`"stream_event"`)) && !bytes.Contains(line, []byte(`"result"`)) {
		return p, false
	}
	if err := jsonx.Unmarshal(line, &p); err != nil && !jsonx.Mismatch(err) {
		return p, false
	}
	return p, p.Type == "stream_event"
}

func (p *piece) key() blockKey { return blockKey{p.Parent, p.Event.Index} }

// text returns the text of a delta, and the member that it is in.
func (p *piece) text() (member, text string) {
	d := &p.Event.Delta
	switch {
	case d.Text != "":
		return "text", d.Text
	case d.Thinking != "":
		return "thinking", d.Thinking
	case d.Input != "":
		return "partial_json", d.Input
	}
	return "", ""
}

// withDelta returns a line whose delta has another text.
func withDelta(line []byte, member, text string) []byte {
	return jsonx.MapTexts(line, func(value []byte, at jsonx.Place) []byte {
		if at.Member == member && at.Parent == "delta" && !at.Name {
			return quoted([]byte(text))
		}
		return value
	})
}
