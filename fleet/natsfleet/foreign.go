package natsfleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/store"
)

// Anyone who may publish to the subjects of a fleet can put a message in its stream: by
// mistake, with another program, by hand. It would replace a record or a lease, or
// mark a session as deleted. All messages of a fleet carry a nonce, so a message
// without one is foreign. It is removed where it is met: as long as it is the last
// message of its subject, compare-and-set fails there.

// ours reports whether a message was written by a fleet.
func (m *stored) ours() bool { return m.header.Get(headerNonce) != "" }

// removeForeign removes a message that is not ours. The leader is asked first whether it
// has that message at that place: any replica may have answered, and no message of the
// fleet may go by mistake.
func (s *stream) removeForeign(ctx context.Context, m *stored) error {
	ctx, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	found, err := s.ask(ctx, map[string]any{"seq": m.seq})
	switch {
	case err != nil:
		return err
	case found == nil:
		return nil // another process was faster
	case found.ours():
		return errStale
	}
	var answer struct {
		Success bool `json:"success"`
	}
	err = s.request(ctx, "STREAM.MSG.DELETE."+s.layout.name, map[string]any{"seq": m.seq, "no_erase": true}, &answer)
	if err == nil && answer.Success {
		s.log.Warn("removed a message that does not belong to this fleet", "stream", s.layout.name, "subject", m.subject, "sequence", m.seq, "bytes", len(m.data))
		return nil
	}
	if e, ok := errors.AsType[*apiError](err); ok && e.ErrCode == codeNoSequence {
		return nil // another process was faster
	}
	if passes(err) {
		return err
	}
	return fmt.Errorf("%w: message %d on %s does not belong to this fleet, and cannot be removed: %w", store.ErrDamaged, m.seq, m.subject, err)
}

// onlyOurs returns the messages that are ours, and removes the others.
func (s *stream) onlyOurs(ctx context.Context, all []stored) ([]stored, error) {
	kept := all[:0]
	for _, m := range all {
		if m.ours() {
			kept = append(kept, m)
		} else if err := s.removeForeign(ctx, &m); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
