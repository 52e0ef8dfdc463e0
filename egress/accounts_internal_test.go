package egress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// single is a store that changes one record at a time.
type single struct{ store.Records }

func kinds(t *testing.T) map[string][2]Accounts {
	memory, files := store.Memory(), t.TempDir()
	same := MemoryAccounts()
	return map[string][2]Accounts{
		"memory":                     {same, same},
		"records":                    {RecordAccounts(memory, "p"), RecordAccounts(memory, "p")},
		"records of files":           {RecordAccounts(store.Files(files), "p"), RecordAccounts(store.Files(files), "p")},
		"records, one after another": {RecordAccounts(single{store.Memory()}, "p"), nil},
	}
}

// Two proxies with one store count every request once.
func TestAccountsCountTogether(t *testing.T) {
	for name, two := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			names := []string{"conversation a/../b \x00", "tenant"}
			var all sync.WaitGroup
			for i := range 20 {
				l := two[i%2]
				if l == nil {
					l = two[0]
				}
				all.Go(func() {
					r := request{id: fmt.Sprint(i), hold: Hold{usd(1), time.Now().Add(time.Hour)}, limit: make([]Budget, 2)}
					b := newBook(l, nil)
					for err := errors.New("not yet"); err != nil; {
						if _, err = b.reserve(t.Context(), names, r, 0); err != nil && !errors.Is(err, store.ErrConflict) {
							t.Error(err)
							return
						}
					}
					for err := errors.New("not yet"); err != nil; {
						if err = b.settle(t.Context(), names, r, usd(0.5)); err != nil && !errors.Is(err, store.ErrConflict) {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			accounts, err := newBook(two[0], nil).look(t.Context(), names, make([]Budget, 2))
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range accounts {
				if a.Spent != usd(10) || a.Requests != 20 || len(a.Held) != 0 {
					t.Errorf("account %d: %+v", i, a)
				}
			}
		})
	}
}

// What one process reserves, its successor finds in the files.
func TestAccountsSurvive(t *testing.T) {
	dir := t.TempDir()
	names := []string{"c", "t"}
	r := request{id: "a", hold: Hold{usd(3), noon}, limit: make([]Budget, 2)}
	open := r
	open.hold.Until = time.Now().Add(time.Hour)
	if _, err := newBook(RecordAccounts(store.Files(dir), "p"), nil).reserve(t.Context(), names, open, 0); err != nil {
		t.Fatal(err)
	}
	err := RecordAccounts(store.Files(dir), "p").Update(t.Context(), names, func(accounts []Balance) ([]Balance, error) {
		for i, a := range accounts {
			if a.Held["a"].Amount != usd(3) || !a.Held["a"].Until.Equal(open.hold.Until) {
				t.Errorf("account %d: %+v", i, a)
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A record of a newer program is neither read nor replaced: the gate closes.
func TestAccountsOfNewerProgram(t *testing.T) {
	s := store.Memory()
	l := RecordAccounts(s, "p").(*records)
	if _, err := store.Put(t.Context(), s, l.key("c"), []byte(`{"v":99}`), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	err := l.Update(t.Context(), []string{"c"}, func([]Balance) ([]Balance, error) {
		t.Error("it was read")
		return nil, nil
	})
	if !errors.Is(err, store.ErrNewer) {
		t.Errorf("error %v", err)
	}
}

// Members that a newer program has added survive a change.
func TestAccountsKeepUnknown(t *testing.T) {
	s := store.Memory()
	l := RecordAccounts(s, "p").(*records)
	if _, err := store.Put(t.Context(), s, l.key("c"), []byte(`{"v":1,"name":"c","spent":{"usd":1},"colour":"blue"}`), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Update(t.Context(), []string{"c"}, func(a []Balance) ([]Balance, error) {
		a[0].Spent.USD++
		return a, nil
	}); err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), s, l.key("c"))
	if want := `{"v":1,"name":"c","spent":{"usd":2},"colour":"blue"}`; err != nil || string(r.Value) != want {
		t.Errorf("%s, %v; want %s", r.Value, err, want)
	}
}

// A request that only the reservation of another keeps out waits for it, and gets in the
// moment it is settled.
func TestWaitsForReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(MemoryAccounts(), nil)
		limit := []Budget{{USD: 5}}
		first := request{id: "1", hold: Hold{usd(4), time.Now().Add(time.Hour)}, limit: limit}
		second := request{id: "2", hold: Hold{usd(4), time.Now().Add(time.Hour)}, limit: limit}
		if refused, err := b.reserve(t.Context(), []string{"c"}, first, 0); err != nil || refused != nil {
			t.Fatal(refused, err)
		}
		began := time.Now()
		time.AfterFunc(300*time.Millisecond, func() {
			if err := b.settle(t.Context(), []string{"c"}, first, usd(0.5)); err != nil {
				t.Error(err)
			}
		})
		refused, err := b.reserve(t.Context(), []string{"c"}, second, time.Minute)
		if took := time.Since(began); err != nil || refused != nil || took != 300*time.Millisecond {
			t.Errorf("refused %+v, error %v, after %v", refused, err, took)
		}
	})
}

// It waits no longer than it should, and not at all for a budget that is spent.
func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(MemoryAccounts(), nil)
		limit := []Budget{{USD: 5}}
		hold := Hold{usd(4), time.Now().Add(time.Hour)}
		if _, err := b.reserve(t.Context(), []string{"c"}, request{id: "1", hold: hold, limit: limit}, 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		refused, err := b.reserve(t.Context(), []string{"c"}, request{id: "2", hold: hold, limit: limit}, 90*time.Second)
		if took := time.Since(began); err != nil || refused == nil || refused.verdict != waits || took != 90*time.Second {
			t.Errorf("refused %+v, error %v, after %v", refused, err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := b.reserve(ctx, []string{"c"}, request{id: "3", hold: hold, limit: limit}, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that has gone: %v", err)
		}
		if err := b.settle(t.Context(), []string{"c"}, request{id: "1", limit: limit}, usd(6)); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		refused, err = b.reserve(t.Context(), []string{"c"}, request{id: "4", hold: hold, limit: limit}, time.Minute)
		if took := time.Since(began); err != nil || refused == nil || refused.verdict != spent || took != 0 {
			t.Errorf("refused %+v, error %v, after %v", refused, err, took)
		}
	})
}

// A reservation that its killed process never settled lets the others in when it ends.
func TestWaitsForTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(MemoryAccounts(), nil)
		limit := []Budget{{USD: 5}}
		if _, err := b.reserve(t.Context(), []string{"c"}, request{id: "1", hold: Hold{usd(4), time.Now().Add(10 * time.Second)}, limit: limit}, 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		refused, err := b.reserve(t.Context(), []string{"c"}, request{id: "2", hold: Hold{usd(4), time.Now().Add(time.Hour)}, limit: limit}, time.Minute)
		if took := time.Since(began); err != nil || refused != nil || took != 10*time.Second {
			t.Errorf("refused %+v, error %v, after %v", refused, err, took)
		}
	})
}
