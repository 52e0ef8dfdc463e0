package natsfleet

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// whole is a transcript as far as the stream holds it.
type whole struct {
	batches  []entryBatch
	archived int    // how many entries come before, in the archive
	messages int    // how many it is in
	last     stored // the last of them
}

// entryBatch is a batch of entries.
type entryBatch struct {
	id      string
	entries []store.Entry
}

func (w *whole) entries() []store.Entry {
	var all []store.Entry
	for _, b := range w.batches {
		all = append(all, b.entries...)
	}
	return all
}

// idMark begins a line with the id of a batch, where a message has many of them. An
// entry begins with a brace.
const idMark = "#"

// assemble makes a transcript of messages: it joins parts and leaves out
// duplicates. It returns errStale if a replica does not have all messages of a
// compacted one.
func assemble(all []stored) (w whole, err error) {
	a := assembler{batches: make(map[string]bool), uuids: make(map[string]bool)}
	for _, m := range all {
		if err := a.add(m); err != nil {
			return whole{}, err
		}
	}
	if a.rewriting {
		return whole{}, errStale
	}
	return a.whole, nil
}

type assembler struct {
	whole
	batches, uuids map[string]bool // that were seen
	part           []byte          // of a batch, or of a compacted transcript
	rewriting      bool            // the messages of that are not complete
}

func (a *assembler) add(m stored) error {
	a.messages++
	a.last = m
	id, number, count := m.header.Get(headerID), "", ""
	switch {
	case m.header.Get(headerGone) != "":
		a.reset()
		return nil
	case m.header.Get(headerRewritten) != "":
		if number, count, _ = strings.Cut(m.header.Get(headerRewritten), "/"); number == "1" {
			a.reset()
			a.messages = 1
		}
		a.rewriting = number != count
	case id == "":
		return fmt.Errorf("%w: message %d is not a batch of entries", store.ErrDamaged, m.seq)
	case m.header.Get(headerPart) != "":
		number, count, _ = strings.Cut(m.header.Get(headerPart), "/")
	}
	if number == "1" {
		a.part = nil
	}
	if number != count {
		a.part = append(a.part, m.data...)
		return nil
	}
	data := append(a.part, m.data...)
	a.part = nil
	if id != "" {
		a.batch(id, data)
		return nil
	}
	return a.anew(m, data)
}

// reset drops what came before.
func (a *assembler) reset() {
	a.whole.batches, a.archived, a.part, a.rewriting = nil, 0, nil, false
	clear(a.batches)
	clear(a.uuids)
}

// anew takes the text of a compacted transcript.
func (a *assembler) anew(m stored, data []byte) (err error) {
	if n := m.header.Get(headerArchived); n != "" {
		if a.archived, err = strconv.Atoi(n); err != nil || a.archived < 0 {
			return fmt.Errorf("%w: message %d has %q entries in the archive", store.ErrDamaged, m.seq, n)
		}
	}
	for text := range bytes.SplitSeq(data, []byte("\n"+idMark)) {
		if id, lines, _ := bytes.Cut(text, []byte("\n")); len(id) > 0 {
			a.batch(string(bytes.TrimPrefix(id, []byte(idMark))), lines)
		}
	}
	return nil
}

// batch takes a batch of lines, unless it is known.
func (a *assembler) batch(id string, data []byte) {
	if a.batches[id] {
		return
	}
	a.batches[id] = true
	b := entryBatch{id: id}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		e := store.Entry(line)
		if len(e) == 0 {
			continue // a batch whose entries are known, or in the archive
		}
		if id := e.ID(); id != "" {
			if a.uuids[id] {
				continue
			}
			a.uuids[id] = true
		}
		b.entries = append(b.entries, bytes.Clone(e))
	}
	a.whole.batches = append(a.whole.batches, b)
}

// modified is when a transcript was last appended to, if this is its last message.
func (m *stored) modified() time.Time {
	if at, err := time.Parse(time.RFC3339Nano, m.header.Get(headerModified)); err == nil {
		return at
	}
	return m.at
}

// text is the compacted form of the transcript: each batch after its id. The ids
// stay even when the entries do not: a repeated batch must be recognised.
func (w *whole) text() []byte {
	var out []byte
	for _, b := range w.batches {
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(append(out, idMark...), b.id...)
		for _, e := range b.entries {
			out = append(append(out, '\n'), e...)
		}
	}
	return out
}

// without is the transcript when its entries are in the archive, so many of them.
func (w *whole) without(archived int) *whole {
	out := &whole{archived: archived, messages: w.messages, last: w.last}
	for _, b := range w.batches {
		if !strings.HasPrefix(b.id, onceMark) {
			out.batches = append(out.batches, entryBatch{id: b.id})
		}
	}
	return out
}

// size is how many bytes the entries have.
func (w *whole) size() (n int) {
	for _, b := range w.batches {
		for _, e := range b.entries {
			n += len(e)
		}
	}
	return n
}

// onceMark begins the id of a batch that came without one.
const onceMark = "~"

// newEntries returns the entries of a transcript that are not in known.
func newEntries(all, known []store.Entry) []store.Entry {
	uuids := make(map[string]bool)
	for _, e := range known {
		uuids[e.ID()] = true
	}
	return slices.DeleteFunc(all, func(e store.Entry) bool { id := e.ID(); return id != "" && uuids[id] })
}
