package egress

import (
	"errors"
	"io"
	"sync/atomic"
)

// errNoRoom means that the bodies of other requests fill the memory meant for them.
var errNoRoom = errors.New("there is no room for the body")

// room bounds the bytes of all bodies that are in memory at a time. It may be used from any
// goroutine.
type room struct {
	most int64
	used atomic.Int64
}

// take takes some of the room, unless there is too little.
func (r *room) take(n int64) bool {
	if r.used.Add(n) > r.most {
		r.used.Add(-n)
		return false
	}
	return true
}

// bodyReader reads a body into two rooms: its pass's, and the shared one. Bytes count
// when they have arrived, so a large Content-Length takes nothing from others.
type bodyReader struct {
	from  io.Reader
	rooms [2]*room
	taken [2]int64
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	for i, r := range b.rooms {
		if !r.take(int64(n)) {
			return n, errNoRoom
		}
		b.taken[i] += int64(n)
	}
	return n, err
}

// leave gives the room back. The body must not be used any more.
func (b *bodyReader) leave() {
	for i, r := range b.rooms {
		r.used.Add(-b.taken[i])
		b.taken[i] = 0
	}
}
