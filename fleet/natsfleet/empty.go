package natsfleet

import (
	"cmp"
	"context"
	"errors"

	"github.com/claude-agent-go/claude/store"
)

// maxUnsure is how often we look again whether a folder is empty, before we assume that
// it is not. A replica may lag behind, and marks of dropped records expire on each
// server by its own clock, so servers can differ for a while.
const maxUnsure = 5

// ifEmpty is a message that the server accepts only if the folder of a change is empty.
//
// The server can compare the last sequence of a whole folder. So the folder is read
// first, from any replica: messages that the replica does not have yet are behind the
// sequence that it names. An owner of a lease remembers the sequence. As long as it is
// still the last one on the server, nothing was put into the folder since.
func (s *records) ifEmpty(ctx context.Context, c store.RecordChange, f store.Fence) (outgoing, error) {
	in := s.layout.record(c.Key.Project, c.Key.Kind, c.IfEmpty) + ".*"
	last, known := s.knownEmpty(in, f)
	if !known {
		var err error
		if last, err = s.emptyUpTo(ctx, in); err != nil {
			return outgoing{}, err
		}
		s.rememberEmpty(in, last, f)
	}
	return s.carrier(c.Key.Project, f, in, last), nil
}

// emptyUpTo returns the sequence of the last message of a folder, 0 if it has none. The
// error is store.ErrConflict if the folder is not empty, and errStale if that is not
// known.
func (s *records) emptyUpTo(ctx context.Context, in string) (last uint64, err error) {
	a, err := s.lastsPage(ctx, []string{in}, 1, 0)
	if errors.Is(err, errMany) {
		return 0, store.ErrConflict // or it was, a moment ago
	}
	if err == nil && a.more {
		err = errStale // it has just been emptied of very much
	}
	if err != nil {
		return 0, err
	}
	for _, m := range a.page {
		last = max(last, m.seq)
		if m.ours() && m.header.Get(headerGone) != "" {
			continue
		}
		now, err := s.last(ctx, m.subject) // the replica may not know that it was dropped
		if err == nil && now != nil && now.header.Get(headerGone) == "" {
			err = store.ErrConflict
		}
		return 0, cmp.Or(err, errStale)
	}
	return last, nil
}
