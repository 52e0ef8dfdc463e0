package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// A call is let go before its line is in the store: the CLI gathers the lines of a
// transcript for up to 100 ms. If the machine dies in between, the model does not know
// of the call and makes it again. So no call begins before a fenced write says so: its
// line, or else a record. The process that takes up the turn tells the model
// of each call that the transcript lacks.
//
// The calls of a subagent have no record: the model reads that the outcome of the call
// which started the agent is unknown.

// kindCalls is the kind of the records of calls that were let go, one for each conversation.
const kindCalls = "calls"

// letGo are the calls of a turn that were let go before their lines were stored.
type letGo struct {
	Prompt string       `json:"prompt"`
	Calls  []calledTool `json:"calls"`
}

// calledTool is a call of a tool, and the digest of its input.
type calledTool struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Digest string `json:"digest"`
}

// calls are the calls of a conversation that is awake.
type calls struct {
	mu       sync.Mutex
	now      letGo // as the store has it
	revision int64
	prompt   string          // whose turn runs
	stored   map[string]bool // calls of its turns whose lines are stored
}

// callStore is the store of a session. It notes which calls are in the transcript.
type callStore struct {
	*announcer
	calls *calls
}

// Append implements [store.Store].
func (s *callStore) Append(ctx context.Context, k store.Key, b store.Batch) error {
	err := s.announcer.Append(ctx, k, b)
	if err == nil {
		s.calls.note(b.Entries)
	}
	return err
}

// note notes the calls in lines that are stored.
func (c *calls) note(lines []store.Entry) {
	for _, line := range lines {
		if !bytes.Contains(line, []byte(`"tool_use"`)) {
			continue
		}
		for block := range jsonx.Elements(jsonx.Member(jsonx.Member(line, "message"), "content")) {
			if jsonx.Text(jsonx.Member(block, "type")) != "tool_use" {
				continue
			}
			c.mu.Lock()
			if c.stored == nil {
				c.stored = make(map[string]bool)
			}
			c.stored[jsonx.Text(jsonx.Member(block, "id"))] = true
			c.mu.Unlock()
		}
	}
}

// begin forgets the calls of the turn before: all of them are stored.
func (c *calls) begin(prompt string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompt, c.stored = prompt, nil
}

// letGo writes down that a call is about to begin, unless its line is stored.
func (w *waking) letGo(ctx context.Context, in *hook.PreToolUseInput) error {
	if in.AgentID != "" {
		return nil
	}
	c := &w.going
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stored[in.ToolUseID] {
		return nil
	}
	next := letGo{Prompt: c.prompt, Calls: []calledTool{{in.ToolUseID, in.ToolName, approval.Digest(in.ToolInput)}}}
	if c.now.Prompt == c.prompt {
		next.Calls = append(slices.DeleteFunc(slices.Clone(c.now.Calls), func(old calledTool) bool { return c.stored[old.ID] }), next.Calls...)
	}
	err := w.f.putCalls(ctx, w.c.key, c, &next, w.lease.Fence)
	if errors.Is(err, store.ErrConflict) { // it is from an earlier owner, whose calls were looked at
		if _, err = w.f.readCalls(ctx, w.c.key, c); err == nil {
			err = w.f.putCalls(ctx, w.c.key, c, &next, w.lease.Fence)
		}
	}
	return err
}

func (f *Fleet) putCalls(ctx context.Context, key string, c *calls, next *letGo, fence store.Fence) error {
	revision, err := f.put(ctx, kindCalls, place(key), next, c.revision, fence)
	if err == nil {
		c.now, c.revision = *next, revision
	}
	return err
}

// readCalls reads the record of the calls that were let go.
func (f *Fleet) readCalls(ctx context.Context, key string, c *calls) (letGo, error) {
	r, err := f.store.GetRecord(ctx, f.recordKey(kindCalls, place(key)))
	if errors.Is(err, store.ErrNotFound) {
		c.now, c.revision = letGo{}, 0
		return c.now, nil
	}
	if err != nil {
		return letGo{}, err
	}
	var now letGo
	if err := decode(r, &now); err != nil {
		return letGo{}, err
	}
	c.now, c.revision = now, r.Revision
	return now, nil
}

