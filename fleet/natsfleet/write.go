package natsfleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// The headers of the server's protocol, and ours.
const (
	headerExpect        = "Nats-Expected-Last-Subject-Sequence"
	headerExpectSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerStream        = "Nats-Expected-Stream"
	headerRollup        = "Nats-Rollup"
	headerTTL           = "Nats-TTL"
	headerBatch         = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"

	headerNonce = "Nonce" // of the write that made the message
	headerID    = "Id"    // of a batch of entries
	headerPart  = "Part"  // number and count of the parts of a batch of entries
	headerMore  = "More"  // how many messages the beginning of a record has
	headerLease = "Lease" // the name of the lease under which a batch or a record was written
	headerToken = "Token" // of that lease
	headerGone  = "Gone"  // the record, or the transcript up to here, was removed
	headerFree  = "Free"  // the lease was given back

	// Of a compacted transcript, see rewrite.
	headerRewritten = "Rewritten" // number and count of its messages
	headerModified  = "Modified"  // when it was last appended to
	headerArchived  = "Archived"  // how many entries come before, in the archive
	headerEmpty     = "Empty"     // all entries are there
)

// outgoing is a message to be stored.
type outgoing struct {
	subject string
	header  map[string]string
	data    []byte
	// If expect is set, the last message of the subject, or of guard if that is
	// set, must have the sequence last; 0 means that there must be none.
	expect  bool
	last    uint64
	guard   string
	replace bool          // removes earlier messages on its subject
	ttl     time.Duration // 0: it stays
}

// errMoved means that the last message of a subject is not the one that was
// expected.
var errMoved = errors.New("another message was stored in the meantime")

// write stores messages, all of them or none, and returns the sequence of the
// last. A write whose outcome is unknown is repeated. If the server then reports
// that the subject has moved, and its last message is ours, the first attempt had
// succeeded. Writes without a condition may be stored twice, so callers must
// tolerate that.
func (s *Store) write(ctx context.Context, messages ...outgoing) (seq uint64, err error) {
	if len(messages) > maxBatch {
		return 0, fmt.Errorf("%w: %w: it has %d messages of %d bytes, and a batch has at most %d", ErrTooLarge, store.ErrInvalid, len(messages), s.part(), maxBatch)
	}
	nonce := rand.Text()
	unknown := false
	last := messages[len(messages)-1]
	err = s.withRetry(ctx, boundFor(size(messages)), func(ctx context.Context) (err error) {
		seq, err = s.attempt(ctx, nonce, messages)
		if errors.Is(err, errMoved) && unknown {
			m, readErr := s.last(ctx, last.subject)
			if readErr != nil {
				return readErr
			}
			if m != nil && m.header.Get(headerNonce) == nonce {
				seq, err = m.seq, nil
			}
		}
		unknown = unknown || err != nil && !refused(err)
		return err
	})
	return seq, err
}

// size is how many bytes messages carry.
func size(messages []outgoing) (n int) {
	for _, m := range messages {
		n += len(m.data)
	}
	return n
}

// maxBatch is how many messages the server stores at once.
const maxBatch = 1000

