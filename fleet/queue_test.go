package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// The prompts of a conversation run in the order in which they were accepted,
// even when the program has crashed in between.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		m := start(t, db, cli, nil)
		var want []string
		for n := range 12 {
			want = append(want, fmt.Sprint("prompt ", n))
			send(t, m.fleet, "ada", want[n])
		}
		crash(t, m)
		close(cli.hold)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(5 * time.Minute)
		if got := slices.Compact(cli.calls); !slices.Equal(got, want) { // the first was cut off
			t.Errorf("the model was asked %q", got)
		}
	})
}

// A prompt that the store does not take is not accepted, and one says so. Sent
// again under its id, it is.
func TestNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, m.fleet)
		ask(t, m.fleet, "ada", "hello")
		fail := func(f func(string) bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failing = f
		}
		p := fleet.Prompt{ID: "00000000-0000-4000-8000-000000000008", Text: "again"}
		fail(func(method string) bool { return method == "PutRecord" })
		if id, err := m.fleet.Send(t.Context(), "ada", p); err == nil {
			t.Fatalf("%s is accepted", id)
		}
		fail(nil)
		if o, err := m.fleet.Prompt(t.Context(), "ada", p.ID); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("not accepted: %+v, %v", o, err)
		}
		if _, err := m.fleet.Send(t.Context(), "ada", p); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", p.ID); o.Text != "heard hello, again" {
			t.Errorf("accepted: %+v", o)
		}
	})
}
