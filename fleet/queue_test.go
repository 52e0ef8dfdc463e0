package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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

// A prompt that the store does not take is not accepted, and Send reports it. Sent
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
		fail(func(method string) bool { return method == "Change" })
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

// A prompt that two clients have sent at once is in the queue twice. When one of them has
// ended, so has the other, even if both are seen in the same look at the store.
func TestQueuedTwice(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000008"
	for name, one := range map[string]struct {
		first string // the fields of the first of both besides its id
		want  fleet.PromptStatus
	}{
		"answered":  {`"sent":true,"begun":1`, fleet.PromptAnswered},
		"cancelled": {`"cancelled":"2000-01-01T00:00:00Z"`, fleet.PromptCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				f := open(t, db, cli, nil)
				said := fleet.Prompt{ID: id, Text: "hello"}
				if one.want == fleet.PromptCancelled {
					said.ID = "" // another one
				}
				if _, err := result(f.RunPrompt(t.Context(), "ada", said)); err != nil {
					t.Fatal(err)
				}
				closeFleet(t, f)
				ended := store.RecordKey{Project: "p", Kind: "outcome", Name: "c/ada/" + id}
				if r, err := store.Get(t.Context(), db, ended); err == nil { // as if its process had died before it was written
					if err := store.Drop(t.Context(), db, ended, r.Revision, store.Fence{}); err != nil {
						t.Fatal(err)
					}
				}
				for at, more := range []string{one.first, `"begun":0`} {
					key := store.RecordKey{Project: "p", Kind: "prompt", Name: fmt.Sprintf("c/ada/%016x-%s", at+1, id)}
					value := fmt.Sprintf(`{"id":%q,"content":[{"type":"text","text":"hello"}],"accepted":"2000-01-01T00:00:00Z",%s}`, id, more)
					if _, err := store.Put(t.Context(), db, key, []byte(value), 0, store.Fence{}); err != nil {
						t.Fatal(err)
					}
				}
				f = open(t, db, cli, nil)
				defer closeFleet(t, f)
				<-time.After(time.Minute)
				if o := outcome(t, f, "ada", id); o.Status != one.want {
					t.Errorf("its outcome is %+v; want %s", o, one.want)
				}
				if len(cli.calls) != 1 {
					t.Errorf("the model was asked %q; want one call, before both were queued", cli.calls)
				}
				for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt"}, "") {
					t.Errorf("%s is still in the queue, %v", r.Key, err)
				}
			})
		})
	}
}

// insistent is a store that gets no answer when it writes the first prompt, and writes it
// again a minute later.
type insistent struct {
	*store.MemoryStore
	again atomic.Bool
	wrote bool // the second time
}

func (s *insistent) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := s.MemoryStore.Change(ctx, f, c...)
	if !puts(c, "prompt") || s.again.Swap(true) {
		return next, err
	}
	<-time.After(time.Minute)
	next, err = s.MemoryStore.Change(ctx, f, c...)
	s.wrote = err == nil
	return next, err
}

// A prompt that another process has answered, before its Send has returned here, does
// not run again, although an insistent store has put it into the queue once more.
func TestWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		other := open(t, db, cli, func(o *fleet.Options) { o.Poll, o.IdleAfter = time.Second, time.Second })
		defer closeFleet(t, other)
		s := &insistent{MemoryStore: db}
		f := open(t, s, cli, nil)
		defer closeFleet(t, f)
		id := send(t, f, "ada", "one")
		if !s.wrote {
			t.Fatal("the prompt was not written twice")
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("it is %s", o.Status)
		}
		if got := ask(t, f, "ada", "two"); got != "heard one, two" {
			t.Errorf("answer %q", got)
		}
		for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt"}, "") {
			t.Errorf("%s is still in the queue, %v", r.Key, err)
		}
	})
}
