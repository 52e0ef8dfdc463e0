package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// ConversationEvent is something that was said in a conversation, or is being
// said.
type ConversationEvent struct {
	// Cursor is the place behind a stored event, for the next Events. A live event has
	// none.
	Cursor Cursor
	// Message of a stored event is a [*message.User], a [*message.Assistant], a
	// [*message.LocalCommandOutput] with what a slash command has printed for people, the
	// [*message.CompactBoundary] of a compaction, or a [*message.Informational] that says
	// why a hook has ended a turn or blocked its prompt. IsSynthetic marks lines of a user
	// that the CLI wrote and no person did, such as "[Request interrupted by user]". A live
	// message is a [*message.StreamEvent], which begins a content block or adds to it, the
	// [*message.Result] that ends a turn, or a [*message.Status]: with the Status
	// "compacting" the context is being compacted, with a CompactResult or CompactError
	// that has ended.
	Message message.Message
	// Session is the session that it was said in, and Entry its line in the
	// transcript, nil for a live event.
	Session string
	Entry   store.Entry

	// Live means that the event is not from the store. The text comes again as a
	// stored event, unless the answer is cut short: text that is not stored when a
	// result or another answer arrives will never be. It comes after the stored events
	// of the answer before it, even if that one has only called tools, unless they do not
	// come within seconds.
	Live bool
	// Block is the first content block of an answer that the event is about. A
	// stored event takes the place of the live ones with the same block and
	// the same id of the API's message: MessageID of the StreamEvent, ID of
	// the Assistant.
	Block int
	// Offset is how many bytes of the block came in live events before this one.
	Offset int
}

// follow yields events until the loop is left, or returns the error that ends it.
func (r *eventReader) follow(ctx context.Context, c *conversation) error {
	t, end := r.records.store.listen(r.key)
	defer end()
	u, more := c.liveText.now()
	r.comes(u)
	moved := time.Now()
	for seen, last := uint64(0), (time.Time{}); ; {
		// The order matters: the live text is read before the store, so that the store
		// then has everything that was said before a result.
		version, changed := r.records.store.now(t)
		if version != seen || time.Since(last) >= r.pause(moved) {
			seen, last = version, time.Now()
			before := r.at
			if ok, err := r.read(ctx); err != nil || !ok {
				return err
			}
			if r.at != before {
				moved = time.Now()
			}
		}
		if !r.listen(u) {
			return nil
		}
		if !waitFor(ctx, changed, more, r.pause(moved)) {
			return context.Cause(ctx)
		}
		u, more = c.liveText.now()
	}
}

// eventReader reads a conversation.
type eventReader struct {
	records *records
	poll    func() time.Duration
	busy    func() bool // prompts wait; nil: it is not known
	key     string
	yield   func(ConversationEvent, error) bool

	at    position
	lines int         // that were read of the session at the position, including those before it
	place store.Place // in the store, behind them
	marks landmarks   // among them
	// stored is the answer that was last read, with how many of its blocks.
	stored struct {
		answer string
		blocks int
	}
	// past are the last answers before it: frames of another process may arrive late.
	past    []string
	yielded yielded
	// compacted is true if a read has found the boundary of a compaction since the last
	// live events, and was not the first: what was compacted long ago is not what runs.
	compacted bool
	// waits is the answer whose text waits for the one before it.
	waits struct {
		answer string
		since  time.Time
	}
}

