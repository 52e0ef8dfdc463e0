package transcript

import (
	"cmp"
	"slices"
)

// tree is an index whose links are resolved: by whom each entry is followed.
type tree struct {
	*Index
	parent []int32
}

// links resolves the parents and moves what compactions preserved.
func (x *Index) links() *tree {
	t := &tree{x, make([]int32, x.count)}
	for i := range t.parent {
		t.parent[i] = none
		if p := x.entry(int32(i)).parent; p != 0 {
			t.parent[i] = x.owners[p]
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
	for i := range int32(x.count) {
		if k := x.rests[x.entry(i).rest].kept; k != nil {
			all = append(all, k)
		}
	}
	if most := maxMoves / max(x.count, 1); len(all) > most {
		all = all[len(all)-most:]
	}
	return all
}

// move hangs what a compaction preserved under its anchor, the summary, and what
// else hung there under the last of it. If any of it is missing nothing moves.
func (t *tree) move(k *kept) {
	anchor, ok := t.at(k.anchor)
	if !ok {
		return
	}
	var moved []int32
	if len(k.uuids) > 0 {
		for _, id := range k.uuids {
			i, ok := t.at(id)
			if !ok {
				return
			}
			moved = append(moved, i)
		}
	} else if moved = t.segment(k.head, k.tail); moved == nil {
		return
	}
	own := make(map[int32]bool, len(moved))
	for _, i := range moved {
		own[i] = true
	}
	last := moved[len(moved)-1]
	for i, p := range t.parent {
		if p == anchor && !own[int32(i)] {
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
func (t *tree) segment(head, tail key) []int32 {
	first, ok := t.at(head)
	if !ok {
		return nil
	}
	i, ok := t.at(tail)
	if !ok {
		return nil
	}
	path := t.up(i, func(i int32) bool { return i == first })
	if path[len(path)-1] != first {
		return nil
	}
	slices.Reverse(path)
	return path
}

// up returns the path from i to the root, or to the first entry that is last. It
// ends where it would turn in a circle.
func (t *tree) up(i int32, last func(int32) bool) []int32 {
	var path []int32
	seen := make([]bool, t.count)
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
func mainline(e *Entry) bool { return !e.has(sidechain|team) && e.Kind != Progress }

// leaf returns the entry with which the conversation ends: of those that nothing
// follows the last in the file that has a message above it.
func (t *tree) leaf() int32 {
	followed := make([]bool, t.count)
	for i, p := range t.parent {
		if p != none && mainline(t.entry(int32(i))) {
			followed[p] = true
		}
	}
	spoken := t.spoken()
	best := int32(none)
	for i := int32(t.count) - 1; i >= 0; i-- {
		e := t.entry(i)
		if followed[i] || !mainline(e) {
			continue
		}
		if spoken[i] {
			return i
		}
		if best == none || t.entry(best).has(meta) && !e.has(meta) {
			best = i
		}
	}
	return best
}

// spoken reports for each entry whether it or one above it is a message.
func (t *tree) spoken() []bool {
	const (
		unknown = iota
		walking
		no
		yes
	)
	state := make([]byte, t.count)
	out := make([]bool, t.count)
	var path []int32
	for i := range int32(t.count) {
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
			if k := t.entry(j).Kind; k == User || k == Assistant {
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
// among them system lines and attachments. Entry.Visible reports which are shown
// as messages; IsPrompt which attachments are.
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

// Whole returns a conversation, preceded by everything that compactions have left behind.
// The model has read it, or a summary of it.
func (x *Index) Whole(conversation []*Entry) []*Entry {
	if len(conversation) == 0 || x.Subtype(conversation[0]) != "compact_boundary" {
		return conversation
	}
	agent := conversation[0].has(sidechain) // all lines of a subagent's file are
	kept := make(map[int32]bool, len(conversation))
	for _, e := range conversation {
		kept[e.id] = true
	}
	var before []*Entry
	for i := range int32(x.count) {
		if e := x.entry(i); e.Pos < conversation[0].Pos && !kept[e.id] && (mainline(e) || agent && e.Kind != Progress) {
			before = append(before, e)
		}
	}
	return append(before, conversation...)
}

// Thread returns the entries of a subagent's file: the path to its last message.
func (x *Index) Thread() []*Entry {
	for i := int32(x.count) - 1; i >= 0; i-- {
		if k := x.entry(i).Kind; k == User || k == Assistant {
			t := x.links()
			path := t.up(i, nil)
			slices.Reverse(path)
			return t.collect(path)
		}
	}
	return nil
}

func (x *Index) collect(path []int32) []*Entry {
	out := make([]*Entry, len(path))
	for i, j := range path {
		out[i] = x.entry(j)
	}
	return out
}

// beside puts back what hangs beside the path: an answer is written as a line
// for each block, parallel calls get their results each under its own, and the
// path continues from one of them.
func (t *tree) beside(path []int32) []int32 {
	on := make([]bool, t.count)
	own := make([]bool, t.count) // lines of an answer that is on the path
	last := make(map[mark]int32) // of each answer: its last line on the path
	for _, i := range path {
		on[i] = true
		if e := t.entry(i); e.Kind == Assistant && e.answer != 0 {
			last[e.answer] = i
			own[i] = true
		}
	}
	if len(path) == t.count || len(last) == 0 {
		return path // nothing is beside it
	}
	extra := make(map[int32][]int32) // by the line they follow
	calls := make(map[mark]mark)     // the answers that made them
	for i := range int32(t.count) {
		e := t.entry(i)
		if e.Kind != Assistant || e.has(sidechain) {
			continue
		}
		home, ok := last[e.answer]
		if !ok {
			continue
		}
		if !on[i] {
			own[i] = true
			extra[home] = append(extra[home], i)
		}
		for _, c := range t.calls(e) {
			calls[c.mark] = e.answer
		}
	}
	for i := range int32(t.count) {
		e := t.entry(i)
		if on[i] || !e.Results() || e.has(sidechain) {
			continue
		}
		if answer := t.answers(i, own, calls); answer != 0 {
			extra[last[answer]] = append(extra[last[answer]], i)
		}
	}
	if len(extra) == 0 {
		return path
	}
	var out []int32
	for _, i := range path {
		out = append(out, i)
		more := extra[i]
		slices.SortStableFunc(more, func(a, b int32) int { return cmp.Compare(t.entry(a).nanos, t.entry(b).nanos) })
		out = append(out, more...)
	}
	return out
}

// answers returns the answer whose calls a result belongs to, 0 for none.
func (t *tree) answers(i int32, own []bool, calls map[mark]mark) mark {
	if p := t.parent[i]; p != none && own[p] {
		return t.entry(p).answer
	}
	e := t.entry(i)
	if p := t.owners[e.source]; p != none {
		if own[p] {
			return t.entry(p).answer
		}
		return 0 // of an answer that was repeated elsewhere, with its calls
	}
	for _, r := range t.results(e) {
		if answer := calls[r.mark]; answer != 0 {
			return answer
		}
	}
	return 0
}
