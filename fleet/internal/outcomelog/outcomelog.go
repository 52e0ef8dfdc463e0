// Package outcomelog numbers the outcomes of all conversations of a project, so that a
// reader can keep a number and continue there.
//
// Many processes end prompts at the same time, and none of them can know a number: a
// shared counter would make every turn wait for all others, and a number or a time that
// is taken before it is written may be overtaken by a later one, which a reader then
// believes to be the end. So it takes two steps:
//
//   - The process that ends a prompt writes a mark, together with the outcome and before
//     the prompt leaves the queue. Marks have no order, and need none.
//   - The process that reads the log, or cleans it up, collects the marks: it appends them
//     to the last page by compare-and-set, and removes them in the same change, or after
//     it if the store has no atomic changes.
//
// That cannot lose an outcome, however many write at the same time and wherever a
// process dies. An outcome has its mark, or its prompt is in the queue, and the process
// that takes the prompt out writes the mark first. A mark goes only when it is in a
// page. The place of an entry is its position in the page: pages are append-only, one
// writer at a time, so nothing ever appears before a place that a reader has reached.
// In a store without atomic changes, a crash between the two can put an entry into the
// log twice.
//
// The argument needs no clock and no lease. Times only order marks that were found
// together.
package outcomelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

// The kinds of records.
const (
	KindMark = "ended"      // an end that is not in the log yet
	KindLog  = "outcomelog" // the log
)

const (
	headName   = "head"
	pageFolder = "page"
	// pageSize is how many entries a page has. It is part of the form of the log.
	pageSize = 64
)

// ErrTooOld means that a place is before the oldest entry that is kept.
var ErrTooOld = errors.New("the log no longer goes back so far")

