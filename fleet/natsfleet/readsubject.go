package natsfleet

import (
	"context"
	"errors"
	"math"
)

// readSubject returns all messages of a subject, in the order in which they were
// stored, including everything that was stored before the call.
//
// The server finds the messages of one subject by an index, but looks through whole
// blocks of the stream for those below a prefix. A barrier beside them, as collect
// stores it, would cost more with every conversation that the stream knows. So here the
// barrier comes last, and the server accepts it only if the last message that was read
// is still the last. While entries are added faster than that, it is enough to read one
// that was added after the call: the replica which has it has everything before it.
func (s *stream) readSubject(ctx context.Context, subject string) (all []stored, err error) {
	r := subjectReader{
		page: func(ctx context.Context, from uint64) ([]stored, bool, error) { return s.page(ctx, subject, from) },
		barrier: func(ctx context.Context, last uint64) error {
			_, err := s.write(ctx, outgoing{subject: barrierBelow(subject), guard: subject, expect: true, last: last, replace: true, ttl: markTTL})
			return err
		},
		store: func(ctx context.Context) (uint64, error) { return s.barrier(ctx, subject) },
	}
	err = s.withRetry(ctx, loadBound, func(ctx context.Context) (err error) {
		if all, err = r.read(ctx); err == nil {
			all, err = s.onlyOurs(ctx, all)
		}
		return err
	})
	return all, err
}

// subjectReader reads the messages of one subject page by page. Any replica may answer
// with a page, and each with another one.
type subjectReader struct {
	page    func(ctx context.Context, from uint64) (page []stored, more bool, err error) // reads from a sequence on
	barrier func(ctx context.Context, last uint64) error                                 // errMoved if the last message has another sequence
	store   func(context.Context) (seq uint64, err error)                                // stores a barrier in any case
}

// read reads on until the last message that it has is the last one of the subject, or came
// after a barrier. The leader may not show that one yet, so another barrier follows, see
// pageReader.
func (r *subjectReader) read(ctx context.Context) (all []stored, err error) {
	last, passed := uint64(0), uint64(math.MaxUint64)
	for range maxRounds {
		read := len(all)
		for more := true; more; {
			var page []stored
			if page, more, err = r.page(ctx, last+1); err != nil {
				return nil, err
			}
			if len(page) > 0 {
				all, last = append(all, page...), page[len(page)-1].seq
			}
		}
		if last > passed {
			_, err = r.store(ctx)
			return all, err
		}
		if err = r.barrier(ctx, last); !errors.Is(err, errMoved) {
			return all, err
		}
		if len(all) == read {
			break // this replica has nothing new; another one has
		}
		if passed, err = r.store(ctx); err != nil {
			return nil, err
		}
	}
	return nil, errStale
}
