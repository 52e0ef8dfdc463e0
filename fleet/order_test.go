package fleet_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// Prompts that several processes accept one after another, while the clock of the store
// stands still, begin in this order, whatever their ids are.
func TestOrderWithinATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		senders := make([]*fleet.Fleet, 2)
		for i := range senders {
			senders[i] = open(t, db, newScripted(), func(o *fleet.Options) { o.MaxLive, o.Poll = fleet.NoCLIs, time.Hour })
			defer closeFleet(t, senders[i])
		}
		begin := time.Now()
		for _, p := range []struct {
			sender   int
			id, text string
		}{
			{0, "f", "one"}, {0, "e", "two"}, {0, "d", "three"}, // the last is named later than the clock
			{1, "c", "four"}, {0, "b", "five"}, {1, "a", "six"},
		} {
			id := p.id + "0000000-0000-4000-8000-000000000000"
			if _, err := senders[p.sender].Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: p.text}); err != nil {
				t.Fatal(err)
			}
			send(t, senders[p.sender], "adam", p.text) // whose queue comes behind it
		}
		if !time.Now().Equal(begin) {
			t.Fatal("time went by")
		}
		f := open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		for _, key := range []string{"ada", "adam"} {
			if got := ask(t, f, key, "seven"); got != "heard one, two, three, four, five, six, seven" {
				t.Errorf("%s: answer %q", key, got)
			}
		}
	})
}

// The queue is read before a prompt is accepted if the clock of the store is coarse, and
// without an answer nothing is accepted. With a fine clock it is not read.
func TestOrderReadsTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		into  time.Duration // a second
		reads bool
	}{
		"whole seconds":      {0, true},
		"whole milliseconds": {5 * time.Millisecond, true},
		"microseconds":       {5*time.Millisecond + time.Microsecond, false},
		"nanoseconds":        {1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log loggedCalls
				f := open(t, storefault.Wrap(store.Memory(), log.choose), newScripted(), func(o *fleet.Options) { o.MaxLive, o.Poll = fleet.NoCLIs, time.Hour })
				defer closeFleet(t, f)
				send(t, f, "ada", "one")
				<-time.After(time.Second + c.into)
				log.take()
				send(t, f, "ada", "two")
				if made := log.take(); slices.Contains(made, "Scan") != c.reads {
					t.Errorf("Send calls %q", made)
				}
				log.mu.Lock()
				log.fault = func(method string, _ int) storefault.Kind {
					if method == "Scan" {
						return storefault.Fail
					}
					return storefault.None
				}
				log.mu.Unlock()
				if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "three"}); errors.Is(err, storefault.ErrFault) != c.reads || isInDoubt(err) {
					t.Errorf("Send: %v", err)
				}
			})
		})
	}
}