// Entry is an event of a prompt or a conversation. It holds nothing that was said,
// because it outlives the conversation.
type Entry struct {
	Key    string    `json:"key"`             // of the conversation
	Prompt string    `json:"prompt,omitzero"` // empty: the conversation was deleted
	Status string    `json:"status,omitzero"` // of the prompt
	At     time.Time `json:"at"`
	// Token is that of the lease under which it was written, 0 without one. Number
	// counts the entries of its process. Together they order the events of a
	// conversation.
	Token  int64 `json:"token,omitzero"`
	Number int64 `json:"number,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// compare orders the entries of a conversation. An owner writes one after another, and
// each owner has a higher fencing token than those before. An entry without a lease
// belongs to a prompt that was cancelled before it began.
func (e *Entry) compare(o *Entry) int {
	byTime := 0
	if e.Token == 0 {
		byTime = e.At.Compare(o.At)
	}
	return cmp.Or(cmp.Compare(e.Token, o.Token), byTime, cmp.Compare(e.Number, o.Number))
}

// is reports whether both are from the same mark.
func (e *Entry) is(o *Entry) bool {
	return e.Key == o.Key && e.Prompt == o.Prompt && e.Status == o.Status && e.Token == o.Token && e.Number == o.Number && e.At.Equal(o.At)
}

// Log is the log of a project. Its methods may be called from any goroutine, and from
// several processes at once.
type Log struct {
	store   store.Records
	project string
	numbers atomic.Int64

	unreadable func(name string, err error)
	reported   sync.Map // the names of marks that cannot be read
}

// New returns the log of a project. unreadable is called once for each mark that cannot
// be read. Such marks stay: a newer version may have made them.
func New(s store.Records, project string, unreadable func(name string, err error)) *Log {
	return &Log{store: s, project: project, unreadable: unreadable}
}

func (l *Log) key(kind, name string) store.RecordKey {
	return store.RecordKey{Project: l.project, Kind: kind, Name: name}
}

// Mark returns the change that makes a mark with a name of its own. It sets the order of
// the entry among those of its conversation.
func (l *Log) Mark(name string, e Entry, f store.Fence) (store.RecordChange, error) {
	e.Token, e.Number = f.Token, l.numbers.Add(1)
	value, err := recordform.Encode(&e)
	if err != nil {
		return store.RecordChange{}, fmt.Errorf("claude: fleet: encode the mark %s: %w", name, err)
	}
	return store.RecordChange{Key: l.key(KindMark, name), Value: value}, nil
}

// PutMark makes a mark by itself. If there is one with the name, that one counts.
func (l *Log) PutMark(ctx context.Context, c store.RecordChange, f store.Fence) error {
	_, err := store.Put(ctx, l.store, c.Key, c.Value, 0, f)
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// mark is a mark in the store.
type mark struct {
	Entry
	key      store.RecordKey
	revision int64
}

func (l *Log) scan(ctx context.Context) (marks []mark, err error) {
	for r, err := range l.store.Scan(ctx, store.Folder{Project: l.project, Kind: KindMark}, "") {
		m := mark{key: r.Key, revision: r.Revision}
		if err != nil {
			return nil, err
		}
		if err := decode(r, &m.Entry); err != nil { // all others are collected
			if _, before := l.reported.LoadOrStore(r.Key.Name, true); !before {
				l.unreadable(r.Key.Name, err)
			}
			continue
		}
		marks = append(marks, m)
	}
	return marks, nil
}

// marks returns the marks that can be appended, in order. A scan may find a mark and
// miss an earlier one. So there are two scans: whatever the first has found, and all
// that precedes it in its conversation, was there when the second began.
func (l *Log) marks(ctx context.Context) ([]mark, error) {
	first, err := l.scan(ctx)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	all, err := l.scan(ctx)
	if err != nil {
		return nil, err
	}
	return settled(first, all), nil
}

// settled returns the marks of the second scan which no mark can still precede: by time,
// and those of a conversation in their order.
func settled(first, second []mark) []mark {
	last := make(map[string]*Entry)
	for i := range first {
		e := &first[i].Entry
		if l := last[e.Key]; l == nil || l.compare(e) < 0 {
			last[e.Key] = e
		}
	}
	out := slices.DeleteFunc(slices.Clone(second), func(m mark) bool {
		l := last[m.Key]
		return l == nil || l.compare(&m.Entry) < 0
	})
	slices.SortFunc(out, func(a, b mark) int { return cmp.Or(cmp.Compare(a.Key, b.Key), a.compare(&b.Entry)) })
	// The clocks of two owners differ a little. Within a conversation, an entry is
	// never earlier than the one before it.
	when := make(map[store.RecordKey]time.Time, len(out))
	for i := range out {
		at := out[i].At
		if i > 0 && out[i-1].Key == out[i].Key && when[out[i-1].key].After(at) {
			at = when[out[i-1].key]
		}
		when[out[i].key] = at
	}
	slices.SortStableFunc(out, func(a, b mark) int { return when[a.key].Compare(when[b.key]) })
	return out
}

// Collect moves marks into the log: at least those that were there when it was called.
func (l *Log) Collect(ctx context.Context) error {
	for {
		marks, err := l.marks(ctx)
		for err == nil && len(marks) > 0 {
			var n int
			n, err = l.append(ctx, marks)
			marks = marks[n:]
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// head is where the log ends.
type head struct {
	// Page is the last page, or one before it: the search for the end starts there. It
	// is never removed, so numbers are not used twice.
	Page    int64         `json:"page"`
	Unknown jsonx.Unknown `json:",embed"`

	revision int64 // 0: there is none
}

// page is a part of the log. Entries are only appended.
type page struct {
	Entries []Entry       `json:"entries"`
	Unknown jsonx.Unknown `json:",embed"`

	revision int64 // 0: there is none
}

func (p *page) full() bool { return len(p.Entries) >= pageSize }

func (p *page) has(e *Entry) bool {
	return slices.ContainsFunc(p.Entries, func(o Entry) bool { return o.is(e) })
}

func pageName(n int64) string { return fmt.Sprintf("%s/%016x", pageFolder, n) }

func (l *Log) head(ctx context.Context) (h head, err error) {
	h.revision, err = l.get(ctx, headName, &h)
	return h, err
}

func (l *Log) page(ctx context.Context, n int64) (p page, err error) {
	p.revision, err = l.get(ctx, pageName(n), &p)
	return p, err
}

// get reads a record of the log. If there is none, its revision is 0.
func (l *Log) get(ctx context.Context, name string, v any) (revision int64, err error) {
	r, err := store.Get(ctx, l.store, l.key(KindLog, name))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		err = decode(r, v)
	}
	return r.Revision, err
}

// append appends marks to the last page, and returns how many of them are in the log
// now. If another process has appended to it meanwhile, the error is
// [store.ErrConflict].
func (l *Log) append(ctx context.Context, marks []mark) (n int, err error) {
	h, err := l.head(ctx)
	if err != nil {
		return 0, err
	}
	var last, before page
	at := h.Page
	for last, err = l.page(ctx, at); err == nil && last.full(); last, err = l.page(ctx, at) {
		before, at = last, at+1
	}
	if err != nil {
		return 0, err
	}
	next, n := last.with(&before, marks)
	put, err := l.put(pageName(at), &next, last.revision)
	if err != nil {
		return 0, err
	}
	changes := []store.RecordChange{put}
	if h.revision == 0 || h.Page != at {
		revision := h.revision
		h.Page = at
		if put, err = l.put(headName, &h, revision); err != nil {
			return 0, err
		}
		changes = append(changes, put)
	}
	for _, m := range marks[:n] {
		changes = append(changes, store.RecordChange{Key: m.key, Drop: true, Revision: m.revision})
	}
	_, err = l.store.Change(ctx, store.Fence{}, changes...)
	return n, gone(err)
}

// with returns the page with marks added, as many as have room, and how many that are. A
// mark that was added before and not removed is not added again.
func (p *page) with(before *page, marks []mark) (next page, n int) {
	next = page{Entries: slices.Clone(p.Entries), Unknown: p.Unknown}
	for _, m := range marks {
		if n == pageSize {
			break // of one change
		}
		if !next.has(&m.Entry) && !before.has(&m.Entry) {
			if next.full() {
				break
			}
			next.Entries = append(next.Entries, m.Entry)
		}
		n++
	}
	return next, n
}

func (l *Log) put(name string, v any, revision int64) (store.RecordChange, error) {
	value, err := recordform.Encode(v)
	if err != nil {
		return store.RecordChange{}, fmt.Errorf("claude: fleet: encode %s: %w", name, err)
	}
	return store.RecordChange{Key: l.key(KindLog, name), Value: value, Revision: revision}, nil
}

// gone turns the error about a missing mark into a conflict: another process has added
// it.
func gone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return store.ErrConflict
	}
	return err
}

// Begin returns the place of the first entry that is kept.
func (l *Log) Begin(ctx context.Context) (at int64, err error) {
	for r, err := range l.store.Scan(ctx, store.Folder{Project: l.project, Kind: KindLog}, pageFolder+"/") {
		if err != nil {
			return 0, err
		}
		n, err := pageNumber(r)
		return n * pageSize, err
	}
	return 0, nil
}

// End returns the place behind the last entry. Marks that were not collected come there.
func (l *Log) End(ctx context.Context) (at int64, err error) {
	h, err := l.head(ctx)
	if err != nil {
		return 0, err
	}
	for n := h.Page; ; n++ {
		p, err := l.page(ctx, n)
		if err != nil {
			return 0, err
		}
		if !p.full() {
			return n*pageSize + int64(len(p.Entries)), nil
		}
	}
}

// Read returns entries from a place on, at least one if there is any. The next place is
// higher by their number.
func (l *Log) Read(ctx context.Context, at int64) ([]Entry, error) {
	n, skip := at/pageSize, int(at%pageSize)
	p, err := l.page(ctx, n)
	if err == nil && p.revision == 0 {
		p, err = l.missing(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	if skip > len(p.Entries) {
		return nil, fmt.Errorf("%w: place %d is behind the end of the log", store.ErrInvalid, at)
	}
	return p.Entries[skip:], nil
}

// missing explains why a page was not found. The next one to come is empty instead.
func (l *Log) missing(ctx context.Context, n int64) (page, error) {
	h, err := l.head(ctx)
	if err != nil {
		return page{}, err
	}
	p, err := l.page(ctx, n) // it may have come since, and others behind it
	if err != nil || p.revision != 0 || n == 0 && h.Page == 0 {
		return p, err
	}
	if n < h.Page {
		return p, ErrTooOld
	}
	if n > 0 {
		before, err := l.page(ctx, n-1)
		if err != nil {
			return p, err
		}
		if !before.full() {
			return p, fmt.Errorf("%w: page %d is behind the end of the log", store.ErrInvalid, n)
		}
	}
	return p, nil
}

// Trim removes pages whose entries are all older.
func (l *Log) Trim(ctx context.Context, before time.Time) error {
	h, err := l.head(ctx)
	if err != nil {
		return err
	}
	for r, err := range l.store.Scan(ctx, store.Folder{Project: l.project, Kind: KindLog}, pageFolder+"/") {
		var p page
		var n int64
		if err == nil {
			n, err = pageNumber(r)
		}
		if err == nil {
			err = decode(r, &p)
		}
		if err != nil {
			return err
		}
		if n >= h.Page || slices.ContainsFunc(p.Entries, func(e Entry) bool { return !e.At.Before(before) }) {
			return nil
		}
		err := store.Drop(ctx, l.store, r.Key, r.Revision, store.Fence{})
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

func pageNumber(r store.Record) (n int64, err error) {
	if _, err := fmt.Sscanf(r.Key.Name, pageFolder+"/%016x", &n); err != nil {
		return 0, fmt.Errorf("claude: fleet: %w: record %s", store.ErrDamaged, r.Key)
	}
	return n, nil
}

func decode(r store.Record, v any) error {
	if err := recordform.Decode(r, v); err != nil {
		return fmt.Errorf("claude: fleet: %w", err)
	}
	return nil
}
