package egress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

// Accounts keeps the balances of conversations and tenants. Its method may be called from
// any goroutine.
type Accounts interface {
	// Update reads the accounts with these names, calls change with them and keeps what it
	// returns, in the same order. An account that does not exist yet is zero. Between the
	// reading and the keeping no other Update of these accounts happens; an implementation
	// may call change again to make sure. When Update returns nil, the accounts are as safe
	// as they will ever be. If change returns nil or an error, nothing is kept, and Update
	// returns that error.
	Update(ctx context.Context, names []string, change func([]Balance) ([]Balance, error)) error
}

// memory keeps accounts in the process.
type memory struct {
	mu       sync.Mutex
	accounts map[string]Balance
}

// MemoryAccounts returns accounts that end with the process. Use them for conversations that
// do so as well, and in tests.
func MemoryAccounts() Accounts { return &memory{accounts: make(map[string]Balance)} }

func (m *memory) Update(_ context.Context, names []string, change func([]Balance) ([]Balance, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	accounts := make([]Balance, len(names))
	for i, name := range names {
		accounts[i] = m.accounts[name].clone()
	}
	next, err := change(accounts)
	if err != nil || next == nil {
		return err
	}
	for i, name := range names {
		m.accounts[name] = next[i].clone()
	}
	return nil
}

// recordKind is the kind of the records.
const recordKind = "egress"

// records keeps accounts in a store.
type records struct {
	store   store.Records
	project string
	seed    maphash.Seed
	turns   [64]chan struct{} // one slot each: here, one Update of an account at a time
}

// RecordAccounts returns accounts that are records of a store, below a
// project. All proxies with the same store and project share the accounts, so their limits
// hold together and survive each of them. store.Files in a folder of its own is the
// simplest such store.
func RecordAccounts(s store.Records, project string) Accounts {
	r := &records{store: s, project: project, seed: maphash.MakeSeed()}
	for i := range r.turns {
		r.turns[i] = make(chan struct{}, 1)
	}
	return r
}

const (
	// attempts is how often a change is tried that others have forestalled.
	attempts = 10
	// firstPause is the longest pause before the second attempt. It doubles.
	firstPause = 4 * time.Millisecond
)

// accountRecord is the form of an account in a store.
type accountRecord struct {
	Name string `json:"name"` // the key has only its digest
	Balance

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

func (l *records) Update(ctx context.Context, names []string, change func([]Balance) ([]Balance, error)) error {
	// The last name is the one that most others share.
	turn := l.turns[maphash.String(l.seed, names[len(names)-1])%uint64(len(l.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for attempt := 0; ; attempt++ {
		done, err := l.try(ctx, names, change)
		if done || attempt == attempts-1 {
			return err
		}
		pause := time.NewTimer(rand.N(firstPause<<attempt) + time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

// try makes one attempt. It is not done if others have changed an account meanwhile.
func (l *records) try(ctx context.Context, names []string, change func([]Balance) ([]Balance, error)) (done bool, err error) {
	now := make([]accountRecord, len(names))
	changes := make([]store.RecordChange, len(names))
	accounts := make([]Balance, len(names))
	var v store.View
	for i, name := range names {
		changes[i].Key, now[i].Name = l.key(name), name
		v.Keys = append(v.Keys, changes[i].Key)
	}
	all, err := l.store.View(ctx, v)
	if err != nil {
		return true, err
	}
	for _, r := range all {
		i := slices.Index(v.Keys, r.Key)
		if err := recordform.Decode(r, &now[i]); err != nil {
			return true, fmt.Errorf("claude: egress: %w", err)
		}
		changes[i].Revision, accounts[i] = r.Revision, now[i].Balance
	}
	next, err := change(accounts)
	if err != nil || next == nil {
		return true, err
	}
	for i := range now {
		now[i].Balance = next[i]
		if changes[i].Value, err = recordform.Encode(&now[i]); err != nil {
			return true, fmt.Errorf("claude: egress: encode an account: %w", err)
		}
	}
	_, err = l.store.Change(ctx, store.Fence{}, changes...)
	lost := errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
	return !lost, err
}

// key is that of an account. Names come from outside and may have any form.
func (l *records) key(name string) store.RecordKey {
	sum := sha256.Sum256([]byte(name))
	return store.RecordKey{Project: l.project, Kind: recordKind, Name: hex.EncodeToString(sum[:20])}
}

// book is the accounts of a proxy.
type book struct {
	accounts Accounts
	limits   func(tenant string) Budget
	// settled is closed and replaced when a request is settled.
	mu      sync.Mutex
	settled chan struct{}
}

func newBook(l Accounts, limits func(tenant string) Budget) *book {
	return &book{accounts: l, limits: limits, settled: make(chan struct{})}
}

// accountsOf returns the accounts of a conversation and their limits.
func (b *book) accountsOf(c Conversation, own Budget) (names []string, limits []Budget) {
	names, limits = []string{"conversation " + c.ID}, []Budget{own}
	if c.Tenant != "" {
		names[0] += " of " + c.Tenant
		names, limits = append(names, "tenant "+c.Tenant), append(limits, b.limits(c.Tenant))
	}
	return names, limits
}

// lookAgain is how often a request that waits looks whether another process has settled one.
const lookAgain = time.Second

// reserve waits until the accounts hold a request, at most for patience. refused is why
// they do not; it is not an error of the store.
func (b *book) reserve(ctx context.Context, names []string, r request, patience time.Duration) (refused *refusal, err error) {
	end := time.Now().Add(patience)
	for {
		news := b.news()
		err := b.accounts.Update(ctx, names, func(accounts []Balance) (next []Balance, _ error) {
			next, refused = r.reserve(accounts, time.Now())
			return next, nil
		})
		if err != nil || refused == nil {
			return nil, err
		}
		left := time.Until(end)
		if refused.verdict != waits || left <= 0 {
			return refused, nil
		}
		timer := time.NewTimer(min(lookAgain, left))
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// foresee returns why the accounts would refuse even a request that costs nothing. It changes
// nothing, and does not count reservations, for which a request would wait.
func (b *book) foresee(ctx context.Context, names []string, limits []Budget) (refused *refusal, err error) {
	err = b.accounts.Update(ctx, names, func(accounts []Balance) ([]Balance, error) {
		if _, refused = (request{limit: limits}).reserve(accounts, time.Now()); refused != nil && refused.verdict == waits {
			refused = nil
		}
		return nil, nil
	})
	return refused, err
}

// settle writes the cost of a request.
func (b *book) settle(ctx context.Context, names []string, r request, cost Amount) error {
	defer b.announce()
	return b.accounts.Update(ctx, names, func(accounts []Balance) ([]Balance, error) {
		return r.settle(accounts, cost, time.Now()), nil
	})
}

// release ends the reservation of a request that was not made, on the accounts that have
// it. Usually none has.
func (b *book) release(ctx context.Context, names []string, r request) error {
	defer b.announce()
	return b.accounts.Update(ctx, names, func(accounts []Balance) ([]Balance, error) {
		if !r.heldBy(accounts) {
			return nil, nil
		}
		return r.settle(accounts, Amount{}, time.Now()), nil
	})
}

// announce lets requests that wait look again.
func (b *book) announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.settled)
	b.settled = make(chan struct{})
}

func (b *book) news() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled
}

// look returns accounts as they are now.
func (b *book) look(ctx context.Context, names []string, limits []Budget) (accounts []Balance, err error) {
	err = b.accounts.Update(ctx, names, func(now []Balance) ([]Balance, error) {
		accounts = slices.Clone(now)
		for i := range accounts {
			accounts[i] = accounts[i].at(time.Now(), limits[i].Every)
		}
		return nil, nil
	})
	return accounts, err
}
