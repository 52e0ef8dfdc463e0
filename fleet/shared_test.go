package fleet_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/feed"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// notifying is a store in memory whose announcements can be silenced and made up.
type notifying struct {
	*store.MemoryStore
	told   feed.Feed[store.Changed]
	silent atomic.Bool
}

func (n *notifying) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return n.told.Watch(ctx, project)
}

// tell announces a change in the project of all tests.
func (n *notifying) tell(c store.Changed) {
	if !n.silent.Load() {
		n.told.Publish("p", c)
	}
}

func (n *notifying) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := n.MemoryStore.Change(ctx, f, c...)
	for i, one := range c {
		if err == nil && !one.Keep {
			n.tell(store.Changed{Record: one.Key, Revision: next[i], By: f})
		}
	}
	return next, err
}

// apart opens a fleet that only accepts prompts, and one that runs them.
func apart(t *testing.T, db store.Fleet, cli claude.Transport, change func(*fleet.Options)) (client, worker *fleet.Fleet) {
	t.Helper()
	r := newRadio()
	configure := func(o *fleet.Options) {
		o.Bus = r
		if change != nil {
			change(o)
		}
	}
	worker = open(t, db, cli, configure)
	client = open(t, db, cli, func(o *fleet.Options) {
		configure(o)
		o.Session, o.MaxLive = nil, fleet.NoCLIs
	})
	return client, worker
}

// A prompt that one process accepts is run by another, at once if the store can be
// watched, and after a poll otherwise.
func TestAcceptedHereRunElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		db   store.Fleet
		most time.Duration
	}{
		"a store that is watched": {store.Memory(), time.Second},
		"one that cannot be":      {unwatched{store.Memory()}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, worker := apart(t, c.db, newScripted(), nil)
				defer closeFleet(t, worker)
				defer closeFleet(t, client)
				begin := time.Now()
				if got := ask(t, client, "ada", "hello"); got != "heard hello" {
					t.Errorf("answer %q", got)
				}
				if took := time.Since(begin); took > c.most {
					t.Errorf("it took %v", took)
				}
				<-time.After(time.Minute)
				if got := ask(t, client, "ada", "again"); got != "heard hello, again" {
					t.Errorf("answer %q", got)
				}
			})
		})
	}
}

// Prompts whose announcement was lost are found when the store reports that some may
// have been, and their followers learn about their outcomes.
func TestMissedAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &notifying{MemoryStore: store.Memory()}
		client, worker := apart(t, db, newScripted(), func(o *fleet.Options) { o.Poll = time.Hour })
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		db.silent.Store(true)
		id := send(t, client, "ada", "hello")
		<-time.After(time.Minute)
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptQueued {
			t.Fatalf("nobody was told: %+v", o)
		}
		db.silent.Store(false)
		db.tell(store.Changed{})
		<-time.After(time.Second)
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
	})
}

// reading counts how often records are read.
type reading struct {
	*notifying
	reads atomic.Int64
}

func (r *reading) View(ctx context.Context, v store.View) ([]store.Record, error) {
	r.reads.Add(1)
	return r.notifying.View(ctx, v)
}

// The announcement of a prompt that was accepted here may be among those that were
// lost. So the next one is not taken for it.
func TestMissedAnnouncementOfOurOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &reading{notifying: &notifying{MemoryStore: store.Memory()}}
		client := open(t, db, newScripted(), func(o *fleet.Options) { o.Session, o.MaxLive, o.Poll = nil, fleet.NoCLIs, time.Hour })
		defer closeFleet(t, client)
		db.silent.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range client.Run(ctx, "ada", "hello") {
			}
		}()
		synctest.Wait()
		db.silent.Store(false)
		db.tell(store.Changed{})
		synctest.Wait()
		before := db.reads.Load()
		for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt"}, "") {
			if err != nil {
				t.Fatal(err)
			}
			db.tell(store.Changed{Record: r.Key, Revision: r.Revision + 1})
		}
		synctest.Wait()
		if db.reads.Load() == before {
			t.Error("the prompt has changed, and the one who watches it does not look")
		}
		cancel()
		<-done
	})
}

// A queue that others empty has room again.
func TestQueueEmptiedElsewhere(t *testing.T) {
	for _, db := range []store.Fleet{store.Memory(), unwatched{store.Memory()}} {
		synctest.Test(t, func(t *testing.T) {
			client := open(t, db, newScripted(), func(o *fleet.Options) { o.Session, o.MaxLive, o.Queue, o.QueueAll = nil, fleet.NoCLIs, 2, 2 })
			defer closeFleet(t, client)
			send(t, client, "ada", "one")
			send(t, client, "ada", "two")
			_, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "three"})
			if overloaded, ok := errors.AsType[*fleet.OverloadedError](err); !ok || overloaded.Wait <= 0 {
				t.Fatalf("a third: %v", err)
			}
			worker := open(t, db, newScripted(), nil)
			defer closeFleet(t, worker)
			<-time.After(time.Minute)
			send(t, client, "ada", "three")
		})
	}
}

