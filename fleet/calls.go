package fleet

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/store"
)

// A call is let go before its line is in the store, because the CLI gathers the lines
// of a transcript for up to 100 ms. If the machine dies in between, the model does not
// know about the call and makes it again. So no call begins before a fenced write has
// recorded it: its line, or else a record, as in a write-ahead log. The process that
// wakes the conversation next informs the model about each call that the transcript
// lacks.
//
// A record does not name the turn that a call belongs to. A CLI begins a turn by itself
// with a prompt that came too late to steer the one before, or when an agent in the
// background has ended; at that moment this process does not know yet which turn runs.
//
// The model learns about a call of a subagent from the agent's final report. An agent
// in the background dies with the machine and reports nothing, so its calls stay in the
// record until the line with its report is stored.

// kindCalls is the kind of the records of calls that were let go, one for each conversation.
const kindCalls = "calls"

// letGo are the calls of a conversation that were let go before the transcript had them.
type letGo struct {
	Calls []calledTool `json:"calls"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// calledTool is a call of a tool, and the digest of its input.
type calledTool struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Digest string `json:"digest"`
	Agent  string `json:"agent,omitzero"` // the subagent that made it
	// Earlier counts the calls of the subagent before this one that are not kept.
	Earlier int `json:"earlier,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// isToldBy reports whether the model learns about a call from a line of its
// conversation: the line has the call, or a note about it, or the report of the
// subagent that made it.
func (c *calledTool) isToldBy(line []byte) bool {
	if mentions(line, inLine(c.ID)) {
		return true
	}
	if c.Agent == "" || !mentions(line, c.Agent) {
		return false
	}
	return bytes.Contains(line, []byte("task-notification")) ||
		bytes.Contains(line, []byte(`"agentId"`)) && !bytes.Contains(line, []byte(`"async_launched"`))
}

// inLine is an id as a line has it. Those of the API need no escapes; those of a gateway
// may.
func inLine(id string) string {
	if !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return id
	}
	text, err := jsonx.Marshal(id)
	if err != nil {
		return id
	}
	return string(text[1 : len(text)-1])
}

// mentions reports whether a line has an id, and not only a longer one that begins with
// it. The byte before an id may be a letter: that of an escape.
func mentions(line []byte, id string) bool {
	for {
		_, rest, found := bytes.Cut(line, []byte(id))
		if !found || len(rest) == 0 || !isIDByte(rest[0]) {
			return found
		}
		line = line[len(line)-len(rest)-len(id)+1:]
	}
}

func isIDByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

// maxAgentCalls is how many calls of one subagent are kept, the last ones. An agent may
// make hundreds, and each call rewrites the record.
const maxAgentCalls = 20

// withCall adds a call to those that are pending.
func withCall(pending []calledTool, c calledTool) []calledTool {
	next := append(slices.Clone(pending), c)
	if c.Agent == "" {
		return next
	}
	is := func(other calledTool) bool { return other.Agent == c.Agent }
	n := 0
	for _, other := range next {
		if is(other) {
			n++
		}
	}
	if n > maxAgentCalls {
		first := slices.IndexFunc(next, is)
		earlier := next[first].Earlier + 1
		next = slices.Delete(next, first, first+1)
		next[slices.IndexFunc(next, is)].Earlier = earlier
	}
	return next
}

// calls are the calls of a conversation that is awake. While one of them is being
// recorded, the session continues to store lines, which note takes in.
type calls struct {
	writing  token         // for reading and writing the record, with the four below
	revision int64         // of the record, 0 if the store has none
	unknown  jsonx.Unknown // members of the record that a newer program has added
	looked   bool          // for calls of an earlier owner
	// unkept returns the pending calls that are recorded only in their
	// questions.
	unkept map[string]bool

	mu sync.Mutex // guards what follows
	// pending are the calls that were let go and that, by the transcript, the model
	// does not know about. The record has them, and maybe more.
	pending []calledTool
	// stored and older are calls whose lines were stored in this turn and in the one
	// before. A line mostly arrives after its call was let go.
	stored, older map[string]bool
}

func newCalls() *calls { return &calls{writing: newToken()} }

// callStore is the store of a session. It notes which calls are in the transcript.
type callStore struct {
	*announcer
	calls  *calls
	newest *newest
}

// Append implements [store.Transcripts].
func (s *callStore) Append(ctx context.Context, k store.Key, b store.Batch) error {
	err := s.announcer.Append(ctx, k, b)
	if err == nil && k.Sub == "" {
		s.calls.note(b.Entries...)
	}
	if err == nil {
		s.newest.note(b.Entries)
	}
	return err
}

// note notes the calls in lines that are stored.
func (c *calls) note(lines ...store.Entry) {
	for _, line := range lines {
		c.mu.Lock()
		c.pending = slices.DeleteFunc(c.pending, func(call calledTool) bool { return call.isToldBy(line) })
		c.mu.Unlock()
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

// begin notes that a turn is about to begin. A CLI that was started to continue a turn,
// or has begun one by itself, may be in the middle of it.
func (c *calls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.older, c.stored = c.stored, nil
}

// untold returns the calls that the model does not know about.
func (c *calls) untold() []calledTool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.pending)
}

// with returns the pending calls and one more, or false if that is not needed because
// the call is in the transcript or already pending. The lock is held.
func (c *calls) with(call calledTool) (next []calledTool, needed bool) {
	is := func(other calledTool) bool { return other.ID == call.ID }
	if call.Agent == "" && (c.stored[call.ID] || c.older[call.ID]) || slices.ContainsFunc(c.pending, is) {
		return nil, false
	}
	return withCall(c.pending, call), true
}

// toWrite returns the record that must be stored before a call begins, or false if the
// call may begin now.
func (c *calls) toWrite(call calledTool) (next []calledTool, needed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.with(call)
}

// written notes a call that the record has. Meanwhile the transcript may have got it,
// and other pending calls.
func (c *calls) written(call calledTool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if next, needed := c.with(call); needed {
		c.pending = next
	}
}

// putCalls writes the record of calls. Its caller has the token.
func (rs *records) putCalls(ctx context.Context, key string, c *calls, next []calledTool, fence store.Fence) error {
	revision, err := rs.put(ctx, kindCalls, place(key), &letGo{next, c.unknown}, c.revision, fence)
	if err == nil {
		c.revision = revision
	}
	return err
}

// readCalls reads the record of the calls that were let go. Its caller has the token.
func (rs *records) readCalls(ctx context.Context, key string, c *calls) ([]calledTool, error) {
	r, err := store.Get(ctx, rs.store, rs.key(kindCalls, place(key)))
	if errors.Is(err, store.ErrNotFound) {
		c.revision, c.unknown = 0, nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var now letGo
	if err := decode(r, &now); err != nil {
		return nil, err
	}
	c.revision, c.unknown = r.Revision, now.Unknown
	return now.Calls, nil
}
