package natsfleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// stored is a message of the stream.
type stored struct {
	subject string
	seq     uint64
	at      time.Time
	header  nats.Header
	data    []byte
	left    int // how many bytes of data were left out, at least 1 if they were, see lightly
}

// last returns the last message of a subject, nil if there is none. The leader of
// the stream is asked. A deposed leader that does not know it yet may return a
// stale message, so every change based on it is a compare-and-set.
func (s *stream) last(ctx context.Context, subject string) (m *stored, err error) {
	err = s.withRetry(ctx, attemptBound, func(ctx context.Context) error {
		for m, err = s.lastOfAll(ctx, subject); err == nil && m != nil && !m.ours(); m, err = s.lastOfAll(ctx, subject) {
			if err := s.removeForeign(ctx, m); err != nil {
				return err
			}
		}
		return err
	})
	return m, err
}

// lastOfAll returns the last message of a subject, even a foreign one.
func (s *stream) lastOfAll(ctx context.Context, subject string) (*stored, error) {
	return s.ask(ctx, map[string]any{"last_by_subj": subject})
}

// ask asks the leader for a message, nil if there is none.
func (s *stream) ask(ctx context.Context, which map[string]any) (*stored, error) {
	var answer struct {
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	err := s.request(ctx, "STREAM.MSG.GET."+s.layout.name, which, &answer)
	if e, ok := errors.AsType[*apiError](err); ok && e.ErrCode == codeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := answer.Message
	s.horizon.reach(m.Seq)
	out := &stored{subject: m.Subject, seq: m.Seq, at: m.Time, data: m.Data}
	if len(m.Header) > 0 {
		if out.header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			out.header = nil // no fleet wrote it
		}
	}
	return out, nil
}

// collect returns all messages below a prefix, in the order in which they were stored,
// including everything that was stored before the call. Any replica may answer, even
// one that was cut off: so a barrier is stored first, and an answer counts only if it
// contains the barrier.
func (s *stream) collect(ctx context.Context, prefix string) ([]stored, error) {
	all, _, err := s.collectFrom(ctx, prefix, 1, math.MaxInt)
	return all, err
}

// collectFrom is collect without messages of a lower sequence. It also returns the
// sequence of the barrier. If the messages are larger than most in all, their data
// is left out, see lightly.
func (s *stream) collectFrom(ctx context.Context, prefix string, from uint64, most int) ([]stored, uint64, error) {
	return s.behindBarrier(ctx, prefix, from, most, func(ctx context.Context, from uint64) ([]stored, bool, error) {
		return s.page(ctx, prefix+".>", from)
	})
}

// behindBarrier stores a barrier below a prefix, and reads pages until one has it.
func (s *stream) behindBarrier(ctx context.Context, prefix string, from uint64, most int, page func(context.Context, uint64) ([]stored, bool, error)) (all []stored, barrier uint64, err error) {
	room := most
	r := pageReader{
		subject: barrierBelow(prefix),
		store:   func(ctx context.Context) (uint64, error) { return s.barrier(ctx, prefix) },
		page: func(ctx context.Context, from uint64) ([]stored, bool, error) {
			all, more, err := page(ctx, from)
			room = lightly(all, room)
			return all, more, err
		},
	}
	barrier, err = r.store(ctx)
	if err != nil || barrier < from {
		return nil, barrier, err
	}
	err = s.withRetry(ctx, loadBound, func(ctx context.Context) (err error) {
		room = most
		if all, err = r.read(ctx, from, barrier); err == nil {
			all, err = s.onlyOurs(ctx, all)
		}
		return err
	})
	return all, barrier, err
}

// barrier stores a message below a prefix. An answer that contains it is from a server
// that has everything that was stored before.
func (s *stream) barrier(ctx context.Context, prefix string) (uint64, error) {
	return s.write(ctx, outgoing{subject: barrierBelow(prefix), replace: true, ttl: markTTL})
}

