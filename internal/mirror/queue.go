package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// Bounds of a batch, beyond which another one begins.
const (
	maxEntries = 500
	maxBytes   = 1 << 20
)

// maxHeld is how many bytes wait in memory for a slow store. The rest waits in
// the journal.
const maxHeld = 16 << 20

// batch holds the entries that one call stores. It is immutable: its id stands
// for its entries.
type batch struct {
	key    store.Key
	batch  store.Batch // its entries are only in the journal if it was dropped
	bytes  int
	count  uint64 // frames that are stored with it and all before, 0 if that is not a whole number
	inFile bool   // it is in the journal
	place  span   // where in the journal
}

// span is a part of a file.
type span struct{ begin, end int64 }

// group holds the batches of frames that arrived together, with those of one
// transcript in order.
type group []*batch

// add adds entries to the last batch of their transcript, or to a new one.
func (g *group) add(key store.Key, entries []store.Entry) {
	for _, e := range entries {
		b := g.last(key)
		if b == nil || len(b.batch.Entries) >= maxEntries || b.bytes+len(e) > maxBytes {
			b = &batch{key: key, batch: store.Batch{ID: uuid.New()}}
			*g = append(*g, b)
		}
		b.batch.Entries = append(b.batch.Entries, e)
		b.bytes += len(e)
	}
}

// last returns the last batch of a transcript.
func (g group) last(key store.Key) *batch {
	for i := len(g) - 1; i >= 0; i-- {
		if g[i].key == key {
			return g[i]
		}
	}
	return nil
}

// queue are the batches that are not stored, and the journal that has them if
// the store is in trouble.
type queue struct {
	batches []*batch
	journal *store.Journal
	err     error // the last error of the store
	fileErr error // why the journal does not have them all
}

func (q *queue) first() *batch {
	if len(q.batches) == 0 {
		return nil
	}
	return q.batches[0]
}

// whole makes sure that the first batch has its entries.
func (q *queue) whole() error {
	b := q.first()
	if b == nil || b.batch.Entries != nil {
		return nil
	}
	entries, err := readBack(q.journal.Path(), b.place)
	if err != nil {
		return fmt.Errorf("the journal cannot be read: %w", err)
	}
	n := 0
	for _, e := range entries {
		n += len(e)
	}
	if n != b.bytes {
		return fmt.Errorf("the journal cannot be read: %w: %s was changed from outside", store.ErrDamaged, q.journal.Path())
	}
	b.batch.Entries = entries
	return nil
}

// readBack reads the entries of a batch from the journal.
func readBack(path string, at span) ([]store.Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, at.end-at.begin)
	if _, err := f.ReadAt(text, at.begin); err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var entries []store.Entry
	for _, line := range lines[1:] { // behind the line about the batch
		entries = append(entries, line)
	}
	return entries, nil
}

// held is how many bytes of entries are in memory.
func (q *queue) held() (n int) {
	for _, b := range q.batches {
		if b.batch.Entries != nil {
			n += b.bytes
		}
	}
	return n
}

// add adds a group, with which count frames are stored.
func (q *queue) add(g group, count uint64) {
	if len(g) > 0 {
		g[len(g)-1].count = count
	} else if n := len(q.batches); n > 0 {
		q.batches[n-1].count = count
	}
	q.batches = append(q.batches, g...)
}

// pop takes out the first batch, which is stored, and returns how many frames
// are now, 0 if that has not changed.
func (q *queue) pop() (count uint64) {
	count = q.batches[0].count
	q.batches[0] = nil
	q.batches = q.batches[1:]
	if len(q.batches) == 0 {
		q.batches, q.err = nil, nil
	}
	return count
}

// spill writes the batches to the journal that are not there yet. Only the first
// one stays in memory, to be tried again.
func (q *queue) spill(dir string) error {
	q.fileErr = nil
	for i, b := range q.batches {
		if b.inFile {
			continue
		}
		if q.journal == nil {
			if q.journal, q.fileErr = store.CreateJournal(dir, b.key.Session); q.fileErr != nil {
				return q.fileErr
			}
		}
		b.place.begin = q.journal.Size()
		if q.fileErr = q.journal.Append(b.key, b.batch); q.fileErr != nil {
			return q.fileErr
		}
		b.place.end, b.inFile = q.journal.Size(), true
		if i > 0 {
			b.batch.Entries = nil
		}
	}
	return nil
}

// dropJournal removes the journal: everything in it is stored.
func (q *queue) dropJournal() error {
	j := q.journal
	q.journal = nil
	if j == nil {
		return nil
	}
	return j.Remove()
}

// closeJournal leaves the journal to the process that imports it.
func (q *queue) closeJournal() {
	if q.journal != nil {
		_ = q.journal.Close() // every batch in it is on disk
	}
}

// notStored is the error for the entries in the queue.
func (q *queue) notStored(reason error) *store.NotStoredError {
	if q.err != nil {
		reason = q.err
	}
	e := &store.NotStoredError{Err: errors.Join(reason, q.fileErr)}
	if q.journal != nil {
		e.Journal = q.journal.Path()
	}
	return e
}
