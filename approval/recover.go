package approval

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// ErrNotWaiting means that a question cannot become a deferral, because the
// transcript does not break off at its call, or because a call of its kind
// cannot be deferred.
var ErrNotWaiting = errors.New("is not what the transcript waits for")

// Recover turns a question whose process was killed while it waited into a
// deferral. The transcript of such a session ends with the call; Recover adds
// the line by which the CLI knows a deferred call, so that the session, resumed
// behind a gate, asks about the same call again. It needs a CLI that can defer,
// and is checked with 2.1.325.
//
// The session must not be running. Recover is idempotent, and leaves a decided
// question decided. If the transcript has moved on, the error matches
// [ErrNotWaiting]: withdraw the question. A question that was released or is over
// is a [*StateError]. With a fence, Recover is refused in the same cases as an
// append.
//
// A fleet calls it for its conversations.
func (qs *Questions) Recover(ctx context.Context, s store.Transcripts, session store.Key, id string, f store.Fence) (Question, error) {
	q, err := qs.Get(ctx, id)
	if err != nil {
		return q, err
	}
	if q.State != StateOpen && q.State != StateDecided {
		return q, &StateError{ID: id, State: q.State, Want: StateOpen}
	}
	if q.HoldsProcess {
		return q, about(id, ErrNotWaiting)
	}
	line, err := qs.marker(ctx, s, session, &q)
	if err != nil {
		return q, about(id, err)
	}
	if line != nil {
		// The batch id makes retries idempotent.
		b := store.Batch{ID: "deferral-" + id, Fence: f, Entries: []store.Entry{line}}
		if err := s.Append(ctx, session, b); err != nil {
			return q, about(id, err)
		}
	}
	return qs.change(ctx, id, f, func(q *Question, _ time.Time) error {
		if q.Deferred {
			return errUnchanged
		}
		q.Deferred = true
		return nil
	})
}

// marker makes the line that defers the call of a question, nil if the transcript
// has it.
func (qs *Questions) marker(ctx context.Context, s store.Transcripts, session store.Key, q *Question) ([]byte, error) {
	var index transcript.Index
	m := transcript.Marker{UUID: uuid.New(), Session: session.Session, ToolUseID: q.ToolUseID, Tool: q.Tool, Input: q.Input}
	pos := int64(0)
	ids := make(map[int64]string) // of the lines that may have made the call
	for e, err := range store.Entries(ctx, s, session) {
		if err == nil {
			err = index.Add(pos, e)
		}
		if err != nil {
			return nil, err
		}
		if bytes.Contains(e, []byte(q.ToolUseID)) {
			ids[pos] = jsonx.Text(jsonx.Member(e, "uuid"))
		}
		pos += int64(len(e)) + 1
		if version := jsonx.Text(jsonx.Member(e, "version")); version != "" {
			m.Version, m.Cwd = version, jsonx.Text(jsonx.Member(e, "cwd"))
		}
	}
	call, deferred, waits := index.OpenCall(index.Conversation(), q.ToolUseID)
	if !waits {
		return nil, ErrNotWaiting
	}
	if deferred {
		return nil, nil
	}
	now, err := qs.records.Now(ctx)
	if err != nil {
		return nil, err
	}
	m.Parent, m.Time = ids[call.Pos], now
	return m.Line()
}
