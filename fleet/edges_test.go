package fleet_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A question that another process withdraws frees the prompt that waits for it.
func TestWithdrawnQuestionWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := gated(t, db, cli)
		defer closeFleet(t, f)
		waits := deferredBy(t, f, "ada", "tool 1")
		<-time.After(5 * time.Minute)
		if err := approval.NewQuestions(db, "p").Withdraw(t.Context(), waits.Question, approval.OutcomeWithdrawn, "", store.Fence{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", waits.Prompt); !o.Status.Done() || len(cli.tools) != 0 {
			t.Errorf("%+v, the tool ran with %q", o, cli.tools)
		}
	})
}

// A prompt that waits for the next day begins at midnight, whenever the fleet was opened.
func TestNextDayBeginsAtMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		<-time.After(17 * time.Second)
		cli := newScripted()
		f := open(t, store.Memory(), cli, func(o *fleet.Options) { o.DayBudgetUSD, o.Poll = 1e-9, 48*time.Hour })
		defer closeFleet(t, f)
		release := cli.pause()
		send(t, f, "ada", "one")
		held := send(t, f, "ada", "two")
		synctest.Wait()
		release()
		midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		<-time.After(time.Until(midnight) - time.Second)
		if o := outcome(t, f, "ada", held); o.Status != fleet.PromptQueued {
			t.Errorf("before midnight: %+v", o)
		}
		<-time.After(3 * time.Second)
		if o := outcome(t, f, "ada", held); o.Status != fleet.PromptAnswered {
			t.Errorf("after midnight: %+v", o)
		}
	})
}

// scannedDays notes when the sums of days are looked through, as only the clean-up does in
// a fleet without budgets.
type scannedDays struct {
	*store.MemoryStore
	mu sync.Mutex
	at []time.Time
}

func (s *scannedDays) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	if in.Kind == "day" {
		s.mu.Lock()
		s.at = append(s.at, time.Now())
		s.mu.Unlock()
	}
	return s.MemoryStore.Scan(ctx, in, after)
}

// Of several fleets that share a store, one cleans up at a time, as often as Keep asks for.
// If it is closed, another one continues as soon as the next time comes.
func TestOneFleetCleansUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &scannedDays{MemoryStore: store.Memory()}
		keep := func(owner string) func(o *fleet.Options) {
			return func(o *fleet.Options) { o.Keep, o.Owner = 4*time.Hour, owner }
		}
		begin := time.Now()
		first := open(t, db, newScripted(), keep("a"))
		<-time.After(30 * time.Minute)
		second := open(t, db, newScripted(), keep("b"))
		defer closeFleet(t, second)
		<-time.After(5*time.Hour + 10*time.Minute)
		closeFleet(t, first)
		<-time.After(5 * time.Hour)
		db.mu.Lock()
		defer db.mu.Unlock()
		for i, at := range db.at {
			if i == 0 && at.Sub(begin) != time.Minute {
				t.Errorf("the first clean-up came after %v", at.Sub(begin))
			}
			if i > 0 && (at.Sub(db.at[i-1]) < time.Hour || at.Sub(db.at[i-1]) > time.Hour+2*time.Minute) {
				t.Errorf("clean-up %d came %v after the one before", i, at.Sub(db.at[i-1]))
			}
		}
		if n := len(db.at); n < 9 || n > 11 {
			t.Errorf("%d clean-ups in ten hours and a half", n)
		}
	})
}

// A reader that comes between two turns gets nothing of the turn before.
func TestPastResultIsNotLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		last := fleet.Cursor("")
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			n := 0
			for e, err := range f.Events(ctx, "ada", last) {
				if err != nil {
					break
				}
				if n++; e.Live {
					t.Errorf("live: %+v", e)
				}
				if e.Cursor != "" {
					last = e.Cursor
				}
			}
			cancel()
			if last == "" {
				t.Fatal("nothing is stored")
			}
		}
		if n := f.Watched(); n != 0 {
			t.Errorf("%d readers are served, and none is left", n)
		}
	})
}

// failsFirst is a transport whose first CLI does not start.
type failsFirst struct {
	claude.Transport
	once sync.Once
}

func (s *failsFirst) Start(ctx context.Context, l *claude.Launch) (conn claude.Conn, err error) {
	s.once.Do(func() { err = errors.New("no memory") })
	if err != nil {
		return nil, err
	}
	return s.Transport.Start(ctx, l)
}

// A reader outlives a session that was begun and of which nothing was ever stored.
func TestEventsOutliveAnUnstoredSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), &failsFirst{Transport: newScripted()}, nil)
		defer closeFleet(t, f)
		if err := f.Describe(t.Context(), "ada", fleet.Description{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		read := make(chan int, 1)
		go func() {
			n := 0
			for e, err := range f.Events(ctx, "ada", "") {
				if err != nil && ctx.Err() == nil {
					t.Errorf("after %d events: %v", n, err)
				}
				if err == nil && !e.Live {
					n++
				}
			}
			read <- n
		}()
		synctest.Wait()
		send(t, f, "ada", "one")
		if n := <-read; n != 2 {
			t.Errorf("%d events", n)
		}
	})
}
