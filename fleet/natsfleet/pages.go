package natsfleet

import (
	"context"
	"github.com/nats-io/nats.go"
)

// pageReader reads messages page by page. Any replica may answer with a page, and each
// with another one: a page has everything that its replica had at that moment, and some
// replicas lag behind others.
type pageReader struct {
	subject string                                                                       // of the barriers
	store   func(context.Context) (seq uint64, err error)                                // stores a barrier
	page    func(ctx context.Context, from uint64) (page []stored, more bool, err error) // reads from a sequence on
}

// maxRounds is how often more may have arrived than fits into a page.
const maxRounds = 10

// read reads from a sequence on, everything that was there when the barrier was stored.
//
// A message that is replaced meanwhile must not be missed: the page where it was may
// come from a replica that has replaced it, and the page where its replacement is from
// one that has not. So after several pages another barrier is stored, and the messages
// up to it are also read, until they fit in a single page. The replica that sends it
// has everything that the others had.
//
// That replica may also have messages that the leader does not show yet. A prompt that
// is gone from its queue would then have no outcome for a reader who asks the leader
// for it. So a page that shows more than the barrier is followed by another barrier:
// the leader accepts it only once it has all of that itself.
func (r *pageReader) read(ctx context.Context, from, barrier uint64) (all []stored, err error) {
	for range maxRounds {
		pages := 0
		if all, from, pages, err = r.upTo(ctx, all, from, barrier); err != nil {
			return nil, err
		}
		ahead := len(all) > 0 && all[len(all)-1].seq > barrier
		if pages == 1 && !ahead {
			return all, nil
		}
		if barrier, err = r.store(ctx); err != nil || pages == 1 {
			return all, err
		}
	}
	return nil, errStale // it grows faster than it is read
}

// upTo adds the messages from a sequence on, at least up to a barrier or a later one.
// Messages behind it also count: they may replace something that was removed before it
// could be read.
func (r *pageReader) upTo(ctx context.Context, all []stored, from, barrier uint64) (more []stored, next uint64, pages int, err error) {
	passed := false
	for next = from; ; {
		page, further, err := r.page(ctx, next)
		if err != nil {
			return nil, 0, 0, err
		}
		pages++
		for _, m := range page {
			if !isBarrier(m.subject) {
				all = append(all, m)
			} else if m.seq >= barrier && m.subject == r.subject {
				passed = true
			}
			next = m.seq + 1
		}
		switch {
		case further:
		case passed:
			return all, next, pages, nil
		default:
			return nil, 0, 0, errStale
		}
	}
}

// headerBytes is about how many bytes the headers of a message take.
const headerBytes = 1 << 10

// lightly drops the data and most of the headers of the messages that do not fit into
// room. It returns how much room is left.
func lightly(page []stored, room int) int {
	for i := range page {
		m := &page[i]
		if room -= len(m.data) + headerBytes; room >= 0 || !m.ours() {
			continue // a message that is not ours is removed, and its size is logged
		}
		m.left, m.data = max(len(m.data), 1), nil
		all := m.header
		m.header = make(nats.Header)
		for _, name := range []string{headerNonce, headerGone} {
			if value := all.Get(name); value != "" {
				m.header.Set(name, value)
			}
		}
	}
	return room
}
