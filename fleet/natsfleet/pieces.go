package natsfleet

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// Live text is not stored, and a frame of it may be larger than a message of the
// server: the input of a tool, the result of a long turn. Such a frame is sent in
// pieces.

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

// joiner puts frames together. It keeps one unfinished frame: a frame with a
// missing piece is dropped, and its listeners notice the gap. It is used by one
// goroutine.
type joiner struct {
	id     string
	number int // of the last piece
	data   []byte
}

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
	if number == 1 {
		*j = joiner{id: id}
	}
	if id != j.id || number != j.number+1 || len(j.data)+len(m.Data) > maxFrame {
		if id == j.id {
			*j = joiner{}
		}
		return nil, false
	}
	j.number++
	j.data = append(j.data, m.Data...)
	if number < count {
		return nil, false
	}
	frame = j.data
	*j = joiner{}
	return frame, true
}
