package natsfleet

import (
	"context"
	"errors"
	"slices"
)

// errMany means that more subjects have messages than the server puts into one answer.
var errMany = errors.New("too many subjects for one answer")

// lastOfEach returns the last message of each subject below a prefix, in the order of
// their sequences. The server finds them by its index of subjects, while it looks through
// whole blocks of the stream for messages from a sequence on. Any replica answers.
func (s *Store) lastOfEach(ctx context.Context, prefix string) (page []stored, more bool, err error) {
	a, err := s.direct(ctx, map[string]any{"multi_last": []string{prefix + ".>"}, "max_bytes": pageBytes})
	return a.page, a.more, err
}

// lastFrom is collectFrom for records: only the last message of each counts. A
// foreign message may hide the record's own, so where it meets one it reads all.
func (s *Store) lastFrom(ctx context.Context, prefix string, from uint64) ([]stored, uint64, error) {
	return s.behindBarrier(ctx, prefix, from, s.scanBytes, func(ctx context.Context, from uint64) ([]stored, bool, error) {
		if from == 1 {
			page, more, err := s.lastOfEach(ctx, prefix)
			foreign := slices.ContainsFunc(page, func(m stored) bool { return !m.ours() })
			if !foreign && !errors.Is(err, errMany) {
				return page, more, err
			}
		}
		return s.page(ctx, prefix+".>", from)
	})
}
