package natsfleet

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// StoredMessage is a message of the stream, for tests that check what was stored.
type StoredMessage struct {
	Subject string
	Seq     uint64
	Token   string // of the fence under which it was written, if any
	Lease   string
	Data    []byte
}

// CompactAt sets how many messages a transcript has before it is compacted.
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
		out = append(out, StoredMessage{Subject: m.subject, Seq: m.seq, Token: m.header.Get(headerToken), Lease: m.header.Get(headerLease), Data: m.data})
	}
	return out, err
}

// Reconnects is how often the connection was made again.
func (s *Store) Reconnects() uint64 { return s.nc.Stats().Reconnects }

// Moves reports whether the store has asked for another server.
func (s *Store) Moves() bool {
	s.connection.mu.Lock()
	defer s.connection.mu.Unlock()
	return !s.moved.IsZero()
}

// Reconnect makes the connection again.
func (s *Store) Reconnect() error { return s.nc.ForceReconnect() }

// WithRetry repeats do while it fails for a reason that may pass.
func (s *Store) WithRetry(ctx context.Context, do func(context.Context) error) error {
	return s.withRetry(ctx, attemptBound, do)
}

// Replica has messages: those whose sequences are the keys.
type Replica map[uint64]string

// BarrierSubject is the subject of barriers in ReadPages.
const BarrierSubject = "p." + barrierToken

// ReadPages reads all subjects, by page, from replicas that may differ.
func ReadPages(ctx context.Context, page int, mark func() uint64, replica func() Replica) (subjects []string, err error) {
	r := pageReader{
		subject: BarrierSubject,
		store:   func(context.Context) (uint64, error) { return mark(), nil },
		page: func(_ context.Context, from uint64) (all []stored, more bool, err error) {
			return replica().page(page, from)
		},
	}
	all, err := r.read(ctx, 1, mark())
	for _, m := range all {
		subjects = append(subjects, m.subject)
	}
	return subjects, err
}

// Stale is the error of a replica that lags behind what is known to be stored.
var Stale = errStale

// Received is how many messages the connection has received.
func (s *Store) Received() uint64 { return s.nc.Stats().InMsgs }

// Sent is how many messages the connection has sent.
func (s *Store) Sent() uint64 { return s.nc.Stats().OutMsgs }

// Subscribe calls do for each change.
func (s *Store) Subscribe(ctx context.Context, project string, do func(store.Changed)) (stop func(), err error) {
	return s.subscribe(ctx, project, do)
}

// ReadSubject reads the messages of a subject, by page, from replicas that may differ. A
// replica maps sequences to messages.
func ReadSubject(ctx context.Context, page int, last func() uint64, replica func() Replica) (seqs []uint64, err error) {
	r := subjectReader{
		page: func(_ context.Context, from uint64) (all []stored, more bool, err error) {
			return replica().page(page, from)
		},
		barrier: func(_ context.Context, expected uint64) error {
			if expected != last() {
				return errMoved
			}
			return nil
		},
		store: func(context.Context) (uint64, error) { return last(), nil },
	}
	all, err := r.read(ctx)
	for _, m := range all {
		seqs = append(seqs, m.seq)
	}
	return seqs, err
}

// page returns a replica's answer.
func (r Replica) page(size int, from uint64) (all []stored, more bool, err error) {
	for _, seq := range slices.Sorted(maps.Keys(r)) {
		switch {
		case seq < from:
		case len(all) == size:
			return all, true, nil
		default:
			all = append(all, stored{subject: r[seq], seq: seq})
		}
	}
	return all, false, nil
}

// How long a server may take for a request, and for a page.
var (
	AttemptBound = attemptBound
	PageBound    = boundFor(pageBytes)
)

// ScanBytes sets how much a scan remembers of what it has read.
func (o *Options) ScanBytes(n int) { o.scanBytes = n }

// Remembered is how many bytes of values a scan of a kind remembers.
func (s *Store) Remembered(ctx context.Context, project, kind string) (n int, err error) {
	found, err := s.present(ctx, s.layout.kind(project, kind))
	for _, m := range found {
		n += len(m.data)
	}
	return n, err
}

// ForgetFloors lets the next scan read its folder from the beginning.
func (s *Store) ForgetFloors() { s.floors.forget() }

// Floors remembers where folders begin.
type Floors struct{ floors floors }

// FloorAge is how long that is trusted.
const FloorAge = floorAge

// Set takes note of a read from the beginning that ends now.
func (f *Floors) Set(prefix string, seq uint64) { f.floors.set(prefix, seq, time.Now()) }

// Of is where a read begins.
func (f *Floors) Of(prefix string) uint64 {
	from, _ := f.floors.of(prefix)
	return from
}

// Len is how many folders are remembered.
func (f *Floors) Len() int { return len(f.floors.all) }

// Knows makes the store know of a sequence.
func (s *Store) Knows(seq uint64) { s.horizon.reach(seq) }