// mark stores a message that has no folder. A server that has it has everything that was
// stored before.
func (s *stream) mark(ctx context.Context) (uint64, error) {
	return s.write(ctx, outgoing{subject: s.markSubject(), replace: true, ttl: markTTL})
}

func (s *stream) markSubject() string { return s.layout.name + ".b." + s.id + "." + barrierToken }

// loadBound is how long one attempt to read a transcript may take.
const loadBound = 2 * time.Minute

// markTTL is how long messages stay that matter only for a moment.
const markTTL = time.Minute

// page reads some messages of a filter from a sequence on. Any replica answers.
func (s *stream) page(ctx context.Context, filter string, from uint64) (page []stored, more bool, err error) {
	a, err := s.direct(ctx, map[string]any{"seq": from, "next_by_subj": filter, "batch": pageCount, "max_bytes": pageBytes})
	return a.page, a.more, err
}

// errMany means that more subjects have messages than the server puts into one answer.
var errMany = errors.New("too many subjects for one answer")

// lastOfEach returns the last message of each subject below a prefix, in the order of
// their sequences. The server finds them by its index of subjects, while it looks through
// whole blocks of the stream for messages from a sequence on. Any replica answers.
func (s *stream) lastOfEach(ctx context.Context, prefix string) (page []stored, more bool, err error) {
	a, err := s.direct(ctx, map[string]any{"multi_last": []string{prefix + ".>"}, "max_bytes": pageBytes})
	return a.page, a.more, err
}

// answer is a replica's answer.
type answer struct {
	page []stored
	more bool   // it has not sent everything
	upTo uint64 // the last sequence that it had, if it was asked for the last of several subjects
}

// direct asks any replica for messages. It returns all that the replica has sent, or
// errGap, or errBroken.
func (s *stream) direct(ctx context.Context, ask map[string]any) (answer, error) {
	ctx, end := s.waiting.begin(ctx)
	a, err := s.answerTo(ctx, ask)
	return a, end(err)
}

// answerTo is direct without errBroken.
func (s *stream) answerTo(ctx context.Context, ask map[string]any) (a answer, err error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, boundFor(pageBytes))
	defer cancel()
	r := s.replies.expect()
	defer r.end()
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+s.layout.name, r.subject, body); err != nil {
		return answer{}, err
	}
	for last := uint64(0); ; {
		msg, err := r.next(ctx)
		if err != nil {
			return answer{}, err
		}
		status := msg.Header.Get("Status")
		if serverHeader(msg, "Nats-Subject") != "" {
			status = "" // it is a stored message, whose publisher may have set it
		}
		switch status {
		case "":
			err = follows(msg, last)
		case statusEnd:
			a.more = msg.Header.Get("Nats-Num-Pending") != "0"
			a.upTo, _ = strconv.ParseUint(msg.Header.Get("Nats-UpTo-Sequence"), 10, 64) // 0 without one
			return a, follows(msg, last)
		case statusNotFound:
			if len(a.page) > 0 {
				err = errGap // of another answer
			}
			return answer{}, err
		case statusMany:
			return answer{}, errMany
		case statusNoResponse:
			return answer{}, nats.ErrNoResponders
		default:
			return answer{}, fmt.Errorf("the server answers %s %s", status, msg.Header.Get("Description"))
		}
		m, decodeErr := fromDirect(msg)
		if err := cmp.Or(err, decodeErr); err != nil {
			return answer{}, err
		}
		a.page, last = append(a.page, m), m.seq
		s.horizon.reach(last)
	}
}

// follows checks that a message of an answer comes right after the one with the given
// sequence. If a connection breaks in the middle of an answer and is made again, the
// answer continues with whatever the server sends then, and a part is lost. So the
// server names with each message, and at the end, the one it has sent before; 0 with
// the first.
func follows(msg *nats.Msg, last uint64) error {
	before, err := strconv.ParseUint(serverHeader(msg, "Nats-Last-Sequence"), 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the server does not say what comes before a message", store.ErrDamaged)
	case before != last:
		return errGap
	}
	return nil
}

