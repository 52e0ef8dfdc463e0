package natsfleet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// StoredMessage is a message of the stream, for those who check what was stored.
type StoredMessage struct {
	Subject string
	Seq     uint64
	Token   string // of the fence under which it was written, if any
	Lease   string
	Data    []byte
}

// CompactAt sets how many messages a transcript has before it is written anew.
func (o *Options) CompactAt(n int) { o.compactAt = n }

// ArchiveTTL sets how long the lease lasts under which a transcript is archived.
func (o *Options) ArchiveTTL(ttl time.Duration) { o.archiveTTL = ttl }

// Joiner puts live text together that was sent in pieces.
type Joiner = joiner

// Add takes a message.
func (j *joiner) Add(m *nats.Msg) (frame []byte, whole bool) { return j.add(m) }

// Assemble makes a transcript of messages with these headers.
func Assemble(headers ...map[string]string) error {
	var all []stored
	for _, h := range headers {
		m := stored{header: make(nats.Header)}
		for k, v := range h {
			m.header.Set(k, v)
		}
		all = append(all, m)
	}
	_, err := assemble(all)
	return err
}

// Everything returns all messages of a kind: "t" are transcripts, "r" records.
func (s *Store) Everything(ctx context.Context, kind, project string) ([]StoredMessage, error) {
	all, err := s.collect(ctx, s.layout.name+"."+kind+"."+token(project))
	var out []StoredMessage
	for _, m := range all {
		if m.header.Get(headerGone) != "" {
			continue
		}
		e := StoredMessage{Subject: m.subject, Seq: m.seq, Lease: m.header.Get(headerLease), Data: m.data}
		if e.Token = m.header.Get(headerToken); m.header.Get(headerExpectSubject) != "" {
			e.Token = m.header.Get(headerExpect)
		}
		out = append(out, e)
	}
	return out, err
}

// Received is how many messages the connection has received.
func (s *Store) Received() uint64 { return s.nc.Stats().InMsgs }
