package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// failing is a store in memory that fails for records of some kinds. It makes no changes
// at once.
type failing struct {
	*store.MemoryStore
	fails func(method, kind string) bool
}

var errFailing = errors.New("the store fails")

func (s *failing) View(ctx context.Context, v store.View) ([]store.Record, error) {
	for _, k := range v.Keys {
		if s.fails("View", k.Kind) {
			return nil, errFailing
		}
	}
	return s.MemoryStore.View(ctx, v)
}

func (s *failing) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	for _, one := range c {
		if s.fails("Change", one.Key.Kind) {
			return nil, errFailing
		}
	}
	return s.MemoryStore.Change(ctx, f, c...)
}

func (s *failing) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	if s.fails("Scan", in.Kind) {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, errFailing) }
	}
	return s.MemoryStore.Scan(ctx, in, after)
}

// overDay is the error of a Send that a budget of the day refuses.
func overDay(t *testing.T, f *fleet.Fleet, key string) *fleet.BudgetError {
	t.Helper()
	_, err := f.Send(t.Context(), key, fleet.Prompt{Text: "more"})
	spent, ok := errors.AsType[*fleet.BudgetError](err)
	if !ok || !errors.Is(err, fleet.ErrBudget) || spent.CostUSD < spent.OfUSD {
		t.Fatalf("%s may spend more: %v", key, err)
	}
	return spent
}

// When the budget of a day is spent, new prompts are refused until midnight, and those
// that wait begin by themselves then.
func TestDayBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, func(o *fleet.Options) { o.DayBudgetUSD, o.Poll = 1e-9, time.Hour })
		defer closeFleet(t, f)
		midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		release := cli.pause()
		first, second := send(t, f, "ada", "one"), send(t, f, "ada", "two")
		synctest.Wait()
		release()
		<-time.After(5 * time.Minute)
		if o := outcome(t, f, "ada", first); o.Status != fleet.PromptAnswered {
			t.Errorf("the first prompt: %+v", o)
		}
		spent := overDay(t, f, "bob")
		if spent.Key != "" || spent.Tenant != "" || !spent.Resets.Equal(midnight) || spent.OfUSD != 1e-9 {
			t.Errorf("%+v", spent)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateHeld || info.Queued != 1 || !info.HeldUntil.Equal(midnight) || info.BudgetUSD != 1e-9 {
			t.Errorf("%+v, %v", info, err)
		}
		if live, _ := cli.counts(); live != 0 || cli.started() != 1 {
			t.Errorf("%d CLIs run, %d were started", live, cli.started())
		}
		ended := make(chan error, 1)
		go func() {
			_, err := f.Wait(t.Context(), "ada", second)
			ended <- err
		}()
		<-time.After(time.Until(midnight) - time.Second)
		select {
		case err := <-ended:
			t.Fatalf("ended on the same day: %v", err)
		default:
		}
		<-time.After(time.Minute)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("on the next day: %v", err)
			}
		default:
			t.Fatal("it did not begin on the next day")
		}
		overDay(t, f, "ada") // it has cost something
	})
}

// A tenant that has spent its budget stops no other. One can have a budget of its own.
func TestDayBudgetOfTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			o.TenantDayBudgetUSD = 1e-9
			o.TenantDayBudgetOf = func(tenant string) float64 {
				if tenant == "rich" {
					return 1000
				}
				return 0
			}
		})
		defer closeFleet(t, f)
		for _, key := range []string{"acme/a", "rich/a", "ada"} {
			ask(t, f, key, "hello")
		}
		spent := overDay(t, f, "acme/b")
		if spent.Tenant != "acme" || spent.Key != "" || spent.OfUSD != 1e-9 || spent.Resets.IsZero() {
			t.Errorf("%+v", spent)
		}
		for _, key := range []string{"rich/b", "rich/a", "ada", "other/a"} {
			if got := ask(t, f, key, "more"); got == "" {
				t.Errorf("%s was not answered", key)
			}
		}
	})
}

// Two processes share a budget. The cost of a deleted conversation still counts, and
// also that of the one that follows under its key.
func TestDayBudgetShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		small := func(o *fleet.Options) { o.DayBudgetUSD = 1000 }
		a, b := open(t, db, cli, small), open(t, db, cli, func(o *fleet.Options) {
			withoutCLIs(o)
			o.DayBudgetUSD = 1e-9
		})
		defer closeFleet(t, a)
		defer closeFleet(t, b)
		ask(t, a, "ada", "hello")
		<-time.After(3 * time.Second)
		once := overDay(t, b, "bob").CostUSD
		if info, err := a.Get(t.Context(), "ada"); err != nil || math.Abs(info.Cost.USD-once) > 1e-12 {
			t.Errorf("$%v are counted, %+v, %v", once, info.Cost, err)
		}
		if err := a.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Second)
		if left := overDay(t, b, "bob").CostUSD; left != once {
			t.Errorf("$%v are left of $%v after the deletion", left, once)
		}
		ask(t, a, "ada", "hello")
		<-time.After(3 * time.Second)
		if twice := overDay(t, b, "bob").CostUSD; math.Abs(twice-2*once) > 1e-9 {
			t.Errorf("$%v for two turns of $%v", twice, once)
		}
	})
}