// tellLost lets the model learn of the calls of a turn that were let go and that the
// transcript does not have: by a line of the transcript if the turn is continued, and with
// the prompt if that is sent again. Until the transcript has either, the record has the
// calls, also those whose questions end now.
//
// It returns whether the transcript has got a line for it. A deferral would put that line
// on a dead branch.
func (w *waking) tellLost(ctx context.Context, t *history.Transcript, p *queued, state history.PromptState) (told bool, err error) {
	w.untold = nil
	if state != history.Cut && state != history.Unseen {
		return false, nil
	}
	w.going.mu.Lock()
	defer w.going.mu.Unlock()
	now, err := w.f.readCalls(ctx, w.c.key, &w.going)
	if err != nil {
		return false, err
	}
	var lost []calledTool
	if now.Prompt == p.ID {
		lost = slices.Clone(now.Calls)
	}
	known := len(lost)
	for q, err := range w.f.inbox.List(ctx, approval.Filter{Conversation: w.c.key, States: []approval.State{approval.Released}}) {
		if err != nil {
			return false, err
		}
		is := func(c calledTool) bool { return c.ID == q.ToolUseID }
		if q.Agent == "" && q.Tool != approval.ElicitationTool && !slices.ContainsFunc(lost, is) {
			lost = append(lost, calledTool{q.ToolUseID, q.Tool, q.Digest})
		}
	}
	added := len(lost) > known
	if lost, err = missing(ctx, t, lost); err != nil || len(lost) == 0 {
		return false, err
	}
	if state == history.Cut {
		return true, w.appendNote(ctx, lost)
	}
	if added {
		if err := w.f.putCalls(ctx, w.c.key, &w.going, &letGo{p.ID, lost}, w.lease.Fence); err != nil {
			return false, err
		}
	}
	w.untold = lost
	return false, nil
}

// missing returns the calls that no line of a transcript mentions, be it the one with the
// call or a note about it.
func missing(ctx context.Context, t *history.Transcript, all []calledTool) ([]calledTool, error) {
	if t == nil || len(all) == 0 {
		return all, nil
	}
	for e, err := range t.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(c calledTool) bool { return bytes.Contains(e, []byte(c.ID)) })
	}
	return all, nil
}

// noteOf makes the text by which the model learns about calls that it does not remember.
func noteOf(lost []calledTool) string {
	var b strings.Builder
	b.WriteString("The machine failed during this turn. Your tool calls below were started before that and are not in the conversation; whether they ran, and with what outcome, is unknown:\n")
	for _, c := range lost {
		fmt.Fprintf(&b, "- %s (%s)\n", c.Tool, c.ID)
	}
	b.WriteString("Check their effects before you make such a call again.")
	return b.String()
}

// appendNote adds a note to the transcript of a turn that broke off, once however often it
// is tried.
func (w *waking) appendNote(ctx context.Context, lost []calledTool) error {
	key := store.Key{Project: w.f.opts.Project, Session: w.rec.Session}
	var index transcript.Index
	pos, ids := int64(0), make(map[int64]string)
	note := transcript.Note{UUID: uuid.New(), Session: key.Session, Text: noteOf(lost)}
	for e, err := range w.f.store.Load(ctx, key) {
		if err == nil {
			err = index.Add(pos, e)
		}
		if err != nil {
			return err
		}
		ids[pos] = jsonx.Text(jsonx.Member(e, "uuid"))
		pos += int64(len(e)) + 1
		if version := jsonx.Text(jsonx.Member(e, "version")); version != "" {
			note.Version, note.Cwd = version, jsonx.Text(jsonx.Member(e, "cwd"))
		}
	}
	said := index.Conversation()
	if len(said) == 0 {
		return nil
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
	return w.f.store.Append(ctx, key, store.Batch{ID: noteID(lost), Fence: w.lease.Fence, Entries: []store.Entry{line}})
}

// noteID is the id of the batch with a note. It is of one length and one alphabet, however
// many calls there are and whatever a gateway names them.
func noteID(lost []calledTool) string {
	hash := sha256.New()
	for _, c := range lost {
		fmt.Fprintf(hash, "%q", c.ID)
	}
	return fmt.Sprintf("lost-%x", hash.Sum(nil))
}

// tellWithPrompt is a hook that gives the model a note with the prompt that is sent again.
func (w *waking) tellWithPrompt(lost []calledTool) hook.Hook {
	var once sync.Once
	return hook.UserPromptSubmit(func(context.Context, *hook.UserPromptSubmitInput) (out *hook.PromptOutput, err error) {
		once.Do(func() { out = &hook.PromptOutput{AdditionalContext: noteOf(lost)} })
		return out, nil
	})
}
