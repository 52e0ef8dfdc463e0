package transcript

import (
	"bytes"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// MaxLine is how long a line may be. The CLI was seen to write 20 MB.
const MaxLine = 64 << 20

// ErrLine means that a line is not an entry: it is not a JSON object with a type.
var ErrLine = errors.New("not an entry of a transcript")

// Kind is the kind of an entry as far as the conversation is concerned.
type Kind uint8

// The kinds of entries.
const (
	Other Kind = iota // titles, queues, costs and whatever else there will be
	User
	Assistant
	System
	Attachment
	Progress // old CLIs wrote these between the others
)

// Entry is what this package knows of a line. A long session has many, so it is
// small: what several entries have in common they share.
type Entry struct {
	Pos int64 // where the line begins in its file
	Len int   // how long it is, without the line feed

	Kind      Kind
	Sidechain bool // of a sub-agent
	Team      bool // of a teammate
	Meta      bool // for the model only
	Summary   bool // made by a compaction
	Final     bool // an answer that ended its turn

	Subtype string // of System and Attachment entries
	UUID    string
	Parent  string
	nanos   int64 // when it was written, in Unix time; 0 if it is not known

	MessageID string   // of the API, the same for all blocks of an answer
	Calls     []string // ids of the tools that it calls
	Results   []string // ids of the calls that it answers
	Source    string   // the uuid of the assistant line whose call it answers
	Queued    string   // of an attachment: the id of a prompt that was sent in mid-turn
	Deferred  string   // of an attachment: the id of the call that a hook has put off

	kept *kept // what a compaction preserved
	long [2]span
}

// span is where in a line one of its long members has its value. A second
// reader of the line need not look for the end.
type span struct{ begin, end int32 }

// Time returns when the entry was written; zero if it is not known.
func (e *Entry) Time() time.Time {
	if e.nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, e.nanos).UTC()
}

// Type returns the type of the entry, "" if it is not part of a conversation.
func (e *Entry) Type() string {
	for _, k := range kinds {
		if k.kind == e.Kind {
			return k.name
		}
	}
	return ""
}

// kinds are the types of the lines of a conversation.
var kinds = [...]struct {
	name string
	kind Kind
}{{"user", User}, {"assistant", Assistant}, {"system", System}, {"attachment", Attachment}, {"progress", Progress}}

// kept is what a compaction preserved: the messages by id, or the first and the
// last of them, to hang under the anchor.
type kept struct {
	anchor     string
	uuids      []string
	head, tail string
}

// Visible reports whether the entry is shown as a message of the conversation.
func (e *Entry) Visible() bool {
	return (e.Kind == User || e.Kind == Assistant) && !e.Meta && !e.Sidechain && !e.Team
}

// linked reports whether the entry can be part of the conversation.
func (e *Entry) linked() bool { return e.Kind != Other && e.UUID != "" }

// parsed is what is read of a line beside its entry.
type parsed struct {
	Entry
	absorbed string // of a queue operation: the id of the prompt that a turn took in
}

// parse reads a line, in one pass. Of a line that is not part of a conversation
// it reads the type and little else. What it knows already it does not make
// again.
func (x *Index) parse(line []byte) (p parsed, err error) {
	p.Len = len(line)
	m, err := jsonx.Walk(line)
	if err != nil {
		return p, ErrLine
	}
	var kind, compact []byte
	absorbed := false
	final := false
	for {
		name, err := m.Name()
		if err != nil {
			return p, ErrLine
		}
		if name == nil {
			break
		}
		switch string(name) {
		case "message":
			begin := m.Pos()
			final, err = x.readMessage(&m, &p.Entry)
			p.long[0] = span{int32(begin), int32(m.Pos())}
		case "attachment":
			err = x.readAttachment(&m, &p.Entry)
		default:
			var value []byte
			if value, err = m.Value(); err != nil {
				break
			}
			switch string(name) {
			case "type":
				kind = value
			case "toolUseResult":
				p.long[1] = span{int32(m.Pos() - len(value)), int32(m.Pos())}
			case "compactMetadata":
				compact = value
			case "reason":
				absorbed = jsonx.Text(value) == "absorbed_mid_turn"
			case "commandUuid":
				p.absorbed = jsonx.Text(value)
			default:
				x.readMember(&p.Entry, name, value)
			}
		}
		if err != nil {
			return p, ErrLine
		}
	}
	if !p.is(kind) {
		return p, ErrLine
	}
	if !absorbed || p.Kind != Other || jsonx.Text(kind) != "queue-operation" {
		p.absorbed = ""
	}
	p.tidy(final, compact)
	return p, nil
}

// is notes the kind of an entry, and reports whether it has a type at all.
func (e *Entry) is(kind []byte) bool {
	name := kind
	if len(kind) > 2 && kind[0] == '"' && bytes.IndexByte(kind, '\\') < 0 {
		name = kind[1 : len(kind)-1]
	} else if name = []byte(jsonx.Text(kind)); len(name) == 0 {
		return false
	}
	for _, k := range kinds {
		if k.name == string(name) {
			e.Kind = k.kind
		}
	}
	return true
}

// tidy removes what does not belong to the kind of the entry, which is known only
// when all of it was read.
func (e *Entry) tidy(final bool, compact []byte) {
	e.Final = final && e.Kind == Assistant
	if e.Kind != User && e.Kind != Assistant {
		e.MessageID, e.Calls, e.Results = "", nil, nil
	}
	switch {
	case e.Kind == System && e.Subtype == "compact_boundary":
		e.kept = readKept(compact)
	case e.Kind != System && e.Kind != Attachment:
		e.Subtype = ""
	}
	if e.Kind != Attachment {
		e.Queued, e.Deferred = "", ""
	}
}

