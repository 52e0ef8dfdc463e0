package transcript

import (
	"errors"
	"math"
	"slices"
)

// MaxEntries is how many entries of a conversation an index takes.
const MaxEntries = 1 << 20

// ErrTooLarge means that a transcript has more entries than [MaxEntries].
var ErrTooLarge = errors.New("transcript has too many entries")

// Index is the tree of a session's lines, without the lines: about a hundred
// bytes for each. Fill it with Add or ReadFrom in the order of the file. The zero
// Index is ready. While it is filled it is not safe for concurrent use,
// afterwards it is.
type Index struct {
	Skipped int // lines that could not be read

	hash     *hasher
	count    int
	room     []*[roomSize]Entry // the entries, in the order of the file
	numbers  map[key]int32      // of all ids that an entry has or names; from 1 on
	owners   []int32            // by number: the entry that has the id
	tools    []tool
	texts    []byte // ids of tool calls, one after the other
	rests    []rest
	plain    map[string]int32 // those with nothing but a subtype
	absorbed map[key]bool     // queued prompts that a turn took in
	one      chunk            // for Add
}

// roomSize is how many entries are allocated at once. They never move: a slice
// that grows would leave copies behind.
const roomSize = 256

// none is the index of no entry.
const none = -1

// begin makes an index ready for its first entry.
func (x *Index) begin() {
	if x.hash != nil {
		return
	}
	x.hash = newHasher()
	x.numbers = make(map[key]int32)
	x.owners = []int32{none} // number 0 stands for none
	x.rests = make([]rest, 1)
	x.plain = map[string]int32{"": 0}
	x.absorbed = make(map[key]bool)
}

// Len returns how many entries the index holds.
func (x *Index) Len() int { return x.count }

func (x *Index) entry(i int32) *Entry { return &x.room[i/roomSize][i%roomSize] }

// Add takes the next line of the file, which begins at pos. The index keeps no
// part of it.
func (x *Index) Add(pos int64, line []byte) error {
	x.begin()
	x.one.reset(x.hash)
	x.one.add(pos, line)
	return x.take(&x.one)
}

// take takes over what was read of some lines.
func (x *Index) take(l *chunk) error {
	x.Skipped += l.skipped
	for _, id := range l.absorbed {
		x.absorbed[id] = true
	}
	for i := range l.lines {
		if err := x.put(&l.lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// put takes an entry.
func (x *Index) put(p *parsed) error {
	e := p.Entry
	e.id, e.parent, e.source = x.number(p.uuid), x.number(p.parent), x.number(p.source)
	i := x.owners[e.id]
	if i == none {
		if x.count == MaxEntries {
			return ErrTooLarge
		}
		i = int32(x.count)
		if x.count%roomSize == 0 {
			x.room = append(x.room, new([roomSize]Entry))
		}
		x.owners[e.id] = i
		x.count++
	}
	if err := x.putTools(&e, p.tools); err != nil {
		return err
	}
	e.rest = x.putRest(&p.rest)
	*x.entry(i) = e // what was written last counts
	return nil
}

// number returns the number of an id, 0 for none.
func (x *Index) number(k key) int32 {
	if k == (key{}) {
		return 0
	}
	n, ok := x.numbers[k]
	if !ok {
		n = int32(len(x.owners))
		x.numbers[k] = n
		x.owners = append(x.owners, none)
	}
	return n
}

// at returns the entry that has an id.
func (x *Index) at(k key) (i int32, ok bool) {
	n, ok := x.numbers[k]
	if !ok || x.owners[n] == none {
		return none, false
	}
	return x.owners[n], true
}

// putTools keeps the calls or results of an entry. Of calls it keeps the ids as
// well, to name those that are still open.
func (x *Index) putTools(e *Entry, list []found) error {
	if len(x.tools)+len(list) > math.MaxInt32 || len(x.texts) > math.MaxInt32 {
		return ErrTooLarge
	}
	e.tools, e.toolCount = int32(len(x.tools)), int32(len(list))
	for _, f := range list {
		t := tool{mark: f.mark}
		if !f.result {
			t.begin, t.len = uint32(len(x.texts)), uint32(len(f.id))
			x.texts = append(x.texts, f.id...)
		}
		x.tools = append(x.tools, t)
	}
	return nil
}

// putRest keeps what few entries have.
func (x *Index) putRest(r *rest) int32 {
	plain := *r == rest{subtype: r.subtype}
	if plain {
		if i, ok := x.plain[r.subtype]; ok {
			return i
		}
		x.plain[r.subtype] = int32(len(x.rests))
	}
	x.rests = append(x.rests, *r)
	return int32(len(x.rests) - 1)
}

// Subtype returns the subtype of a system line or an attachment.
func (x *Index) Subtype(e *Entry) string { return x.rests[e.rest].subtype }

// calls returns the tool calls of an entry.
func (x *Index) calls(e *Entry) []tool {
	if e.Kind != Assistant {
		return nil
	}
	return x.tools[e.tools : e.tools+e.toolCount]
}

// results returns the tool results of an entry.
func (x *Index) results(e *Entry) []tool {
	if e.Kind != User {
		return nil
	}
	return x.tools[e.tools : e.tools+e.toolCount]
}

// text returns the id of a call.
func (x *Index) text(call tool) string { return string(x.texts[call.begin : call.begin+call.len]) }

// IsPrompt reports whether an entry is a prompt that was sent in mid-turn and
// that a turn took in. It is in an attachment.
func (x *Index) IsPrompt(e *Entry) bool {
	queued := x.rests[e.rest].queued
	return queued != (key{}) && x.absorbed[queued]
}

// Beside reports whether the line with an id is there and not one of a conversation.
func (x *Index) Beside(conversation []*Entry, uuid string) bool {
	if x.hash == nil {
		return false
	}
	i, ok := x.at(x.hash.key([]byte(uuid)))
	return ok && !slices.Contains(conversation, x.entry(i))
}

// says reports whether an entry is, or holds, the message with an id.
func (x *Index) says(e *Entry, id key) bool {
	return id != (key{}) && (e.id == x.numbers[id] && e.id != 0 || x.rests[e.rest].queued == id)
}
