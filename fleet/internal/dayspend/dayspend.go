// Package dayspend keeps the cost of the conversations of a project by day, so that
// several processes can share one budget.
//
// Each conversation has a record of its own for each day, in a folder of that day, and
// only the owner of its lease writes it. So no two processes write the same record, no
// turn waits for another, and the sum of a day is a scan of a folder that has only the
// conversations of that day. A record holds the whole sum of its conversation and not
// an increment, so writing it again is idempotent.
//
// Days are days in UTC, by the clock of the store.
package dayspend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// Today is the cost of a conversation on the last day on which it cost anything. It is
// part of the conversation's record, and changes with its ledger.
type Today struct {
	Day Day     `json:"day"`
	USD float64 `json:"usd"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// Plus adds a cost on a day. If the clock has just gone back over midnight, the cost
// counts on the day that had begun, whose record would be lost otherwise.
func (t Today) Plus(day Day, usd float64) Today {
	if t.Day != day && (t.Day == "" || Of(day.Ends()) != t.Day) {
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

// Spent is the cost of conversations on a day.
type Spent struct {
	Day       Day
	USD       float64 // of all
	TenantUSD float64 // of those of one tenant
}

// sums add up the records of a day. A record holds the whole sum of its conversation,
// so a record that is read twice counts once.
type sums struct {
	day     Day
	usd     float64
	tenants map[string]float64
	of      map[string]float64 // by the names of the records
}

func newSums(day Day) *sums {
	return &sums{day: day, tenants: make(map[string]float64), of: make(map[string]float64)}
}

// set takes in a record. The cost of a conversation only grows: a smaller sum is older.
func (s *sums) set(name string, usd float64) {
	more := usd - s.of[name]
	if !(more > 0) {
		return
	}
	s.of[name] = usd
	s.usd += more
	if tenant := tenantIn(name); tenant != "" {
		s.tenants[tenant] += more
	}
}

func (s *sums) spent(tenant string) Spent {
	return Spent{Day: s.day, USD: s.usd, TenantUSD: s.tenants[tenant]}
}

// Book knows the cost of a project's conversations today. Its methods may be called
// from any goroutine. It needs no Close.
type Book struct {
	store   store.Records
	project string
	below   func(folder string) iter.Seq2[store.Record, error]
	skipped func(name string, err error)

	mu    sync.Mutex
	sums  *sums           // of the last scan, with the notes since
	until time.Time       // they are fresh
	scan  *scan           // that runs, nil if none does
	bad   map[string]bool // the records that were reported to skipped
}

// scan is a sum that is being made.
type scan struct {
	day   Day
	noted map[string]float64 // meanwhile, by the names of the records: the scan may miss them
	done  chan struct{}      // closed at its end, when the others are set
	sums  *sums
	err   error
}

// New returns the book of a project. below yields the records of Kind in a folder; it
// must end if the store hangs. skipped is called once for each record that cannot be
// read.
func New(s store.Records, project string, below func(folder string) iter.Seq2[store.Record, error], skipped func(name string, err error)) *Book {
	return &Book{store: s, project: project, below: below, skipped: skipped, sums: newSums(""), bad: make(map[string]bool)}
}

// fresh is how long sums are used, at least: spending of other processes is seen that
// late. After a long scan they are used for restTimes as long as it took.
const (
	fresh     = 2 * time.Second
	restTimes = 20
)

// Spent returns the cost of a day, and that of a tenant on it: everything that all
// processes wrote until about two seconds ago, and that this one wrote since.
// Concurrent callers share one scan, and each waits for as long as its context lasts.
func (b *Book) Spent(ctx context.Context, day Day, tenant string) (Spent, error) {
	for {
		b.mu.Lock()
		if b.sums.day == day && time.Now().Before(b.until) {
			defer b.mu.Unlock()
			return b.sums.spent(tenant), nil
		}
		if b.scan == nil {
			b.scan = &scan{day: day, noted: make(map[string]float64), done: make(chan struct{})}
			go b.run(b.scan)
		}
		s := b.scan
		b.mu.Unlock()
		select {
		case <-s.done:
		case <-ctx.Done():
			return Spent{}, context.Cause(ctx)
		}
		switch {
		case s.day != day: // the next scan is for this one
		case s.err != nil:
			return Spent{}, s.err
		default:
			b.mu.Lock()
			defer b.mu.Unlock()
			return s.sums.spent(tenant), nil
		}
	}
}

// run makes a scan. It does not run in its callers' contexts: none of them ends it for
// the others.
func (b *Book) run(s *scan) {
	begin := time.Now()
	all, err := b.add(s.day)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scan = nil
	s.sums, s.err = all, err
	if err == nil {
		for name, usd := range s.noted {
			all.set(name, usd)
		}
		b.sums, b.until = all, time.Now().Add(max(fresh, restTimes*time.Since(begin)))
	}
	close(s.done)
}

// add adds up the records of a day. An unreadable one does not stop all conversations:
// the sum of a newer record counts if it is where it always was.
func (b *Book) add(day Day) (*sums, error) {
	all := newSums(day)
	for r, err := range b.below(string(day)) {
		if err != nil {
			return nil, err
		}
		var one spent
		if err := decode(r, &one); err != nil {
			if json.Unmarshal(jsonx.Member(r.Value, "usd"), &one.USD) != nil || !errors.Is(err, store.ErrNewer) {
				one.USD = 0
				b.skip(r.Key.Name, err)
			}
		}
		all.set(r.Key.Name, one.USD)
	}
	return all, nil
}

// skip reports a record that cannot be read, once.
func (b *Book) skip(name string, err error) {
	b.mu.Lock()
	told := b.bad[name]
	b.bad[name] = true
	b.mu.Unlock()
	if !told {
		b.skipped(name, err)
	}
}

// Note takes in the effect of a [Book.Change] that this process has just written.
func (b *Book) Note(place string, created time.Time, t Today) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := recordName(place, created, t.Day)
	if b.sums.day == t.Day {
		b.sums.set(name, t.USD)
	}
	if s := b.scan; s != nil && s.day == t.Day {
		s.noted[name] = max(s.noted[name], t.USD)
	}
}

// recordName is the name of the record of a conversation and a day.
func recordName(place string, created time.Time, day Day) string {
	return fmt.Sprintf("%s/%s/%016x", day, place, created.UnixNano())
}

// Change returns the change that writes the cost of a conversation on a day. place is
// the folder of the conversation, and created distinguishes it from earlier ones at the
// same place, whose costs still count although they were deleted. It replaces a damaged
// record: the conversation knows the whole sum.
func (b *Book) Change(ctx context.Context, place string, created time.Time, t Today) (store.RecordChange, error) {
	name := recordName(place, created, t.Day)
	k := store.RecordKey{Project: b.project, Kind: Kind, Name: name}
	r, err := store.Get(ctx, b.store, k)
	var now spent
	if err == nil {
		err = decode(r, &now)
	}
	if errors.Is(err, store.ErrDamaged) {
		now, err = spent{}, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.RecordChange{}, err
	}
	now.USD = t.USD
	value, err := recordform.Encode(&now)
	if err != nil {
		return store.RecordChange{}, fmt.Errorf("claude: fleet: encode %s: %w", name, err)
	}
	return store.RecordChange{Key: k, Value: value, Revision: r.Revision}, nil
}

// Forget removes the records of a project from days before one. Those of a newer version
// stay.
func Forget(ctx context.Context, s store.Records, project string, before Day) error {
	for r, err := range s.Scan(ctx, store.Folder{Project: project, Kind: Kind}, "") {
		if err != nil {
			return err
		}
		if day, _, _ := strings.Cut(r.Key.Name, "/"); Day(day) >= before {
			return nil // they are in order
		}
		if errors.Is(decode(r, new(spent)), store.ErrNewer) {
			continue
		}
		err := store.Drop(ctx, s, r.Key, r.Revision, store.Fence{})
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
