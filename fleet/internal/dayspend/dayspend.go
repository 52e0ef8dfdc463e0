// Package dayspend keeps what the conversations of a project cost on a day, so that
// several processes can share one budget.
//
// Each conversation has a record of its own for each day, in a folder of that day, and
// only the owner of its lease writes it. So no two processes write the same record, no
// turn waits for another, and the sum of a day is a scan of a folder that has only the
// conversations of that day. A record holds the whole sum of its conversation, not what
// to add: to write it again changes nothing.
//
// Days are those of UTC, by the clock of the store.
package dayspend

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

// Kind is the kind of the records.
const Kind = "day"

// Day is a day in UTC, such as "2026-11-17".
type Day string

// Of returns the day of a time.
func Of(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }

// Ends returns the midnight at which the day ends. It is zero if d is not a day.
func (d Day) Ends() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1)
}

// Today is what a conversation has cost on the last day on which it cost anything. It
// is part of the conversation's record, and changes with its ledger.
type Today struct {
	Day Day     `json:"day"`
	USD float64 `json:"usd"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// Plus returns what a conversation has cost on a day after it has cost more.
func (t Today) Plus(day Day, usd float64) Today {
	if t.Day != day {
		t.Day, t.USD = day, 0
	}
	t.USD += usd
	return t
}

// spent is the record of a conversation and a day.
type spent struct {
	USD float64 `json:"usd"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// Sums are what conversations have cost on a day.
type Sums struct {
	Day     Day
	USD     float64            // of all
	Tenants map[string]float64 // of those that belong to a tenant, by its name
}

// add counts more.
func (s *Sums) add(tenant string, usd float64) {
	s.USD += usd
	if tenant != "" {
		s.Tenants[tenant] += usd
	}
}

// Records is what a book needs of a store.
type Records interface {
	GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error)
	ScanRecords(ctx context.Context, project, kind, after string) iter.Seq2[store.Record, error]
	DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error
}

// Book knows what the conversations of a project have cost today. Its methods may be
// called from any goroutine. It needs no Close.
type Book struct {
	store   Records
	project string
	below   func(ctx context.Context, folder string) iter.Seq2[store.Record, error]

	scanning chan struct{} // one slot: taken during a scan

	mu    sync.Mutex
	sums  Sums
	until time.Time // sums are fresh
	noted int       // counts calls of Note
}

// New returns the book of a project. below yields the records of Kind in a folder.
func New(s Records, project string, below func(ctx context.Context, folder string) iter.Seq2[store.Record, error]) *Book {
	return &Book{store: s, project: project, below: below, scanning: make(chan struct{}, 1)}
}

// fresh is for how long sums are used, at least: what other processes spend is seen that
// late. If a scan takes long, it is restTimes as long.
const (
	fresh     = 2 * time.Second
	restTimes = 20
)

// Sums returns the sums of a day: of what all processes have written until about two
// seconds ago, and of what this one has spent since.
func (b *Book) Sums(ctx context.Context, day Day) (Sums, error) {
	if s, ok := b.known(day); ok {
		return s, nil
	}
	select {
	case b.scanning <- struct{}{}:
		defer func() { <-b.scanning }()
	case <-ctx.Done():
		return Sums{}, context.Cause(ctx)
	}
	if s, ok := b.known(day); ok { // somebody else has just scanned
		return s, nil
	}
	b.mu.Lock()
	noted := b.noted
	b.mu.Unlock()
	begin, s := time.Now(), Sums{Day: day, Tenants: make(map[string]float64)}
	for r, err := range b.below(ctx, string(day)) {
		var one spent
		if err == nil {
			err = decode(r, &one)
		}
		if err != nil {
			return Sums{}, err
		}
		s.add(tenantIn(r.Key.Name), one.USD)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sums, b.until = s, time.Time{}
	if noted == b.noted { // or the scan may have missed something
		b.until = time.Now().Add(max(fresh, restTimes*time.Since(begin)))
	}
	return b.sums.clone(), nil
}

// known returns the sums of a day if they are fresh.
func (b *Book) known(day Day) (Sums, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sums.Day != day || !time.Now().Before(b.until) {
		return Sums{}, false
	}
	return b.sums.clone(), true
}

func (s Sums) clone() Sums {
	s.Tenants = maps.Clone(s.Tenants)
	return s
}

// Note counts what this process has just written.
func (b *Book) Note(tenant string, day Day, usd float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted++
	if b.sums.Day == day {
		b.sums.add(tenant, usd)
	}
}

// Change returns the change that writes what a conversation has cost on a day. place is
// the folder of the conversation, and created distinguishes it from earlier ones at the
// same place: those that were deleted have cost what they have cost.
func (b *Book) Change(ctx context.Context, place string, created time.Time, t Today) (store.RecordChange, error) {
	name := fmt.Sprintf("%s/%s/%016x", t.Day, place, created.UnixNano())
	k := store.RecordKey{Project: b.project, Kind: Kind, Name: name}
	r, err := b.store.GetRecord(ctx, k)
	var now spent
	if err == nil {
		err = decode(r, &now)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return store.RecordChange{}, err
	}
	now.USD = t.USD
	value, err := recordform.Encode(&now)
	if err != nil {
		return store.RecordChange{}, fmt.Errorf("claude: fleet: encode %s: %w", name, err)
	}
	return store.RecordChange{Key: k, Value: value, Revision: r.Revision}, nil
}

// Forget removes the records of days before one. Those of a newer version stay.
func (b *Book) Forget(ctx context.Context, before Day) error {
	for r, err := range b.store.ScanRecords(ctx, b.project, Kind, "") {
		if err != nil {
			return err
		}
		if day, _, _ := strings.Cut(r.Key.Name, "/"); Day(day) >= before {
			return nil // they are in order
		}
		if errors.Is(decode(r, new(spent)), store.ErrNewer) {
			continue
		}
		err := b.store.DropRecord(ctx, r.Key, r.Revision, store.Fence{})
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// tenantIn is the tenant in the name of a record, "" if its conversation has none.
func tenantIn(name string) string {
	if parts := strings.Split(name, "/"); len(parts) == 5 && parts[1] == "t" {
		return parts[2]
	}
	return ""
}

func decode(r store.Record, v any) error {
	if err := recordform.Decode(r, v); err != nil {
		return fmt.Errorf("claude: fleet: %w", err)
	}
	return nil
}
