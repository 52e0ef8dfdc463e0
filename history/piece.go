package history

import (
	"io"
	"iter"

	"github.com/claude-agent-go/claude/internal/transcript"
)

// A file is read in pieces that start small, so that the first message comes
// soon. They stay small, because keeping one message of a piece keeps all of
// it.
const (
	firstPiece = 4 << 10
	maxPiece   = 64 << 10
)

// piece is a part of a file with its wanted entries: several if they are close
// together, or a single long one.
type piece struct {
	pos     int64
	size    int
	entries []*transcript.Entry
	bytes   int // of the entries alone
}

// pieces yields the wanted entries, in the order of the conversation.
func pieces(entries []*transcript.Entry, wanted func(*transcript.Entry) bool) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		size := firstPiece
		p := new(piece)
		for _, e := range entries {
			if !wanted(e) || p.add(e, size) {
				continue
			}
			if !yield(p) {
				return
			}
			size = min(2*size, maxPiece)
			p = new(piece)
			p.add(e, size)
		}
		if len(p.entries) > 0 {
			yield(p)
		}
	}
}

// add takes an entry that follows within size bytes, and reports whether it did.
func (p *piece) add(e *transcript.Entry, size int) bool {
	if len(p.entries) == 0 {
		p.pos = e.Pos
	} else if e.Pos < p.pos+int64(p.size) || e.Pos+int64(e.Len) > p.pos+int64(size) {
		return false
	}
	p.size = int(e.Pos-p.pos) + int(e.Len)
	p.entries = append(p.entries, e)
	p.bytes += int(e.Len)
	return true
}

// read returns the text of the piece, in the buffer if there is room, and an
// error if part of it is missing.
func (p *piece) read(from io.ReaderAt, buf []byte) ([]byte, error) {
	if cap(buf) < p.size {
		buf = make([]byte, p.size)
	}
	n, err := from.ReadAt(buf[:p.size], p.pos)
	return buf[:n], err
}

// line returns the line of an entry, nil if the text does not hold it.
func (p *piece) line(e *transcript.Entry, text []byte) []byte {
	begin := int(e.Pos - p.pos)
	end := begin + int(e.Len)
	if end > len(text) || begin == end || text[begin] != '{' {
		return nil
	}
	return text[begin:end:end]
}
