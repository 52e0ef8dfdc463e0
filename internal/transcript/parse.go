package transcript

import (
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// parsed holds what is read of a line that can be part of a conversation.
type parsed struct {
	Entry
	rest
	uuid, parent, source key
	tools                []found // calls or results, in their order
}

// found is a call or result in a line.
type found struct {
	mark   mark
	id     []byte // part of the line, or a copy
	result bool
}

// lineReader reads lines, one after the other. It knows nothing of an index, so
// several can read the lines of a file at the same time.
type lineReader struct {
	hash     *hasher
	line     *parsed // that is being read
	tools    []found // of all lines
	absorbed []key   // the prompts that a turn took in
}

// read reads a line in one pass, and reports whether it can be part of the
// conversation. Of any other line it reads the type and little else.
func (r *lineReader) read(line []byte, p *parsed) (linked bool, err error) {
	r.line = p
	p.Len = int32(len(line))
	before := len(r.tools)
	m, err := jsonx.Walk(line)
	if err != nil {
		return false, ErrLine
	}
	var kind, compact, reason, prompt []byte
	for {
		name, err := m.Name()
		if err != nil {
			return false, ErrLine
		}
		if name == nil {
			break
		}
		switch string(name) {
		case "message":
			err = r.readMessage(&m)
			p.endsAt(0, m.Pos())
		case "attachment":
			err = r.readAttachment(&m)
		default:
			var value []byte
			if value, err = m.Value(); err != nil {
				break
			}
			switch string(name) {
			case "type":
				kind = value
			case "toolUseResult":
				p.endsAt(1, m.Pos())
			case "compactMetadata":
				compact = value
			case "reason":
				reason = value
			case "commandUuid":
				prompt = value
			default:
				r.readMember(name, value)
			}
		}
		if err != nil {
			return false, ErrLine
		}
	}
	name := unquoted(kind)
	if len(name) == 0 {
		return false, ErrLine
	}
	p.Kind = kindOf(name)
	if string(name) == "queue-operation" && string(unquoted(reason)) == "absorbed_mid_turn" {
		if id := r.hash.key(unquoted(prompt)); id != (key{}) {
			r.absorbed = append(r.absorbed, id)
		}
	}
	if p.Kind == Other || p.uuid == (key{}) {
		r.tools = r.tools[:before]
		return false, nil
	}
	p.tools = r.tools[before:]
	r.tidy(compact)
	r.tools = r.tools[:before+len(p.tools)]
	return true, nil
}

// endsAt notes where a long member ends, unless the line has it twice.
func (p *parsed) endsAt(which, end int) {
	if p.ends[which] != 0 {
		end = -1
	}
	p.ends[which] = int32(end)
}

func kindOf(name []byte) Kind {
	for _, k := range kinds {
		if k.name == string(name) {
			return k.kind
		}
	}
	return Other
}

// tidy removes what does not belong to the kind of the entry, which is known only
// when all of it was read.
func (r *lineReader) tidy(compact []byte) {
	p := r.line
	if p.Kind != Assistant {
		p.flags.set(final, false)
	}
	if p.Kind != User && p.Kind != Assistant {
		p.answer = 0
	}
	kept := p.tools[:0]
	for _, t := range p.tools {
		if t.result == (p.Kind == User) && (p.Kind == User || p.Kind == Assistant) {
			kept = append(kept, t)
		}
	}
	p.tools = kept
	p.flags.set(results, p.Kind == User && len(kept) > 0)
	p.flags.set(closing, p.has(closing) && p.has(results))
	switch {
	case p.Kind == System && p.subtype == "compact_boundary":
		p.kept = r.readKept(compact)
	case p.Kind != System && p.Kind != Attachment:
		p.subtype = ""
	}
	if p.Kind != Attachment {
		p.queued, p.deferred = key{}, 0
	}
}

// readMember reads a member of an entry that needs nothing else.
func (r *lineReader) readMember(name, value []byte) {
	p := r.line
	switch string(name) {
	case "subtype":
		if p.subtype == "" { // an attachment has its own
			p.subtype = known(value, "compact_boundary", "local_command")
		}
	case "uuid":
		p.uuid = r.hash.key(unquoted(value))
	case "parentUuid":
		p.parent = r.hash.key(unquoted(value))
	case "sourceToolAssistantUUID":
		p.source = r.hash.key(unquoted(value))
	case "isSidechain":
		p.flags.set(sidechain, isTrue(value))
	case "teamName":
		p.flags.set(team, len(unquoted(value)) > 0)
	case "isMeta":
		p.flags.set(meta, isTrue(value))
	case "isCompactSummary":
		p.flags.set(summary, isTrue(value))
	case "toolEndsTurn":
		p.flags.set(closing, isTrue(value))
	case "timestamp":
		p.nanos = nanosOf(value)
	}
}

// known returns a text that is most often one of a few.
func known(value []byte, words ...string) string {
	text := unquoted(value)
	for _, w := range words {
		if string(text) == w {
			return w
		}
	}
	return string(text)
}

func isTrue(value []byte) bool { return string(value) == "true" }

// nanosOf reads a time, 0 for anything else and for one that an int64 cannot hold.
func nanosOf(value []byte) int64 {
	var t time.Time
	if len(value) < 2 || t.UnmarshalText(value[1:len(value)-1]) != nil || t.Year() < 1700 || t.Year() > 2200 {
		return 0
	}
	return t.UnixNano()
}

// readMessage reads the needed parts of a message of the API.
func (r *lineReader) readMessage(outer *jsonx.Members) error {
	m, ok := outer.Enter('{')
	if !ok {
		_, err := outer.Value()
		return err
	}
	ended, synthetic := false, false
	for {
		name, err := m.Name()
		if err != nil {
			return err
		}
		if name == nil {
			r.line.flags.set(final, ended && !synthetic)
			outer.Leave(&m)
			return nil
		}
		if string(name) == "content" {
			if err := r.readBlocks(&m); err != nil {
				return err
			}
			continue
		}
		value, err := m.Value()
		if err != nil {
			return err
		}
		switch string(name) {
		case "id":
			r.line.answer = r.hash.mark(unquoted(value))
		case "model":
			synthetic = string(value) == `"<synthetic>"`
		case "stop_reason":
			ended = len(value) > 2 && value[0] == '"' && string(value) != `"tool_use"`
		}
	}
}

// readBlocks notes the calls and results of a message's content.
func (r *lineReader) readBlocks(outer *jsonx.Members) error {
	list, ok := outer.Enter('[')
	if !ok {
		_, err := outer.Value()
		return err
	}
	for {
		more, err := list.More()
		if err != nil {
			return err
		}
		if !more {
			outer.Leave(&list)
			return nil
		}
		if err := r.readBlock(&list); err != nil {
			return err
		}
	}
}

// readBlock notes the call or result of a block.
func (r *lineReader) readBlock(outer *jsonx.Members) error {
	m, ok := outer.Enter('{')
	if !ok {
		_, err := outer.Value()
		return err
	}
	var kind, id, answers []byte
	for {
		name, value, err := m.Next()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch string(name) {
		case "type":
			kind = value
		case "id":
			id = value
		case "tool_use_id":
			answers = value
		}
	}
	switch string(kind) {
	case `"tool_use"`:
		r.note(id, false)
	case `"tool_result"`:
		r.note(answers, true)
	}
	outer.Leave(&m)
	return nil
}

// note notes a call or a result.
func (r *lineReader) note(value []byte, result bool) {
	id := unquoted(value)
	r.tools = append(r.tools, found{r.hash.mark(id), id, result})
}

// readAttachment reads the needed parts of an attachment.
func (r *lineReader) readAttachment(outer *jsonx.Members) error {
	m, ok := outer.Enter('{')
	if !ok {
		_, err := outer.Value()
		return err
	}
	p := r.line
	p.subtype = ""
	var queued, deferred []byte
	for {
		name, value, err := m.Next()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch string(name) {
		case "type":
			p.subtype = known(value, "queued_command", "hook_deferred_tool", "prompt_snapshot", "environment", "file", "hook_success")
		case "source_uuid":
			queued = value
		case "toolUseID":
			deferred = value
		}
	}
	switch p.subtype {
	case "queued_command":
		p.queued = r.hash.key(unquoted(queued))
	case "hook_deferred_tool":
		p.deferred = r.hash.mark(unquoted(deferred))
	}
	outer.Leave(&m)
	return nil
}

// readKept reads what a compaction preserved, nil if it was nothing.
func (r *lineReader) readKept(compact []byte) *kept {
	var meta struct {
		Messages *struct {
			Anchor string   `json:"anchorUuid"`
			UUIDs  []string `json:"uuids"`
		} `json:"preservedMessages"`
		Segment *struct {
			Head   string `json:"headUuid"`
			Anchor string `json:"anchorUuid"`
			Tail   string `json:"tailUuid"`
		} `json:"preservedSegment"`
	}
	if len(compact) == 0 || jsonx.Unmarshal(compact, &meta) != nil {
		return nil
	}
	of := func(id string) key { return r.hash.key([]byte(id)) }
	switch m, s := meta.Messages, meta.Segment; {
	case m != nil && len(m.UUIDs) > 0:
		k := &kept{anchor: of(m.Anchor)}
		for _, id := range m.UUIDs {
			k.uuids = append(k.uuids, of(id))
		}
		return k
	case s != nil:
		return &kept{anchor: of(s.Anchor), head: of(s.Head), tail: of(s.Tail)}
	}
	return nil
}
