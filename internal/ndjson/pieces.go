package ndjson

import "bytes"

// pieceSize is the size of a piece, a few reads.
const pieceSize = 4 * longChunk

// pieces is a line that is being read and whose length is not known.
type pieces struct {
	list  [][]byte // all but the last are full
	size  int      // of all together
	spare []byte   // the first piece, nil if it is to be made; it need not be cleared again
}

// room returns where the line continues.
func (p *pieces) room() []byte {
	n := len(p.list)
	if n == 0 || len(p.list[n-1]) == pieceSize {
		if p.spare == nil {
			p.spare = make([]byte, 0, pieceSize)
		}
		p.list = append(p.list, p.spare)
		p.spare = nil
		n++
	}
	last := p.list[n-1]
	return last[len(last):pieceSize]
}

// grow takes the first n bytes of the room into the line.
func (p *pieces) grow(n int) {
	last := &p.list[len(p.list)-1]
	*last = (*last)[:len(*last)+n]
	p.size += n
}

// add appends a copy of text.
func (p *pieces) add(text []byte) {
	for len(text) > 0 {
		n := copy(p.room(), text)
		p.grow(n)
		text = text[n:]
	}
}

// join returns the line as a whole.
func (p *pieces) join() []byte { return bytes.Join(p.list, nil) }
