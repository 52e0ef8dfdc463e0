package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// callGate lets calls of tools begin. It records each of them first, and lets the model
// know about those that an earlier owner has let go.
type callGate struct {
	tenure
	going *calls
}

// guard is the hook that lets no tool begin while the ownership of the conversation is
// in doubt. A fence keeps a process that has lost the lease from writing to the store,
// but not from writing anywhere else. A suspended process answers no hook.
func (w *callGate) guard(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if !w.lease.Sure() {
		return hook.DenyTool("This conversation may be run by another process now. The call was not made."), nil
	}
	return nil, nil
}

// release is asked last about a call that nothing objects to. It records the call.
func (w *callGate) release(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if out, err := w.guard(ctx, in); out != nil || err != nil {
		return out, err
	}
	return nil, w.letGo(ctx, in)
}

// letGo records that a call is about to begin, unless it is in the transcript.
func (w *callGate) letGo(ctx context.Context, in *hook.PreToolUseInput) error {
	c := w.going
	call := calledTool{ID: in.ToolUseID, Tool: in.ToolName, Digest: approval.Digest(in.ToolInput), Agent: in.AgentID}
	if _, needed := c.toWrite(call); !needed {
		return nil
	}
	if err := c.writing.take(ctx); err != nil {
		return err
	}
	defer c.writing.give()
	next, needed := c.toWrite(call)
	if !needed {
		return nil
	}
	err := w.records.putCalls(ctx, w.c.key, c, next, w.lease.Fence)
	if errors.Is(err, store.ErrConflict) { // a write of our own whose reply was lost
		if _, err = w.records.readCalls(ctx, w.c.key, c); err == nil {
			err = w.records.putCalls(ctx, w.c.key, c, next, w.lease.Fence)
		}
	}
	if err == nil {
		c.written(call)
	}
	return err
}

// forgetCalls drops the record when a conversation falls asleep and the model knows
// about all calls: otherwise the next owner would have to read the whole transcript.
func (w *callGate) forgetCalls() {
	c := w.going
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), askBound)
	defer cancel()
	if c.writing.take(ctx) != nil {
		return // its record stays
	}
	defer c.writing.give()
	if !c.looked || c.revision == 0 || len(c.untold()) > 0 || w.lease.isLost() {
		return
	}
	err := store.Drop(ctx, w.store, w.records.key(kindCalls, place(w.c.key)), c.revision, w.lease.Fence)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
		w.opts.Logger.Debug("the record of calls stays until the next sleep", "conversation", w.c.key, "error", err)
	}
}

// findLost finds the calls of earlier owners that the model does not know about: once,
// before the questions about them and their prompts end. It is given those that were let
// go as their questions record, if a CLI may have seen a prompt.
func (w *callGate) findLost(ctx context.Context, released []calledTool) error {
	c := w.going
	if err := c.writing.take(ctx); err != nil {
		return err
	}
	defer c.writing.give()
	if c.looked {
		return nil
	}
	lost, err := w.records.readCalls(ctx, w.c.key, c)
	if err != nil {
		return err
	}
	unkept := make(map[string]bool)
	for _, r := range released {
		if !slices.ContainsFunc(lost, func(c calledTool) bool { return c.ID == r.ID }) {
			lost, unkept[r.ID] = append(lost, r), true
		}
	}
	sessions := w.rec.sessions()
	for _, session := range sessions[max(0, len(sessions)-2):] { // it may just have got a new one
		if len(lost) == 0 {
			break
		}
		key := store.Key{Project: w.opts.Project, Session: session}
		if lost, err = unknownIn(store.Entries(ctx, w.store, key), lost); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	c.mu.Lock()
	c.pending = lost
	c.mu.Unlock()
	c.looked, c.unkept = true, unkept
	return nil
}

// keepLost puts lost calls on record that only their questions had.
func (w *callGate) keepLost(ctx context.Context) error {
	c := w.going
	if err := c.writing.take(ctx); err != nil {
		return err
	}
	defer c.writing.give()
	c.looked = false // after a failure the record is read again
	if err := w.records.putCalls(ctx, w.c.key, c, c.untold(), w.lease.Fence); err != nil {
		return err
	}
	c.looked, c.unkept = true, nil
	return nil
}

// appendNote adds a note to the transcript of a turn that broke off, about calls that the
// model does not know about, or because the CLI would not continue the turn without one,
// see [continuation]. It is idempotent.
// The note follows the messages that the CLI is to continue, and replaces the line by
// which an earlier CLI tried to.
func (w *callGate) appendNote(ctx context.Context, lost []calledTool) error {
	key := store.Key{Project: w.opts.Project, Session: w.rec.Session}
	var index transcript.Index
	pos, ids, again := int64(0), make(map[int64]string), make(map[int64]bool)
	note := transcript.Note{UUID: uuid.New(), Session: key.Session, Text: noteOf(lost)}
	for e, err := range store.Entries(ctx, w.store, key) {
		if err == nil {
			err = index.Add(pos, e)
		}
		if err != nil {
			return err
		}
		ids[pos], again[pos] = jsonx.Text(jsonx.Member(e, "uuid")), isContinuation(e)
		pos += int64(len(e)) + 1
		if version := jsonx.Text(jsonx.Member(e, "version")); version != "" {
			note.Version, note.Cwd = version, jsonx.Text(jsonx.Member(e, "cwd"))
		}
	}
	whole := index.Conversation()
	said := beforeContinuation(whole, func(e *transcript.Entry) bool { return again[e.Pos] })
	if len(said) == 0 {
		return nil
	}
	instead := "" // the line that the note replaces
	if len(said) < len(whole) {
		instead = ids[whole[len(said)].Pos]
	}
	now, err := w.store.Now(ctx)
	if err != nil {
		return err
	}
	note.Parent, note.Time = ids[said[len(said)-1].Pos], now
	line, err := note.Line()
	if err != nil {
		return err
	}
	err = w.store.Append(ctx, key, store.Batch{ID: noteID(lost, instead), Fence: w.lease.Fence, Entries: []store.Entry{line}})
	if err == nil {
		w.going.note(line)
	}
	return err
}

// tellWithPrompt is a hook that adds a note to the next prompt, about calls that the
// model still does not know about by then.
func (w *callGate) tellWithPrompt(lost []calledTool) hook.Hook {
	var once sync.Once
	return hook.UserPromptSubmit(func(context.Context, *hook.UserPromptSubmitInput) (out *hook.PromptOutput, err error) {
		once.Do(func() {
			untold := w.going.untold()
			still := slices.DeleteFunc(slices.Clone(lost), func(c calledTool) bool {
				return !slices.ContainsFunc(untold, func(u calledTool) bool { return u.ID == c.ID })
			})
			if len(still) > 0 {
				out = &hook.PromptOutput{AdditionalContext: noteOf(still)}
			}
		})
		return out, nil
	})
}