// attempt stores messages once.
func (s *Store) attempt(ctx context.Context, nonce string, messages []outgoing) (uint64, error) {
	batch := rand.Text()
	for i, m := range messages {
		msg := m.encode(s.stream, nonce)
		if len(messages) > 1 {
			msg.Header.Set(headerBatch, batch)
			msg.Header.Set(headerBatchSequence, strconv.Itoa(i+1))
		}
		if i == len(messages)-1 {
			if len(messages) > 1 {
				msg.Header.Set(headerBatchCommit, "1")
			}
			return s.publish(ctx, msg)
		}
		if err := s.nc.PublishMsg(msg); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func (m *outgoing) encode(stream, nonce string) *nats.Msg {
	msg := &nats.Msg{Subject: m.subject, Data: m.data, Header: make(nats.Header)}
	msg.Header.Set(headerStream, stream)
	msg.Header.Set(headerNonce, nonce)
	for k, v := range m.header {
		msg.Header.Set(k, v)
	}
	if m.expect {
		msg.Header.Set(headerExpect, strconv.FormatUint(m.last, 10))
		if m.guard != "" {
			msg.Header.Set(headerExpectSubject, m.guard)
		}
	}
	if m.replace {
		msg.Header.Set(headerRollup, "sub")
	}
	if m.ttl > 0 {
		msg.Header.Set(headerTTL, strconv.Itoa(int(m.ttl.Seconds())))
	}
	return msg
}

// apiError is the server's answer if it refuses a request.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// The errors of the server that matter here.
const (
	codeMoved        = 10071
	codeInFlight     = 10164 // another write with the same expectation is in flight
	codeNotFound     = 10037
	codeNoSequence   = 10043
	codeBatchCut     = 10176 // a leader saw only a part of the batch
	codeManyBatches  = 10210
	codeNotStored    = 10077 // for several reasons, one of them that the stream is full
	codeAccountFull  = 10002
	codeServerFull   = 10023
	codeOverlap      = 10065 // another stream has the subjects
	statusNotFound   = "404"
	statusEnd        = "204"
	statusMany       = "413"
	statusNoResponse = "503"
)

// publish publishes a message and waits until it is stored.
func (s *Store) publish(ctx context.Context, msg *nats.Msg) (uint64, error) {
	ctx, end := s.waiting.begin(ctx)
	reply, err := s.nc.RequestMsgWithContext(ctx, msg)
	if err = end(err); err != nil {
		return 0, err
	}
	var ack struct {
		Seq   uint64    `json:"seq"`
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("%w: the server's answer is not an acknowledgement", store.ErrDamaged)
	}
	switch {
	case ack.Error == nil:
		s.horizon.reach(ack.Seq)
		return ack.Seq, nil
	case ack.Error.ErrCode == codeMoved:
		return 0, errMoved
	case ack.Error.full():
		return 0, fmt.Errorf("%w: %w", ErrFull, ack.Error)
	}
	return 0, ack.Error
}

// full reports whether the stream has no room left. The server has no code for
// a full stream, only one for every reason not to store a message, so the text
// decides.
func (e *apiError) full() bool {
	switch e.ErrCode {
	case codeAccountFull, codeServerFull:
		return true
	}
	return e.ErrCode == codeNotStored && strings.HasPrefix(e.Description, "maximum ")
}

// refused reports whether the server has answered that it stored nothing.
func refused(err error) bool {
	_, answered := errors.AsType[*apiError](err)
	return answered || errors.Is(err, errMoved) || errors.Is(err, nats.ErrNoResponders)
}

// passes reports whether an error may go away by itself: the server cannot be
// reached, is electing a leader, or is busy with a write that has the same
// condition.
func passes(err error) bool {
	if e, ok := errors.AsType[*apiError](err); ok {
		return !e.full() && (e.ErrCode == codeInFlight || e.ErrCode == codeBatchCut || e.ErrCode == codeManyBatches || e.Code == 503)
	}
	for _, other := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting,
		nats.ErrStaleConnection, context.DeadlineExceeded, errStale, errGap, errBroken,
	} {
		if errors.Is(err, other) {
			return true
		}
	}
	return false
}

const (
	attemptBound = 3 * time.Second  // of one request
	patience     = 20 * time.Second // of all; an election takes up to nine seconds
)

// boundFor is how long a request with so many bytes may take: a slow network
// carries a megabyte in a second.
func boundFor(size int) time.Duration {
	return attemptBound + time.Duration(size>>20)*time.Second
}

// withRetry repeats do while it fails for a reason that may pass, until
// patience runs out. Each attempt has its own bound.
func (s *Store) withRetry(ctx context.Context, bound time.Duration, do func(context.Context) error) error {
	begin := time.Now()
	for attempt := 0; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return s.refusals.why(err, begin)
		}
		connection := s.nc.Stats().Reconnects
		bounded, cancel := context.WithTimeout(ctx, bound)
		err := do(bounded)
		cancel()
		if err == nil || ctx.Err() != nil || !passes(err) || time.Since(begin) > patience {
			return s.refusals.why(err, begin)
		}
		timeout := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
		if timeout && s.nc.Stats().Reconnects == connection { // otherwise the answer was lost with the one before
			s.elsewhere()
		}
		t := time.NewTimer(min(time.Millisecond<<min(attempt, 8), 100*time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// elsewhere switches to another node, at most once in a while. This one accepts
// requests but does not answer them, so it may be cut off from the others.
func (s *Store) elsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.moved) < 2*attemptBound {
		return
	}
	s.moved = time.Now()
	_ = s.nc.ForceReconnect() // it reconnects anyway
}

// serial allows one write under a lease at a time: the server refuses a fenced
// write while another with the same fence is in flight.
type serial struct {
	seed  maphash.Seed
	locks [256]chan struct{}
}

func newSerial() *serial {
	l := &serial{seed: maphash.MakeSeed()}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

func (l *serial) lock(ctx context.Context, name string) (unlock func(), err error) {
	c := l.locks[maphash.String(l.seed, name)%uint64(len(l.locks))]
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