// fromDirect reads a message as a replica sends it.
func fromDirect(msg *nats.Msg) (stored, error) {
	seq, err := strconv.ParseUint(serverHeader(msg, "Nats-Sequence"), 10, 64)
	at, err2 := time.Parse(time.RFC3339Nano, serverHeader(msg, "Nats-Time-Stamp"))
	if err := errors.Join(err, err2); err != nil {
		return stored{}, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return stored{subject: serverHeader(msg, "Nats-Subject"), seq: seq, at: at, header: msg.Header, data: msg.Data}, nil
}

// serverHeader returns a header that the server has added to a stored message: the last
// of that name, because the server adds it behind those of the publisher.
func serverHeader(msg *nats.Msg, name string) string {
	if all := msg.Header[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// info holds the parts of the stream's state that a store needs.
type info struct {
	Total  int       `json:"total"`
	Offset int       `json:"offset"`
	Limit  int       `json:"limit"`
	Time   time.Time `json:"ts"`
	State  struct {
		LastSeq  uint64            `json:"last_seq"`
		Subjects map[string]uint64 `json:"subjects"`
	} `json:"state"`
}

// subjects returns the subjects of a filter that have messages.
func (s *stream) subjects(ctx context.Context, filter string) ([]string, error) {
	barrier, err := s.mark(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	err = s.withRetry(ctx, attemptBound, func(ctx context.Context) error {
		all = all[:0]
		for offset := 0; ; {
			var in info
			if err := s.request(ctx, "STREAM.INFO."+s.layout.name, map[string]any{"subjects_filter": filter, "offset": offset}, &in); err != nil {
				return err
			}
			if in.State.LastSeq < barrier {
				return errStale
			}
			for subject := range in.State.Subjects {
				all = append(all, subject)
			}
			if offset += len(in.State.Subjects); len(in.State.Subjects) == 0 || offset >= in.Total {
				return nil
			}
		}
	})
	return all, err
}

// lasts returns the last message of each subject that has one.
func (s *stream) lasts(ctx context.Context, subjects []string) (map[string]stored, error) {
	const atOnce = 16
	var (
		mu   sync.Mutex
		out  = make(map[string]stored, len(subjects))
		errs []error
		wg   sync.WaitGroup
		slot = make(chan struct{}, atOnce)
	)
	for _, subject := range subjects {
		slot <- struct{}{}
		wg.Go(func() {
			defer func() { <-slot }()
			m, err := s.last(ctx, subject)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else if m != nil {
				out[subject] = *m
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return out, nil
}

// clock is the time of the server that leads the stream.
func (s *stream) clock(ctx context.Context) (time.Time, error) {
	var in info
	err := s.withRetry(ctx, attemptBound, func(ctx context.Context) error {
		return s.request(ctx, "STREAM.INFO."+s.layout.name, struct{}{}, &in)
	})
	if err != nil {
		return time.Time{}, fail("clock", err)
	}
	return in.Time, nil
}

// lastsNow returns the last messages of subjects below a prefix, by their subjects. Any
// replica may answer: its answer counts if it contains the barrier.
func (s *stream) lastsNow(ctx context.Context, prefix string, subjects []string) (map[string]stored, error) {
	barrier, err := s.barrier(ctx, prefix)
	if err != nil {
		return nil, err
	}
	last := make(map[string]stored, len(subjects))
	ask := map[string]any{"multi_last": append(subjects, barrierBelow(prefix))}
	err = s.withRetry(ctx, loadBound, func(ctx context.Context) error {
		clear(last)
		a, err := s.direct(ctx, ask)
		if err != nil {
			return err
		}
		passed := false
		for _, m := range a.page {
			if !m.ours() {
				return cmp.Or(s.removeForeign(ctx, &m), errStale)
			}
			passed = passed || m.seq >= barrier && m.subject == barrierBelow(prefix)
			last[m.subject] = m
		}
		if a.more || !passed {
			return errStale
		}
		return nil
	})
	return last, err
}
