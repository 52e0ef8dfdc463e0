package transcript

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// MaxEntries is how many entries of a conversation an index takes.
const MaxEntries = 1 << 20

// ErrTooLarge means that a transcript has more entries than [MaxEntries].
var ErrTooLarge = errors.New("transcript has too many entries")

// Index is the tree of a session's lines, without the lines. Fill it with Add in
// the order of the file. The zero Index is ready; it is not safe for concurrent
// use.
type Index struct {
	Skipped int // lines that could not be read

	entries  []*Entry
	room     []Entry         // for the next ones
	at       map[string]int  // by uuid
	absorbed map[string]bool // queued prompts that a turn took in
	answer   string          // the last id of a message
	texts    strings.Builder // short texts, one after the other
	lists    []string        // lists of one text each
}

// Add takes the next line of the file, which begins at pos. The index keeps no
// part of it.
func (x *Index) Add(pos int64, line []byte) error {
	e, err := x.parse(line)
	if err != nil {
		x.Skipped++
		return nil
	}
	if e.absorbed != "" {
		if x.absorbed == nil {
			x.absorbed = make(map[string]bool)
		}
		x.absorbed[e.absorbed] = true
	}
	if !e.linked() {
		return nil
	}
	e.Pos = pos
	if i, again := x.at[e.UUID]; again {
		*x.entries[i] = e.Entry // what was written last counts
		return nil
	}
	if len(x.entries) == MaxEntries {
		return ErrTooLarge
	}
	if x.at == nil {
		x.at = make(map[string]int)
	}
	x.at[e.UUID] = len(x.entries)
	if len(x.room) == cap(x.room) {
		x.room = make([]Entry, 0, min(64+len(x.entries), 1024))
	}
	x.room = append(x.room, e.Entry)
	x.entries = append(x.entries, &x.room[len(x.room)-1])
	return nil
}

// Len returns how many entries the index holds.
func (x *Index) Len() int { return len(x.entries) }

// none is the index of no entry.
const none = -1

// tree is an index whose links are resolved: by whom each entry is followed.
type tree struct {
	*Index
	parent []int
}

// links resolves the parents and moves what compactions preserved.
func (x *Index) links() *tree {
	t := &tree{x, make([]int, len(x.entries))}
	for i := range x.entries {
		t.parent[i] = none
		if p, ok := x.at[x.entries[i].Parent]; ok {
			t.parent[i] = p
		}
	}
	for _, k := range x.compactions() {
		t.move(k)
	}
	return t
}

// maxMoves bounds how many entries are looked at to move what compactions
// preserved. A session of a year stays far below it; a file made to be slow
// does not.
const maxMoves = 1 << 28

// compactions returns what compactions preserved, of very many the last ones.
func (x *Index) compactions() []*kept {
	var all []*kept
	for _, e := range x.entries {
		if e.kept != nil {
			all = append(all, e.kept)
		}
	}
	if most := maxMoves / max(len(x.entries), 1); len(all) > most {
		all = all[len(all)-most:]
	}
	return all
}

// move hangs what a compaction preserved under its anchor, the summary, and what
// else hung there under the last of it. If any of it is missing nothing moves.
func (t *tree) move(k *kept) {
	anchor, ok := t.at[k.anchor]
	if !ok {
		return
	}
	var moved []int
	if len(k.uuids) > 0 {
		for _, id := range k.uuids {
			i, ok := t.at[id]
			if !ok {
				return
			}
			moved = append(moved, i)
		}
	} else if moved = t.segment(k.head, k.tail); moved == nil {
		return
	}
	own := make(map[int]bool, len(moved))
	for _, i := range moved {
		own[i] = true
	}
	last := moved[len(moved)-1]
	for i, p := range t.parent {
		if p == anchor && !own[i] {
			t.parent[i] = last
		}
	}
	before := anchor
	for _, i := range moved {
		t.parent[i] = before
		before = i
	}
}

// segment returns the path from head down to tail, nil if there is none.
func (t *tree) segment(head, tail string) []int {
	first, ok := t.at[head]
	if !ok {
		return nil
	}
	i, ok := t.at[tail]
	if !ok {
		return nil
	}
	path := t.up(i, func(i int) bool { return i == first })
	if path[len(path)-1] != first {
		return nil
	}
	slices.Reverse(path)
	return path
}

// up returns the path from i to the root, or to the first entry that is last. It
// ends where it would turn in a circle.
func (t *tree) up(i int, last func(int) bool) []int {
	var path []int
	seen := make([]bool, len(t.entries))
	for i != none && !seen[i] {
		seen[i] = true
		path = append(path, i)
		if last != nil && last(i) {
			break
		}
		i = t.parent[i]
	}
	return path
}

// mainline reports whether an entry can be the end of the conversation.
func mainline(e *Entry) bool { return !e.Sidechain && !e.Team && e.Kind != Progress }

