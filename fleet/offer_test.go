package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// A prompt for a conversation that has nothing to do does not overtake one that another
// process had queued before, even if nobody has announced that one.
func TestOfferOvertakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, newScripted(), func(o *fleet.Options) { o.Poll = time.Hour })
		defer closeFleet(t, f)
		other := open(t, db, newScripted(), func(o *fleet.Options) { o.MaxLive, o.Poll = fleet.NoCLIs, time.Hour })
		defer closeFleet(t, other)
		ask(t, f, "ada", "one")
		synctest.Wait()
		send(t, other, "ada", "two")
		if got := ask(t, f, "ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
	})
}

// Whatever goes wrong with the write that accepts a prompt and begins it, Send says that
// it is accepted, and it is answered once.
func TestOfferWhateverFails(t *testing.T) {
	for fault := storetest.Fail; fault <= storetest.Late; fault++ {
		for failures := 1; failures <= 2; failures++ {
			t.Run(fault.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var armed atomic.Bool
					log := loggedCalls{fault: func(method string, n int) storetest.StoreFault {
						if armed.Load() && (method == "ChangeRecords" || method == "PutRecord") && n <= failures {
							return fault
						}
						return storetest.None
					}}
					f := open(t, storetest.Faulty(store.Memory(), log.choose), newScripted(), nil)
					defer closeFleet(t, f)
					ask(t, f, "ada", "one")
					synctest.Wait()
					log.take()
					armed.Store(true)
					for _, text := range []string{"two", "three"} {
						if got := ask(t, f, "ada", text); !strings.HasSuffix(got, text) {
							t.Errorf("answer %q", got)
						}
						<-time.After(5 * time.Minute)
					}
					if got := ask(t, f, "ada", "four"); got != "heard one, two, three, four" {
						t.Errorf("answer %q", got)
					}
				})
			})
		}
	}
}

// held is a store whose changes of several records wait until they are let through.
type held struct {
	*store.MemoryStore
	begun, goOn chan struct{}
}

func (h *held) Batches(r store.Records) bool { return r == store.Records(h) }

func (h *held) ChangeRecords(ctx context.Context, changes []store.RecordChange, f store.Fence) ([]int64, error) {
	if changes[0].Alone && h.begun != nil {
		close(h.begun)
		<-h.goOn
	}
	return h.MemoryStore.ChangeRecords(ctx, changes, f)
}

// One who stops waiting for Send learns whether the prompt may have been accepted, and one
// that was is answered.
func TestOfferGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{MemoryStore: store.Memory()}
		f := open(t, h, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		synctest.Wait()
		h.begun, h.goOn = make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-h.begun
			cancel()
		}()
		_, err := f.Send(ctx, "ada", fleet.Prompt{Text: "two"})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "may not have been accepted") {
			t.Errorf("Send: %v", err)
		}
		h.begun = nil
		close(h.goOn)
		synctest.Wait()
		if got := ask(t, f, "ada", "three"); got != "heard one, two, three" {
			t.Errorf("answer %q", got)
		}
	})
}

// A prompt that begins at once is one that has begun: Send has said so when an interrupt
// comes, which then means it.
func TestOfferInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "one")
		synctest.Wait()
		defer cli.pause()()
		id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if o := outcome(t, f, "ada", id); !o.Interrupted {
			t.Errorf("%+v", o)
		}
	})
}

// Several who send at once to a conversation that has nothing to do are all answered, and
// each in the order in which it sent.
func TestOffersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "begin")
		const senders, each = 4, 5
		done := make(chan struct{})
		for i := range senders {
			go func() {
				defer func() { done <- struct{}{} }()
				for j := range each {
					if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: string(rune('a'+i)) + string(rune('0'+j))}); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		for range senders {
			<-done
		}
		all := strings.Split(strings.TrimPrefix(ask(t, f, "ada", "end"), "heard "), ", ")
		if len(all) != senders*each+2 {
			t.Fatalf("heard %q", all)
		}
		for i := range senders {
			own := slices.DeleteFunc(slices.Clone(all[1:len(all)-1]), func(text string) bool { return text[0] != byte('a'+i) })
			if !slices.IsSorted(own) || len(own) != each {
				t.Errorf("heard %q", own)
			}
		}
	})
}
