package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Errors of [Index.Cut].
var (
	ErrNoMessage = errors.New("no such message in the conversation")
	ErrEmpty     = errors.New("session has no messages")
)

// Cut returns the entries that a copy of the session needs, in the order of the
// file: the conversation up to and including a message, or all of it if upTo is
// "", and the entries that a compaction left behind before it. Unless deferred
// is set, the copy ends before a call that a hook has deferred: otherwise two
// sessions would ask about the same call, and both would run it.
func (x *Index) Cut(upTo string, deferred bool) ([]*Entry, error) {
	conversation := x.Conversation()
	if !slices.ContainsFunc(conversation, func(e *Entry) bool { return e.Kind == User || e.Kind == Assistant }) {
		return nil, ErrEmpty
	}
	begin := conversation[0].Pos
	if upTo != "" {
		id := x.hash.key([]byte(upTo))
		i := slices.IndexFunc(conversation, func(e *Entry) bool { return x.says(e, id) })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrNoMessage, upTo)
		}
		conversation = conversation[:i+1]
	}
	if !deferred {
		conversation = x.beforeDeferral(conversation)
	}
	if len(conversation) == 0 {
		return nil, ErrEmpty
	}
	kept := make([]bool, len(x.owners))
	for _, e := range conversation {
		kept[e.id] = true
	}
	var out []*Entry
	for i := range int32(x.count) {
		if e := x.entry(i); kept[e.id] || e.Pos < begin && mainline(e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// beforeDeferral cuts a conversation before the answer whose call was deferred
// and has no result.
func (x *Index) beforeDeferral(conversation []*Entry) []*Entry {
	answered := make(map[mark]bool)
	for _, e := range conversation {
		for _, r := range x.results(e) {
			answered[r.mark] = true
		}
	}
	for i, e := range conversation {
		deferred := x.rests[e.rest].deferred
		if deferred == 0 || answered[deferred] {
			continue
		}
		made := func(e *Entry) bool {
			return slices.ContainsFunc(x.calls(e), func(c tool) bool { return c.mark == deferred })
		}
		call := slices.IndexFunc(conversation, made)
		if call < 0 {
			return conversation[:i]
		}
		answer := conversation[call].answer
		return conversation[:slices.IndexFunc(conversation, func(e *Entry) bool {
			return made(e) || answer != 0 && e.answer == answer
		})]
	}
	return conversation
}

// Copy rewrites the lines of a session for another one: every entry gets a new
// id, and every reference to it follows.
type Copy struct {
	From, To string // the sessions
	index    *Index
	ids      []string // by number: the new id, "" for what is left out
	parents  []int32  // by number, of what is left out: what it followed
}

// NewCopy prepares a copy of the entries of an index that Cut returned.
func (x *Index) NewCopy(from, to string, kept []*Entry, newID func() string) *Copy {
	x.begin()
	c := &Copy{From: from, To: to, index: x, ids: make([]string, len(x.owners)), parents: make([]int32, len(x.owners))}
	for _, e := range kept {
		if e.Kind != Progress {
			c.ids[e.id] = newID()
		}
	}
	for i := range int32(x.count) {
		if e := x.entry(i); c.ids[e.id] == "" {
			c.parents[e.id] = e.parent
		}
	}
	return c
}

// parent returns the new id of an entry, or of the nearest one above it that is
// copied; "" if there is none. It remembers the answer for every entry on the
// way.
func (c *Copy) parent(id int32) string {
	var passed []int32
	seen := make(map[int32]bool)
	for id != 0 && c.ids[id] == "" && !seen[id] { // they may lead in a circle
		seen[id] = true
		passed = append(passed, id)
		id = c.parents[id]
	}
	if c.ids[id] == "" {
		id = 0
	}
	for _, p := range passed {
		c.parents[p] = id
	}
	return c.ids[id]
}

// Entry rewrites a line of the conversation. Only the last one gets a new time.
// The result is nil for a line that is not copied.
func (c *Copy) Entry(line []byte, e *Entry, now string) ([]byte, error) {
	if c.ids[e.id] == "" {
		return nil, nil
	}
	uuid := jsonx.Member(line, "uuid")
	if !c.index.is(e, uuid) {
		return nil, ErrLine
	}
	out, err := c.rewrite(line, func(name string, value []byte) ([]byte, bool) {
		switch name {
		case "parentUuid":
			if to := c.parent(e.parent); to != "" {
				return jsonx.AppendText(nil, to), true
			}
			return []byte("null"), true
		case "isSidechain":
			return []byte("false"), true
		case "timestamp":
			if now != "" {
				return jsonx.AppendText(nil, now), true
			}
		case "teamName", "agentName", "sessionKind", "slug", "turnAttributionKey", "forkedFrom":
			return nil, true // of the session that it was copied from
		case "message", "attachment", "toolUseResult", "rendered", "content":
			return value, true // what the model was told stays as it is
		}
		return nil, false
	})
	if err != nil {
		return nil, err
	}
	out = append(out[:len(out)-1], `,"forkedFrom":{"sessionId":`...)
	out = jsonx.AppendText(out, c.From)
	out = append(out, `,"messageUuid":`...)
	out = append(out, uuid...)
	return append(out, "}}"...), nil
}

// Note rewrites a line beside the conversation. The result is nil if the copy
// does not need the line.
func (c *Copy) Note(line []byte) []byte {
	switch note(line) {
	case "queue-operation":
		r := lineReader{hash: c.index.hash}
		if _, err := r.read(line, new(parsed)); err != nil || len(r.absorbed) == 0 {
			return nil // it only records that a prompt came and went
		}
	case "content-replacement", "atis-latch", "tools-used", "data-flow-records", "relocated":
	default:
		return nil
	}
	out, err := c.rewrite(line, func(string, []byte) ([]byte, bool) { return nil, false })
	if err != nil {
		return nil
	}
	return out
}

// rewrite copies an object. Change returns the new value of a member, or nil to
// leave it out; in values that it does not decide about, ids are replaced.
func (c *Copy) rewrite(line []byte, change func(name string, value []byte) ([]byte, bool)) ([]byte, error) {
	return rewrite(line, func(name string, value []byte) ([]byte, error) {
		if to, decided := change(name, value); decided {
			return to, nil
		}
		return c.replace(value), nil
	})
}

// rewrite copies an object. Change returns the new value of a member, nil to leave it out.
func rewrite(line []byte, change func(name string, value []byte) ([]byte, error)) ([]byte, error) {
	m, err := jsonx.Walk(line)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 1, len(line)+256)
	out[0] = '{'
	for {
		name, value, err := m.Next()
		if err != nil {
			return nil, err
		}
		if name == nil {
			return append(out, '}'), nil
		}
		to, err := change(string(name), value)
		if err != nil {
			return nil, err
		}
		if to == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = jsonx.AppendText(out, string(name))
		out = append(out, ':')
		out = append(out, to...)
	}
}

// replace puts the new ids into a value.
func (c *Copy) replace(value []byte) []byte {
	const length = 36
	var out []byte
	for {
		i := bytes.IndexByte(value, '"')
		if i < 0 || len(value)-i < length+2 {
			break
		}
		id := value[i+1 : i+1+length]
		to := c.ids[c.index.numbers[c.index.hash.key(id)]]
		if string(id) == c.From {
			to = c.To
		}
		if to == "" || value[i+1+length] != '"' {
			out = append(out, value[:i+1]...)
			value = value[i+1:]
			continue
		}
		out = append(append(out, value[:i+1]...), to...)
		value = value[i+1+length:]
	}
	return append(out, value...)
}

// Title returns the line that gives a session a title.
func Title(session, title string) []byte {
	return noteLine("custom-title", "customTitle", title, session)
}

// Tag returns the line that tags a session; "" takes the tag away.
func Tag(session, tag string) []byte {
	return noteLine("tag", "tag", tag, session)
}

// Leaf returns the note that names the line with which a conversation ends, for a CLI that finds
// several such lines.
func Leaf(session, uuid string) []byte {
	return noteLine("last-prompt", "leafUuid", uuid, session)
}

// archivedKind is the type of the line that marks a session in a store as
// archived. On disk the mark is a file beside the transcript, and a store has no
// such files; the CLI skips lines of an unknown type.
const archivedKind = "archived"

// Archived returns the line that marks a session as archived, or takes the mark
// away.
func Archived(session string, on bool, now time.Time) []byte {
	at := ""
	if on {
		at = now.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return noteLine(archivedKind, "archivedAt", at, session)
}

// IsAgentNote reports whether a line describes a subagent. On disk that is a file
// beside its transcript.
func IsAgentNote(line []byte) bool { return note(line) == "agent_metadata" }

// noteLine writes a compact line: the CLI does not find a session whose lines
// have blanks.
func noteLine(kind, member, value, session string) []byte {
	b := append([]byte(`{"type":"`), kind...)
	b = append(b, `","`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = jsonx.AppendText(b, value)
	b = append(b, `,"sessionId":`...)
	b = jsonx.AppendText(b, session)
	return append(b, '}')
}
