package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// What an earlier owner has let go and the model does not know of is found when a
// conversation wakes. The model learns of it by a line of the transcript if its turn is
// continued, and with the next prompt otherwise. Until the transcript has either, the
// record has the calls, however many machines die in between.

// findLost finds the calls of earlier owners that the model does not know of: once, before
// the questions about them and their prompts end.
func (w *waking) findLost(ctx context.Context, now *stored) error {
	c := w.going
	if err := c.writing.take(ctx); err != nil {
		return err
	}
	defer c.writing.give()
	if c.looked {
		return nil
	}
	lost, err := w.f.records.readCalls(ctx, w.c.key, c)
	if err != nil {
		return err
	}
	known := len(lost)
	if slices.ContainsFunc(now.prompts, func(p *queued) bool { return p.Sent }) {
		if lost, err = w.f.asked.withReleased(ctx, w.c.key, lost); err != nil {
			return err
		}
	}
	added := len(lost) > known
	sessions := now.rec.sessions()
	for _, session := range sessions[max(0, len(sessions)-2):] { // it may just have got a new one
		if len(lost) == 0 {
			break
		}
		key := store.Key{Project: w.f.opts.Project, Session: session}
		if lost, err = unknownIn(store.Entries(ctx, w.f.store, key), lost); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	if added && len(lost) > 0 {
		if err := w.f.records.putCalls(ctx, w.c.key, c, lost, w.lease.Fence); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.pending = lost
	c.mu.Unlock()
	c.looked = true
	return nil
}

// unknownIn returns the calls of which the lines of a session tell the model nothing: neither
// what it would continue with, nor what a compaction has left behind. What is on a branch
// that was given up does not count.
func unknownIn(lines iter.Seq2[store.Entry, error], all []calledTool) ([]calledTool, error) {
	var index transcript.Index
	pos, tells := int64(0), make(map[int64][]int)
	for line, err := range lines {
		if err == nil {
			err = index.Add(pos, line)
		}
		if err != nil {
			return all, err
		}
		for i := range all {
			if all[i].isToldBy(line) {
				tells[pos] = append(tells[pos], i)
			}
		}
		pos += int64(len(line)) + 1
	}
	told := make(map[string]bool)
	for _, e := range index.Whole(index.Conversation()) {
		for _, i := range tells[e.Pos] {
			told[all[i].ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c calledTool) bool { return told[c.ID] }), nil
}

// tellCut adds a note to the transcript of a turn that broke off, and reports whether it
// did: if there are calls that the model does not know of, or if the CLI would not continue
// the turn without one, see [continuation].
func (w *waking) tellCut(ctx context.Context, t *history.Transcript) (told bool, err error) {
	lost := w.going.untold()
	if len(lost) == 0 {
		if again, err := endsWithContinuation(t.Entries(ctx)); err != nil || !again {
			return false, err
		}
	}
	return true, w.appendNote(ctx, lost)
}

// noteHead is how a note begins.
const noteHead = "The machine failed while you were at work."

// noteOf makes the text by which the model learns about calls that it does not remember.
func noteOf(lost []calledTool) string {
	if len(lost) == 0 {
		return "The program was restarted while you were at work. Continue with your task."
	}
	var b strings.Builder
	b.WriteString(noteHead + " The tool calls below were started before that and are not in the conversation; whether they ran, and with what outcome, is unknown:\n")
	for _, c := range lost {
		fmt.Fprintf(&b, "- %s (%s)", c.Tool, c.ID)
		if c.Agent != "" {
			fmt.Fprintf(&b, ", by the agent %s, which has ended with the machine", c.Agent)
		}
		if c.Earlier > 0 {
			fmt.Fprintf(&b, ", and %d earlier calls by this agent", c.Earlier)
		}
		b.WriteByte('\n')
	}
	b.WriteString("Check their effects before you make such a call again.")
	return b.String()
}

// isBehindNote reports whether a note stands behind the last of some calls in the lines of a
// conversation. A deferral of the call would hang beside the note, and the conversation
// would continue without it.
func isBehindNote(lines iter.Seq2[json.RawMessage, error], calls []string) (behind bool, err error) {
	for line, err := range lines {
		if err != nil {
			return false, err
		}
		isNote := bytes.Contains(line, []byte(noteHead)) && jsonx.Text(jsonx.Member(line, "type")) == "attachment"
		behind = isNote || behind && !slices.ContainsFunc(calls, func(id string) bool { return mentions(line, id) })
	}
	return behind, nil
}

// appendNote adds a note to the transcript of a turn that broke off, once however often it
// is tried. It stands behind what the CLI is to continue, in the place of the line by which
// an earlier one has tried.
func (w *waking) appendNote(ctx context.Context, lost []calledTool) error {
	key := store.Key{Project: w.f.opts.Project, Session: w.rec.Session}
	var index transcript.Index
	pos, ids, again := int64(0), make(map[int64]string), make(map[int64]bool)
	note := transcript.Note{UUID: uuid.New(), Session: key.Session, Text: noteOf(lost)}
	for e, err := range store.Entries(ctx, w.f.store, key) {
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
	instead := "" // of which line
	if len(said) < len(whole) {
		instead = ids[whole[len(said)].Pos]
	}
	now, err := w.f.store.Now(ctx)
	if err != nil {
		return err
	}
	note.Parent, note.Time = ids[said[len(said)-1].Pos], now
	line, err := note.Line()
	if err != nil {
		return err
	}
	err = w.f.store.Append(ctx, key, store.Batch{ID: noteID(lost, instead), Fence: w.lease.Fence, Entries: []store.Entry{line}})
	if err == nil {
		w.going.note(line)
	}
	return err
}

// noteID is the id of the batch with a note. It is of one length and one alphabet, however
// many calls there are and whatever a gateway names them. A turn may need several notes
// in the place of several lines.
func noteID(lost []calledTool, instead string) string {
	hash := sha256.New()
	for _, c := range lost {
		fmt.Fprintf(hash, "%q", c.ID)
	}
	if instead != "" {
		fmt.Fprintf(hash, "instead of %q", instead)
	}
	return fmt.Sprintf("lost-%x", hash.Sum(nil))
}

// tellWithPrompt is a hook that gives the model a note with the next prompt about calls that
// it still does not know of then.
func (w *waking) tellWithPrompt(lost []calledTool) hook.Hook {
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
