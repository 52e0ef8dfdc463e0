package s3store

import (
	"context"

	"github.com/claude-agent-go/claude/store"
)

// delete deletes a transcript, or a session with all of them.
func (s *sessions) delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := s.register(ctx, f, headName(k)); err != nil {
		return err
	}
	t, leave, err := s.enter(ctx, k)
	if err != nil {
		return err
	}
	defer leave()
	if k.Sub != "" {
		return s.deleteSub(ctx, t, k, f)
	}
	err = s.change(ctx, t, func(h *head) (bool, error) {
		if err := h.pass(f); err != nil || h.Deleted {
			return h.Deleted, err
		}
		h.Deleted, h.Transcripts = true, nil
		return false, nil
	})
	if err != nil {
		return err
	}
	// From here on no writer can add to the session. A writer that is about to
	// enter it into the index finds that entry changed.
	if _, err := s.put(ctx, indexName(k), nil, anyTag); err != nil {
		return err
	}
	for o, err := range s.list(ctx, partsOf(k)) {
		if err == nil {
			err = s.remove(ctx, *o.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteSub deletes the transcript of a sub-agent. It removes only the parts that
// the head named: another writer may be storing one for a new transcript.
func (s *sessions) deleteSub(ctx context.Context, t *session, k store.Key, f store.Fence) error {
	var parts []part
	err := s.change(ctx, t, func(h *head) (bool, error) {
		if err := h.pass(f); err != nil {
			return false, err
		}
		tr, there := h.Transcripts[k.Sub]
		if !there {
			return true, nil
		}
		parts = tr.Parts
		delete(h.Transcripts, k.Sub)
		return false, nil
	})
	if err != nil {
		return err
	}
	s.keep(t)
	for _, p := range parts {
		if err := s.remove(ctx, partsOf(k)+p.Name); err != nil {
			return err
		}
	}
	return nil
}