// readMember reads a member of an entry that needs nothing else.
func (x *Index) readMember(e *Entry, name, value []byte) {
	switch string(name) {
	case "subtype":
		if e.Subtype == "" { // an attachment has its own
			e.Subtype = x.known(value, "compact_boundary", "local_command")
		}
	case "uuid":
		e.UUID = x.text(value)
	case "parentUuid":
		e.Parent = x.id(value)
	case "isSidechain":
		e.Sidechain = isTrue(value)
	case "teamName":
		e.Team = jsonx.Text(value) != ""
	case "isMeta":
		e.Meta = isTrue(value)
	case "isCompactSummary":
		e.Summary = isTrue(value)
	case "timestamp":
		e.nanos = nanosOf(value)
	case "sourceToolAssistantUUID":
		e.Source = x.id(value)
	}
}

// id returns an id of an entry that may have come before.
func (x *Index) id(value []byte) string {
	if len(value) > 2 {
		if i, ok := x.at[string(value[1:len(value)-1])]; ok {
			return x.entries[i].UUID
		}
	}
	return x.text(value)
}

// Texts of an index share memory: there are many, they are short, and they are
// dropped together.
const (
	shortText = 64
	textRoom  = 16 << 10
)

// text returns the value of a JSON string, "" for anything else.
func (x *Index) text(value []byte) string {
	if len(value) < 3 || len(value) > shortText || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return jsonx.Text(value)
	}
	if x.texts.Cap()-x.texts.Len() < len(value) {
		x.texts.Reset() // what was given out keeps the old place
		x.texts.Grow(min(512+x.Len()*shortText, textRoom))
	}
	begin := x.texts.Len()
	x.texts.Write(value[1 : len(value)-1])
	return x.texts.String()[begin:]
}

// list returns a list of one text more.
func (x *Index) list(list []string, value []byte) []string {
	if len(list) > 0 {
		return append(list, x.text(value))
	}
	if len(x.lists) == cap(x.lists) {
		x.lists = make([]string, 0, min(16+x.Len(), 512))
	}
	x.lists = append(x.lists, x.text(value))
	n := len(x.lists)
	return x.lists[n-1 : n : n]
}

// known returns a text that is most often one of a few.
func (x *Index) known(value []byte, words ...string) string {
	if len(value) > 2 {
		for _, w := range words {
			if string(value[1:len(value)-1]) == w {
				return w
			}
		}
	}
	return x.text(value)
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

// readMessage reads what is needed of a message of the API, and whether it ended
// its turn.
func (x *Index) readMessage(outer *jsonx.Members, e *Entry) (final bool, err error) {
	m, ok := outer.Enter('{')
	if !ok {
		_, err := outer.Value()
		return false, err
	}
	synthetic := false
	for {
		name, err := m.Name()
		if err != nil {
			return false, err
		}
		if name == nil {
			outer.Leave(&m)
			return final && !synthetic, nil
		}
		if string(name) == "content" {
			if err := x.readBlocks(&m, e); err != nil {
				return false, err
			}
			continue
		}
		value, err := m.Value()
		if err != nil {
			return false, err
		}
		switch string(name) {
		case "id":
			if e.MessageID = x.known(value, x.answer); e.MessageID != "" {
				x.answer = e.MessageID
			}
		case "model":
			synthetic = string(value) == `"<synthetic>"`
		case "stop_reason":
			final = len(value) > 2 && value[0] == '"' && string(value) != `"tool_use"`
		}
	}
}

// readBlocks notes the calls and results of a message's content.
func (x *Index) readBlocks(outer *jsonx.Members, e *Entry) error {
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
		if err := x.readBlock(&list, e); err != nil {
			return err
		}
	}
}

// readBlock notes the call or result of a block.
func (x *Index) readBlock(outer *jsonx.Members, e *Entry) error {
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
		e.Calls = x.list(e.Calls, id)
	case `"tool_result"`:
		e.Results = x.list(e.Results, answers)
	}
	outer.Leave(&m)
	return nil
}

// readAttachment reads what is needed of an attachment.
func (x *Index) readAttachment(outer *jsonx.Members, e *Entry) error {
	m, ok := outer.Enter('{')
	if !ok {
		_, err := outer.Value()
		return err
	}
	e.Subtype = ""
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
			e.Subtype = x.known(value, "queued_command", "hook_deferred_tool", "prompt_snapshot", "environment", "file", "hook_success")
		case "source_uuid":
			queued = value
		case "toolUseID":
			deferred = value
		}
	}
	switch e.Subtype {
	case "queued_command":
		e.Queued = x.text(queued)
	case "hook_deferred_tool":
		e.Deferred = x.text(deferred)
	}
	outer.Leave(&m)
	return nil
}

// readKept reads what a compaction preserved, nil if it was nothing.
func readKept(compact []byte) *kept {
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
	switch {
	case meta.Messages != nil && len(meta.Messages.UUIDs) > 0:
		return &kept{anchor: meta.Messages.Anchor, uuids: meta.Messages.UUIDs}
	case meta.Segment != nil:
		return &kept{anchor: meta.Segment.Anchor, head: meta.Segment.Head, tail: meta.Segment.Tail}
	}
	return nil
}