// leaf returns the entry with which the conversation ends: of those that nothing
// follows the last in the file that has a message above it.
func (t *tree) leaf() int {
	followed := make([]bool, len(t.entries))
	for i := range t.entries {
		if p := t.parent[i]; p != none && mainline(t.entries[i]) {
			followed[p] = true
		}
	}
	spoken := t.spoken()
	best := none
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := t.entries[i]
		if followed[i] || !mainline(e) {
			continue
		}
		if spoken[i] {
			return i
		}
		if best == none || t.entries[best].Meta && !e.Meta {
			best = i
		}
	}
	return best
}

// spoken says for each entry whether it or one above it is a message.
func (t *tree) spoken() []bool {
	const (
		unknown = iota
		walking
		no
		yes
	)
	state := make([]byte, len(t.entries))
	out := make([]bool, len(t.entries))
	var path []int
	for i := range t.entries {
		path = path[:0]
		verdict := byte(no)
		for j := i; j != none; j = t.parent[j] {
			if state[j] == no || state[j] == yes {
				verdict = state[j]
				break
			}
			if state[j] == walking { // a circle
				break
			}
			state[j] = walking
			path = append(path, j)
			if k := t.entries[j].Kind; k == User || k == Assistant {
				verdict = yes
				break
			}
		}
		for _, j := range path {
			state[j] = verdict
			out[j] = verdict == yes
		}
	}
	return out
}

// Conversation returns the entries that the CLI would continue, in their order,
// among them system lines and attachments. Entry.Visible says which are shown as
// messages; IsPrompt which attachments are.
func (x *Index) Conversation() []*Entry {
	t := x.links()
	end := t.leaf()
	if end == none {
		return nil
	}
	path := t.up(end, nil)
	slices.Reverse(path)
	return t.collect(t.beside(path))
}

// Thread returns the entries of a sub-agent's file: the path to its last message.
func (x *Index) Thread() []*Entry {
	for i := len(x.entries) - 1; i >= 0; i-- {
		if k := x.entries[i].Kind; k == User || k == Assistant {
			t := x.links()
			path := t.up(i, nil)
			slices.Reverse(path)
			return t.collect(path)
		}
	}
	return nil
}

func (x *Index) collect(path []int) []*Entry {
	out := make([]*Entry, len(path))
	for i, j := range path {
		out[i] = x.entries[j]
	}
	return out
}

// IsPrompt reports whether an entry is a prompt that was sent in mid-turn and
// that a turn took in. It is in an attachment, under the id Queued.
func (x *Index) IsPrompt(e *Entry) bool {
	return e.Queued != "" && x.absorbed[e.Queued]
}

// beside puts back what hangs beside the path: an answer is written as a line
// for each block, parallel calls get their results each under its own, and the
// path continues from one of them.
func (t *tree) beside(path []int) []int {
	on := make([]bool, len(t.entries))
	own := make([]bool, len(t.entries)) // lines of an answer that is on the path
	last := make(map[string]int)        // of each answer: its last line on the path
	for _, i := range path {
		on[i] = true
		if e := t.entries[i]; e.Kind == Assistant && e.MessageID != "" {
			last[e.MessageID] = i
			own[i] = true
		}
	}
	if len(last) == 0 {
		return path
	}
	extra := make(map[int][]int) // by the line they follow
	calls := make(map[string]string)
	for i, e := range t.entries {
		if e.Kind != Assistant || e.Sidechain {
			continue
		}
		home, ok := last[e.MessageID]
		if !ok {
			continue
		}
		if !on[i] {
			own[i] = true
			extra[home] = append(extra[home], i)
		}
		for _, id := range e.Calls {
			calls[id] = e.MessageID
		}
	}
	for i, e := range t.entries {
		if on[i] || e.Kind != User || len(e.Results) == 0 || e.Sidechain {
			continue
		}
		if id := t.answers(i, own, calls); id != "" {
			extra[last[id]] = append(extra[last[id]], i)
		}
	}
	if len(extra) == 0 {
		return path
	}
	var out []int
	for _, i := range path {
		out = append(out, i)
		more := extra[i]
		slices.SortStableFunc(more, func(a, b int) int { return cmp.Compare(t.entries[a].nanos, t.entries[b].nanos) })
		out = append(out, more...)
	}
	return out
}

// answers returns the answer whose calls a result belongs to, "" for none.
func (t *tree) answers(i int, own []bool, calls map[string]string) string {
	if p := t.parent[i]; p != none && own[p] {
		return t.entries[p].MessageID
	}
	e := t.entries[i]
	if p, ok := t.at[e.Source]; ok && own[p] {
		return t.entries[p].MessageID
	}
	for _, id := range e.Results {
		if calls[id] != "" {
			return calls[id]
		}
	}
	return ""
}