// A turn that a deletion cuts off costs what the model has billed until then.
func TestDayBudgetDeletedMidTurn(t *testing.T) {
	for _, marked := range []bool{false, true} { // whether a turn was counted before
		for _, damaged := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b := newBiller(3, 2)
				db := &unloadable{Fleet: store.Memory()}
				f := open(t, db, b.scripted, func(o *fleet.Options) {
					b.allow(o)
					o.DayBudgetUSD = 1000
					usual := o.Session
					o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
						own, err := usual(ctx, key)
						own.Model = "claude-sonnet-5"
						return own, err
					}
				})
				defer closeFleet(t, f)
				want, cut := 0.0, answerUSD // two answers: the list has half the price of the script
				if marked {
					b.answer, b.holds = 3, map[int]bool{}
					ask(t, f, "ada", "hello")
					b.mu.Lock()
					b.answer, b.holds = 0, map[int]bool{2: true}
					b.mu.Unlock()
					want, cut = answerUSD, 2*answerUSD
				}
				if !damaged {
					want += cut
				}
				send(t, f, "ada", "work")
				<-b.held
				<-time.After(time.Second) // until the last line is stored
				db.fails.Store(damaged)
				if err := f.Delete(t.Context(), "ada"); err != nil {
					t.Fatal(err)
				}
				if got := spentOnDays(t, db); math.Abs(got-want) > 1e-9 {
					t.Errorf("$%.5f are counted, want $%.5f (counted before: %v, transcript cannot be read: %v)", got, want, marked, damaged)
				}
			})
		}
	}
}

// unloadable is a store whose transcripts can fail.
type unloadable struct {
	store.Fleet
	fails atomic.Bool
}

func (s *unloadable) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	if s.fails.Load() {
		return func(yield func(store.PlacedEntry, error) bool) { yield(store.PlacedEntry{}, errFailing) }
	}
	return s.Fleet.Load(ctx, k, after)
}

// spentOnDays is the sum of all days in a store.
func spentOnDays(t *testing.T, s store.Records) (usd float64) {
	t.Helper()
	for r, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "day"}, "") {
		var one struct{ USD float64 }
		if err == nil {
			err = json.Unmarshal(r.Value, &one)
		}
		if err != nil {
			t.Fatal(err)
		}
		usd += one.USD
	}
	return usd
}

// In a store that makes no changes at once, a failure between the two writes of a turn
// counts it neither twice nor not at all.
func TestDayBudgetOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Int32
		db := &failing{store.Memory(), func(method, kind string) bool {
			return method == "Change" && kind == "conversation" && failed.Load() > 0 && failed.Add(-1) >= 0
		}}
		cli := newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.DayBudgetUSD = 1e-9 })
		defer closeFleet(t, f)
		release := cli.pause()
		id := send(t, f, "ada", "hello")
		<-time.After(time.Second)
		failed.Store(3)
		release()
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered || failed.Load() > 0 {
			t.Fatalf("%+v, %d failures are left", o, failed.Load())
		}
		info, err := f.Get(t.Context(), "ada")
		if spent := overDay(t, f, "bob").CostUSD; err != nil || math.Abs(spent-info.Cost.USD) > 1e-12 {
			t.Errorf("$%v are counted, of %+v, %v", spent, info.Cost, err)
		}
	})
}

// If the store cannot provide what was spent, no prompt is accepted and none begins.
// When it can, all continues.
func TestDayBudgetUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		db := &failing{store.Memory(), func(_, kind string) bool { return down.Load() && kind == "day" }}
		cli := newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.DayBudgetUSD = 1000 })
		defer closeFleet(t, f)
		release := cli.pause()
		send(t, f, "ada", "one")
		waits := send(t, f, "ada", "two")
		<-time.After(time.Second)
		down.Store(true)
		if _, err := f.Send(t.Context(), "bob", fleet.Prompt{Text: "x"}); err == nil {
			<-time.After(3 * time.Second) // the sum may have been known
			if _, err = f.Send(t.Context(), "bob", fleet.Prompt{Text: "x"}); err == nil || errors.Is(err, fleet.ErrBudget) {
				t.Errorf("accepted: %v", err)
			}
		}
		release()
		told := make(chan error, 1)
		go func() {
			_, err := result(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: waits, Text: "two"}))
			told <- err
		}()
		<-time.After(10 * time.Minute)
		if o := outcome(t, f, "ada", waits); o.Status != fleet.PromptQueued {
			t.Errorf("it began: %+v", o)
		}
		down.Store(false)
		<-time.After(10 * time.Minute)
		if err := <-told; err != nil {
			t.Errorf("a caller that waits for the answer: %v", err)
		}
		if o := outcome(t, f, "ada", waits); o.Status != fleet.PromptAnswered {
			t.Errorf("it did not begin: %+v", o)
		}
	})
}

