package natsfleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
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
	headerLease = "Lease" // the name of the lease under which something was written
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

// write stores messages, all of them or none, and returns the sequence of the
// last. A write whose outcome is unknown is repeated. If the server then reports
// that the subject has moved, and its last message is ours, the first attempt had
// succeeded. Writes without a condition may be stored twice, so callers must
// tolerate that.
func (s *stream) write(ctx context.Context, messages ...outgoing) (seq uint64, err error) {
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
func (s *stream) attempt(ctx context.Context, nonce string, messages []outgoing) (uint64, error) {
	batch := rand.Text()
	for i, m := range messages {
		msg := m.encode(s.layout.name, nonce)
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
