package natsfleet

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Messages on the bus are not stored, and one of them, here called a frame, may be
// larger than a message of the server: the input of a tool, the result of a long turn.
// Such a frame is sent in pieces.

// headerPiece is on each piece: the id of the frame, the piece's number and their count.
const headerPiece = "Piece"

// maxFrame is the largest frame that is put together again.
const maxFrame = 64 << 20

// pieces makes messages of a frame, each with at most size bytes.
func pieces(subject string, frame []byte, size int) []*nats.Msg {
	if len(frame) <= size {
		return []*nats.Msg{{Subject: subject, Data: frame}}
	}
	id, count := rand.Text(), (len(frame)+size-1)/size
	var all []*nats.Msg
	for i := range count {
		m := &nats.Msg{Subject: subject, Header: make(nats.Header), Data: frame[i*size : min((i+1)*size, len(frame))]}
		m.Header.Set(headerPiece, pieceName(id, i+1, count))
		all = append(all, m)
	}
	return all
}

func pieceName(id string, number, count int) string {
	return fmt.Sprintf("%s %d/%d", id, number, count)
}

// joiner puts frames together. Several processes may send theirs at the same time, so it
// keeps some unfinished frames: one with a missing piece is dropped, and its reader notices
// the gap or asks again. It is used by one goroutine.
type joiner struct{ unfinished []unfinished } // the oldest first

// unfinished is a frame whose last pieces have not come.
type unfinished struct {
	id     string
	number int // of the last piece
	data   []byte
}

// maxUnfinished is how many frames may be unfinished at once.
const maxUnfinished = 64

// add takes a message and returns a frame that is whole now, if there is one.
func (j *joiner) add(m *nats.Msg) (frame []byte, whole bool) {
	name := m.Header.Get(headerPiece)
	if name == "" {
		return m.Data, true
	}
	id, place, _ := strings.Cut(name, " ")
	var number, count int
	if _, err := fmt.Sscanf(place, "%d/%d", &number, &count); err != nil || number < 1 || number > count {
		return nil, false // a foreign program sent it
	}
	u := unfinished{id: id}
	if i := slices.IndexFunc(j.unfinished, func(u unfinished) bool { return u.id == id }); i >= 0 {
		if number > 1 {
			u = j.unfinished[i]
		}
		j.unfinished = slices.Delete(j.unfinished, i, i+1)
	}
	if number != u.number+1 || len(u.data)+len(m.Data) > maxFrame {
		return nil, false
	}
	u.number, u.data = number, append(u.data, m.Data...)
	if number == count {
		return u.data, true
	}
	j.unfinished = append(j.unfinished, u)
	for len(j.unfinished) > maxUnfinished || j.bytes() > maxFrame {
		j.unfinished = slices.Delete(j.unfinished, 0, 1)
	}
	return nil, false
}

// bytes is how much the unfinished frames hold.
func (j *joiner) bytes() (n int) {
	for i := range j.unfinished {
		n += len(j.unfinished[i].data)
	}
	return n
}