// A conversation that had to wait begins on the same day if its budget is raised. A prompt
// that is refused makes no conversation.
func TestDayBudgetRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rich atomic.Bool
		cli := newScripted()
		f := open(t, store.Memory(), cli, func(o *fleet.Options) {
			o.TenantDayBudgetOf = func(string) float64 {
				if rich.Load() {
					return 1000
				}
				return 1e-9
			}
		})
		defer closeFleet(t, f)
		release := cli.pause()
		send(t, f, "acme/a", "one")
		second := send(t, f, "acme/a", "two")
		synctest.Wait()
		release()
		<-time.After(10 * time.Minute)
		if o := outcome(t, f, "acme/a", second); o.Status != fleet.PromptQueued {
			t.Fatalf("%+v", o)
		}
		overDay(t, f, "acme/new")
		if _, err := f.Send(t.Context(), "acme/new", fleet.Prompt{ID: "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11", Text: "x"}); !errors.Is(err, fleet.ErrBudget) || isInDoubt(err) {
			t.Errorf("with an id: %v", err)
		}
		if _, err := f.Get(t.Context(), "acme/new"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("a refused prompt has made a conversation: %v", err)
		}
		rich.Store(true)
		<-time.After(2 * time.Minute)
		if o := outcome(t, f, "acme/a", second); o.Status != fleet.PromptAnswered {
			t.Errorf("the budget was raised: %+v", o)
		}
	})
}

// A store that hangs while it is asked what was spent delays neither a caller that
// waits for an answer, nor the fleet once the store works again.
func TestDayBudgetHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &hangingDay{Fleet: store.Memory()}
		cli := newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.DayBudgetUSD, o.StoreTimeout = 1000, 10*time.Second })
		defer closeFleet(t, f)
		release := cli.pause()
		id := send(t, f, "ada", "hello")
		<-time.After(3 * time.Second)
		db.hangs.Store(true)
		release()
		begin := time.Now()
		if _, err := f.Wait(t.Context(), "ada", id); err != nil || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if _, err := f.Send(t.Context(), "bob", fleet.Prompt{Text: "x"}); !errors.Is(err, fleet.ErrTimeout) || time.Since(begin) > 12*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		db.hangs.Store(false)
		<-time.After(11 * time.Second)
		begin = time.Now()
		if ask(t, f, "bob", "hello"); time.Since(begin) > time.Second {
			t.Errorf("answered after %v", time.Since(begin))
		}
	})
}

// hangingDay is a store whose scans of days can hang until their context ends, or fail as
// if a newer program had written the store.
type hangingDay struct {
	store.Fleet
	hangs, newer atomic.Bool
}

func (s *hangingDay) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	if in.Kind == "day" && s.hangs.Load() {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, hang(ctx)) }
	}
	if in.Kind == "day" && s.newer.Load() {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, store.ErrNewer) }
	}
	return s.Fleet.Scan(ctx, in, after)
}

// A sum of a day that a newer program wrote does not make the conversation newer: it is
// not left to that program for ever.
func TestDayBudgetNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := &hangingDay{Fleet: store.Memory()}, newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.DayBudgetUSD = 1000 })
		defer closeFleet(t, f)
		release := cli.pause()
		send(t, f, "ada", "one")
		waits := send(t, f, "ada", "two")
		<-time.After(3 * time.Second)
		db.newer.Store(true)
		release()
		<-time.After(10 * time.Minute)
		if o := outcome(t, f, "ada", waits); o.Status != fleet.PromptQueued {
			t.Errorf("it began: %+v", o)
		}
		db.newer.Store(false)
		<-time.After(10 * time.Minute)
		if o := outcome(t, f, "ada", waits); o.Status != fleet.PromptAnswered {
			t.Errorf("it did not begin: %+v", o)
		}
	})
}

// The records of days and rates are removed by a fleet that has neither.
func TestDaysRemovedWithoutOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &ahead{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), func(o *fleet.Options) {
			o.DayBudgetUSD, o.TenantRate = 1000, fleet.Rate{Prompts: 10, Per: time.Minute}
		})
		ask(t, f, "acme/a", "hello")
		closeFleet(t, f)
		for _, kind := range []string{"day", "rate"} {
			if len(allRecords(t, db.MemoryStore, kind)) == 0 {
				t.Fatalf("there is no record of a %s", kind)
			}
		}
		db.days.Store(5)
		f = open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		<-time.After(2 * time.Minute) // it cleans up soon after it is opened
		for _, kind := range []string{"day", "rate"} {
			for _, left := range allRecords(t, db.MemoryStore, kind) {
				t.Errorf("left: %s", left)
			}
		}
	})
}

// The sums of days that are over are removed.
func TestDaysRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &ahead{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), func(o *fleet.Options) { o.DayBudgetUSD, o.Keep = 1000, time.Hour })
		defer closeFleet(t, f)
		for range 6 {
			ask(t, f, "ada", "hello")
			<-time.After(20 * time.Minute) // it cleans up each quarter of Keep
			db.days.Add(1)
		}
		<-time.After(20 * time.Minute)
		n := 0
		for _, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "day"}, "") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n == 0 || n > 4 {
			t.Errorf("%d days are kept", n)
		}
	})
}
