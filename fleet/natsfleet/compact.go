package natsfleet

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A server keeps messages in the order in which they came, in blocks of megabytes. A
// transcript whose messages are far apart costs it a block for each of them, so a
// transcript of many messages is compacted when its conversation goes to sleep.

// usualCompactAt is how many messages a transcript has before it is compacted.
const usualCompactAt = 16

// perMessage lets long transcripts have more of them, to bound the write
// amplification.
const perMessage = 64 << 10

// compactAll rewrites the transcripts that were written to under a lease, in half of
// the time that there is. The rest is left for another time.
func (s *streamed) compactAll(ctx context.Context, f store.Fence, touched map[store.Key]bool) {
	if len(touched) == 0 {
		return
	}
	bound := compactBound
	if deadline, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for k := range touched {
		if err := s.compact(ctx, k, f); err != nil {
			s.log.Debug("a transcript was not written anew", "transcript", k, "error", err)
		}
	}
}

const compactBound = 10 * time.Second

// compact rewrites a transcript as few messages, if it has many.
func (s *streamed) compact(ctx context.Context, k store.Key, f store.Fence) error {
	subject := s.layout.transcript(k.Project, k.Session, k.Sub) + ".e"
	var in info
	if err := s.request(ctx, "STREAM.INFO."+s.layout.name, map[string]any{"subjects_filter": subject}, &in); err != nil {
		return err
	}
	if in.State.Subjects[subject] < uint64(s.compactAt) {
		return nil
	}
	w, err := s.whole(ctx, k)
	if err != nil || w.messages < s.compactAt+w.size()/perMessage {
		return err
	}
	return s.rewrite(ctx, k, f, &w)
}

// rewrite replaces all messages of a transcript by as few as possible, in one atomic
// batch: under a fence, and only if nothing was added since it was read and the session
// was not deleted. The last of them is small, because lists read the last message of
// every transcript.
func (s *streamed) rewrite(ctx context.Context, k store.Key, f store.Fence, w *whole) error {
	subject := s.layout.transcript(k.Project, k.Session, k.Sub) + ".e"
	text := w.text()
	var messages []outgoing
	for size := s.part(); len(text) > 0; {
		n := min(len(text), size)
		messages = append(messages, outgoing{subject: subject, data: text[:n]})
		text = text[n:]
	}
	messages = append(messages, outgoing{subject: subject})
	for i := range messages {
		h := map[string]string{headerRewritten: fmt.Sprintf("%d/%d", i+1, len(messages)), headerToken: strconv.FormatInt(f.Token, 10), headerLease: f.Name}
		if w.archived > 0 {
			h[headerArchived] = strconv.Itoa(w.archived)
		}
		messages[i].header = h
	}
	first, last := &messages[0], &messages[len(messages)-1]
	first.expect, first.last, first.replace = true, w.last.seq, true
	last.header[headerModified] = w.last.modified().UTC().Format(time.RFC3339Nano)
	if w.size() == 0 {
		last.header[headerEmpty] = "1"
	}
	exists := outgoing{subject: s.layout.lease(f.Project, f.Name) + ".d", replace: true, ttl: markTTL}
	s.unlessDeleted(k, &exists)
	_, err := s.change(ctx, f, append([]outgoing{exists}, messages...)...)
	return err
}