// read yields new events; it returns false if the loop was left.
func (r *eventReader) read(ctx context.Context) (more bool, err error) {
	rec, err := r.records.load(ctx, r.key)
	if err != nil {
		return false, err
	}
	sessions := rec.sessions()
	if r.at.session != "" {
		i := slices.Index(sessions, r.at.session)
		if i < 0 {
			return false, &ConversationError{r.key, fmt.Errorf("%w: the cursor belongs to another conversation", store.ErrInvalid)}
		}
		sessions = sessions[i:]
	}
	for _, session := range sessions {
		if session != r.at.session {
			if stored, err := r.begun(ctx, session); err != nil || !stored {
				return err == nil, err
			}
			r.at = position{session: session}
			r.rewind()
		}
		if more, err := r.readSession(ctx); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// begun reports whether the store has anything of a session. Otherwise it may never
// have, and a cursor must not name it.
func (r *eventReader) begun(ctx context.Context, session string) (bool, error) {
	for _, err := range store.Entries(ctx, r.records.store, store.Key{Project: r.records.project, Session: session}) {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}

// readSession yields the new entries of the session at the position, from where it
// stopped.
func (r *eventReader) readSession(ctx context.Context) (more bool, err error) {
	k := store.Key{Project: r.records.project, Session: r.at.session}
	first := r.lines == 0
	if near := r.at.near; r.lines == 0 && near.lines > 0 {
		r.lines, r.place, r.marks.last = near.lines, near.place, near
		if !r.proves(ctx, k, near) {
			r.at.near = landmark{}
			r.rewind()
		}
	}
	for e, err := range r.records.store.Load(ctx, k, r.place) {
		if errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		if err != nil {
			return false, &ConversationError{r.key, err}
		}
		r.lines, r.place = r.lines+1, e.Place
		r.marks.pass(e.Entry, r.lines, r.place)
		if r.lines <= r.at.lines-answerLines {
			continue
		}
		m, line := said(e.Entry)
		block := r.count(m)
		if r.lines <= r.at.lines {
			continue
		}
		r.at.lines, r.at.near = r.lines, r.marks.near(r.lines)
		if _, ok := m.(*message.CompactBoundary); ok {
			r.compacted = !first
		}
		if m != nil && !r.yield(ConversationEvent{Cursor: r.at.cursor(), Message: m, Session: r.at.session, Entry: line, Block: block}, nil) {
			return false, nil
		}
	}
	return true, nil
}

// proves reports whether a landmark is where its cursor expects it: another store than
// this one may have made it.
func (r *eventReader) proves(ctx context.Context, k store.Key, near landmark) bool {
	for e, err := range r.records.store.Load(ctx, k, near.place) {
		return err == nil && lineSum(e.Entry) == near.sum
	}
	return false
}

// rewind reads the session at the position again from its first line.
func (r *eventReader) rewind() { r.lines, r.place, r.marks = 0, 0, landmarks{} }

// answerLines is how many lines before a cursor are searched for the other blocks of an
// answer.
const answerLines = 100

// maxPast is how many answers that were read from the store are remembered.
const maxPast = 64

// count counts the blocks of an answer, which come one per line, and returns the
// number of the first in this line.
func (r *eventReader) count(m message.Message) (block int) {
	a, ok := m.(*message.Assistant)
	if !ok {
		return 0
	}
	if a.ID != r.stored.answer {
		if r.past = append(r.past, r.stored.answer); len(r.past) > maxPast {
			r.past = slices.Delete(r.past, 0, 1)
		}
		r.stored.answer, r.stored.blocks = a.ID, 0
	}
	block = r.stored.blocks
	r.stored.blocks += len(a.Content)
	return block
}

// said returns the message in a line of a transcript and the line, or nil if people see
// nothing of it. A prompt that a running turn took in is in an attachment; it is
// returned as the line of an ordinary prompt. Messages of the CLI to people, and not to
// the model, are returned as on its stream.
func said(e store.Entry) (message.Message, store.Entry) {
	kind := jsonx.Text(jsonx.Member(e, "type"))
	if kind == "attachment" {
		if prompt := transcript.TakenIn(e); prompt != nil {
			kind, e = transcript.PromptType, prompt
		}
	}
	if told := transcript.Told(e); told != nil {
		m, _ := message.Decode(told)
		return m, told
	}
	if kind != "user" && kind != "assistant" || string(jsonx.Member(e, "isMeta")) == "true" {
		return nil, nil
	}
	m, _ := message.DecodeAs(kind, "", e) // a line with odd fields is still a message
	switch m := m.(type) {
	case *message.User:
		m.IsSynthetic = m.IsSynthetic || interruptNote(m)
		return m, e
	case *message.Assistant:
		return m, e
	}
	return nil, nil
}

// interruptNote reports whether a message is the one that the CLI writes when a turn is
// interrupted. Nothing else in its line distinguishes it from a prompt.
func interruptNote(m *message.User) bool {
	text := m.Text()
	return text == "[Request interrupted by user]" || text == "[Request interrupted by user for tool use]"
}

// quietPoll is the longest pause between two reads of a conversation in which nothing
// happens. Prompts that wait and prompts that have ended are looked for in all
// conversations together, and what they cause is announced. So only turns without a
// prompt that another process runs wait for it, if the store announces nothing.
const quietPoll = 5 * time.Minute

// pause returns how long to wait for an announcement before the next read.
func (r *eventReader) pause(moved time.Time) time.Duration {
	if r.busy == nil || r.busy() {
		return r.poll()
	}
	return quietPause(r.poll(), time.Since(moved))
}

// quietPause grows with the time in which nothing has happened, so nothing is noticed
// later than after a tenth of that.
func quietPause(poll, quiet time.Duration) time.Duration {
	return max(poll, min(quiet/10, quietPoll))
}

// waitFor waits for a change of the store or of the live text, at most for the time
// between two polls. It returns false if ctx has ended.
func waitFor(ctx context.Context, changed, more <-chan struct{}, poll time.Duration) bool {
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-more:
	case <-t.C:
	}
	return ctx.Err() == nil
}
