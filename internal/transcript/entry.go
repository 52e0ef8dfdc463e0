package transcript

import (
	"errors"

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

// Entry is what this package knows of a line.
type Entry struct {
	Pos int64 // where the line begins in its file
	Len int   // how long it is, without the line feed

	Kind    Kind
	Type    string
	Subtype string // of System and Attachment entries
	UUID    string
	Parent  string

	Sidechain bool // of a sub-agent
	Team      bool // of a teammate
	Meta      bool // for the model only
	Summary   bool // made by a compaction
	Time      string

	MessageID string   // of the API, the same for all blocks of an answer
	Calls     []string // ids of the tools that it calls
	Results   []string // ids of the calls that it answers
	Source    string   // the uuid of the assistant line whose call it answers
	Final     bool     // an answer that ended its turn
	Queued    string   // of an attachment: the id of a prompt that was sent in mid-turn
	Deferred  string   // of an attachment: the id of the call that a hook has put off

	kept     *kept  // what a compaction preserved
	absorbed string // of a queue operation: the id of the prompt that a turn took in
}

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

// Parse reads a line. Of a line that is not part of a conversation it reads the
// type and little else.
func Parse(line []byte) (Entry, error) {
	e := Entry{Len: len(line)}
	m, err := jsonx.Walk(line)
	if err != nil {
		return e, ErrLine
	}
	var message, attachment, compact []byte
	absorbed := false
	for {
		name, value, err := m.Next()
		if err != nil {
			return e, ErrLine
		}
		if name == nil {
			break
		}
		switch string(name) {
		case "type":
			e.Type = jsonx.Text(value)
		case "subtype":
			e.Subtype = jsonx.Text(value)
		case "uuid":
			e.UUID = jsonx.Text(value)
		case "parentUuid":
			e.Parent = jsonx.Text(value)
		case "isSidechain":
			e.Sidechain = isTrue(value)
		case "teamName":
			e.Team = jsonx.Text(value) != ""
		case "isMeta":
			e.Meta = isTrue(value)
		case "isCompactSummary":
			e.Summary = isTrue(value)
		case "timestamp":
			e.Time = jsonx.Text(value)
		case "sourceToolAssistantUUID":
			e.Source = jsonx.Text(value)
		case "message":
			message = value
		case "attachment":
			attachment = value
		case "compactMetadata":
			compact = value
		case "reason":
			absorbed = jsonx.Text(value) == "absorbed_mid_turn"
		case "commandUuid":
			e.absorbed = jsonx.Text(value)
		}
	}
	if e.Type == "" {
		return e, ErrLine
	}
	if e.Type != "queue-operation" || !absorbed {
		e.absorbed = ""
	}
	switch e.Type {
	case "user":
		e.Kind = User
		e.readMessage(message)
	case "assistant":
		e.Kind = Assistant
		e.readMessage(message)
	case "system":
		e.Kind = System
		if e.Subtype == "compact_boundary" {
			e.kept = readKept(compact)
		}
	case "attachment":
		e.Kind = Attachment
		e.readAttachment(attachment)
	case "progress":
		e.Kind = Progress
	}
	return e, nil
}

func isTrue(value []byte) bool { return string(value) == "true" }

// readMessage reads what is needed of a message of the API.
func (e *Entry) readMessage(message []byte) {
	m, err := jsonx.Walk(message)
	synthetic := false
	for err == nil {
		var name, value []byte
		if name, value, err = m.Next(); name == nil {
			break
		}
		switch string(name) {
		case "id":
			e.MessageID = jsonx.Text(value)
		case "model":
			synthetic = jsonx.Text(value) == "<synthetic>"
		case "stop_reason":
			reason := jsonx.Text(value)
			e.Final = e.Kind == Assistant && reason != "" && reason != "tool_use"
		case "content":
			e.readBlocks(value)
		}
	}
	e.Final = e.Final && !synthetic
}

// readBlocks notes the calls and results of a message's content.
func (e *Entry) readBlocks(content []byte) {
	for block := range jsonx.Elements(content) {
		switch jsonx.Text(jsonx.Member(block, "type")) {
		case "tool_use":
			e.Calls = append(e.Calls, jsonx.Text(jsonx.Member(block, "id")))
		case "tool_result":
			e.Results = append(e.Results, jsonx.Text(jsonx.Member(block, "tool_use_id")))
		}
	}
}

// readAttachment reads what is needed of an attachment.
func (e *Entry) readAttachment(attachment []byte) {
	switch e.Subtype = jsonx.Text(jsonx.Member(attachment, "type")); e.Subtype {
	case "queued_command":
		e.Queued = jsonx.Text(jsonx.Member(attachment, "source_uuid"))
	case "hook_deferred_tool":
		e.Deferred = jsonx.Text(jsonx.Member(attachment, "toolUseID"))
	}
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
