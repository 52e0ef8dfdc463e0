package transcript

import (
	"errors"
	"time"
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

// Entry is the part of a line that an index keeps. A long session has many, so an
// entry is small, and holds no pointers that the garbage collector would have to
// follow: ids are numbers or marks, and rare data are kept apart.
type Entry struct {
	Pos   int64 // where the line begins in its file
	nanos int64 // when it was written, in Unix time; 0 if it is not known
	Len   int32 // how long it is, without the line feed

	id, parent int32 // the numbers of its own id and of the one before it
	source     int32 // of a tool result: the assistant line that it answers
	answer     mark  // the message of the API, the same for all its lines
	tools      int32 // where its tool calls or results begin
	toolCount  int32
	rest       int32    // what few entries have
	ends       [2]int32 // where in the line its long members end; 0 if not known

	Kind  Kind
	flags flags
}

// flags are the boolean properties of an entry.
type flags uint8

const (
	sidechain flags = 1 << iota // of a subagent
	team                        // of a teammate
	meta                        // for the model only
	summary                     // made by a compaction
	final                       // an answer that ended its turn
	results                     // of the user: it has tool results
	closing                     // of the user: the result of a tool that ended the turn
)

// set sets a flag, or takes it away.
func (f *flags) set(flag flags, on bool) {
	if *f &^= flag; on {
		*f |= flag
	}
}

func (e *Entry) has(f flags) bool { return e.flags&f != 0 }

// Sidechain reports whether the entry is a subagent's.
func (e *Entry) Sidechain() bool { return e.has(sidechain) }

// Summary reports whether a compaction made the entry.
func (e *Entry) Summary() bool { return e.has(summary) }

// Results reports whether the entry is a message with results of tools.
func (e *Entry) Results() bool { return e.has(results) }

// rest holds data that few entries have. Entries with nothing but the same subtype
// share it.
type rest struct {
	subtype  string // of System and Attachment entries
	queued   key    // of an attachment: the id of a prompt that was sent in mid-turn
	deferred mark   // of an attachment: the call that a hook has put off
	kept     *kept  // what a compaction preserved
}

// tool is a call of an assistant's entry, or a result of a user's.
type tool struct {
	mark  mark
	begin uint32 // of a call: where its id is among the texts
	len   uint32
}

// The long members of a line. A second reader of the line need not look for
// their ends.
var longMembers = [2]string{"message", "toolUseResult"}

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

// kept names the messages that a compaction preserved: by their ids, or by the
// first and the last of them, to hang under the anchor.
type kept struct {
	anchor     key
	uuids      []key
	head, tail key
}

// Visible reports whether the entry is shown as a message of the conversation.
func (e *Entry) Visible() bool {
	return (e.Kind == User || e.Kind == Assistant) && !e.has(meta|sidechain|team)
}