// A watcher of a prompt that runs elsewhere learns that it waits for a person, and the
// decision is carried out there.
func TestDeferredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		client, worker := apart(t, db, newScripted(), func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Second} })
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		var last error
		for _, err := range client.Run(t.Context(), "ada", "tool 1") {
			last = err
		}
		waits, ok := errors.AsType[*fleet.DeferredError](last)
		if !ok || waits.Question == "" {
			t.Fatalf("the prompt: %v", last)
		}
		q, err := client.Approvals().Get(t.Context(), waits.Question)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "me", Digest: q.Digest}); err != nil {
			t.Fatal(err)
		}
		if o := outcome(t, client, "ada", waits.Prompt); o.Status == fleet.PromptWaiting {
			t.Errorf("decided, it waits for a person: %+v", o)
		}
		for _, err := range client.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: waits.Prompt, Text: "tool 1"}) {
			if err != nil {
				t.Errorf("followed again: %v", err)
			}
		}
		if got := ask(t, client, "ada", "more"); !strings.Contains(got, "more") {
			t.Errorf("answer %q", got)
		}
		begin := time.Now()
		for m, err := range client.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: waits.Prompt, Text: "tool 1"}) {
			if r, ok := m.(*message.Result); err != nil || !ok || r.Text != "It says: built" || time.Since(begin) > time.Second {
				t.Errorf("followed after its end: %+v, %v, after %v", m, err, time.Since(begin))
			}
		}
		if o := outcome(t, client, "ada", waits.Prompt); o.Status != fleet.PromptAnswered || o.Text != "It says: built" {
			t.Errorf("the prompt: %+v", o)
		}
	})
}

// Instructions for a conversation reach the process that runs it.
func TestControlElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{})
		client, worker := apart(t, store.Memory(), cli, nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		id := send(t, client, "ada", "hello")
		<-time.After(time.Second)
		if err := client.SetPermissionMode(t.Context(), "ada", permission.ModePlan); err != nil {
			t.Errorf("SetPermissionMode: %v", err)
		}
		if err := client.SetModel(t.Context(), "ada", "other"); err != nil {
			t.Errorf("SetModel: %v", err)
		}
		if err := client.Interrupt(t.Context(), "ada"); err != nil {
			t.Errorf("Interrupt: %v", err)
		}
		<-time.After(10 * time.Second)
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptFailed {
			t.Errorf("the interrupted prompt: %+v", o)
		}
		send(t, client, "ada", "more") // it is awake, and holds
		<-time.After(time.Second)
		if err := client.Delete(t.Context(), "ada"); err != nil {
			t.Errorf("Delete: %v", err)
		}
		if _, err := client.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("a deleted conversation: %v", err)
		}
		close(cli.hold)
		if got := ask(t, client, "bob", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
		<-time.After(5 * time.Minute)
		if err := client.SetModel(t.Context(), "bob", ""); err != nil {
			t.Errorf("SetModel of a conversation that sleeps: %v", err)
		}
	})
}

// A process runs only the conversations that it may run.
func TestRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var workers []*fleet.Fleet
		clis := map[string]*scripted{"gpu": newScripted(), "cpu": newScripted()}
		for _, label := range []string{"gpu", "cpu"} {
			workers = append(workers, open(t, db, clis[label], func(o *fleet.Options) {
				o.Runs = func(key string) bool { return strings.HasPrefix(key, label) }
			}))
			defer closeFleet(t, workers[len(workers)-1])
		}
		for _, key := range []string{"gpu-1", "cpu-1", "gpu-2"} {
			if got := ask(t, workers[0], key, key); got != "heard "+key {
				t.Errorf("answer %q", got)
			}
		}
		for label, want := range map[string][]string{"gpu": {"gpu-1", "gpu-2"}, "cpu": {"cpu-1"}} {
			if got := clis[label].calls; !slices.Equal(got, want) {
				t.Errorf("%s ran %q, want %q", label, got, want)
			}
		}
	})
}

// A turn of half an hour is run by the process that has begun it, whose lease lasts for
// half a minute, and by no other.
func TestLongTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, clis := store.Memory(), []*scripted{newScripted(), newScripted()}
		var workers []*fleet.Fleet
		for _, cli := range clis {
			cli.hold = make(chan struct{})
			workers = append(workers, open(t, db, cli, nil))
			defer closeFleet(t, workers[len(workers)-1])
		}
		id := send(t, workers[0], "ada", "long")
		<-time.After(30 * time.Minute)
		if o := outcome(t, workers[1], "ada", id); o.Status != fleet.PromptRunning {
			t.Errorf("after half an hour: %+v", o)
		}
		for _, cli := range clis {
			close(cli.hold)
		}
		<-time.After(time.Minute)
		if o := outcome(t, workers[1], "ada", id); o.Status != fleet.PromptAnswered || o.Text != "heard long" {
			t.Errorf("at the end: %+v", o)
		}
		if n := len(clis[0].calls) + len(clis[1].calls); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}
