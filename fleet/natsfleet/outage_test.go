//go:build unix

package natsfleet_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
)

// scaled is a time of a test with -full, and what is enough otherwise.
func scaled(whole, enough time.Duration) time.Duration {
	if *full {
		return whole
	}
	return enough
}

// Many prompts are answered once and in order while the leading server is killed
// and comes back, while no one reaches the store for a while, while each worker in
// turn is killed, and while each is suspended for longer than its lease.
func TestEachInTurn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	workers := 2
	if *full {
		workers = 4
	}
	eachWorker := func(do func(*workforce, int)) func(*workforce) {
		return func(c *workforce) {
			for i := range c.workers {
				do(c, i)
			}
		}
	}
	away, stopped := scaled(10*time.Second, 2*time.Second), 2*faultTTL // long enough for another one to take over, on a busy machine too
	for name, f := range map[string]struct {
		happens func(*workforce)
		lasts   time.Duration // about
		fenced  bool          // an owner is replaced, and the store refuses its writes
		alone   bool          // it happens to every process in the lab
	}{
		"the server that leads is killed": {func(c *workforce) {
			i := c.l.current(c.name)
			c.l.nodes[i].kill()
			<-time.After(away)
			c.l.startNode(i)
		}, away, false, true},
		"nobody reaches the store":  {func(c *workforce) { during(c.all(), (*gate).close, away) }, away, false, false},
		"the store does not answer": {func(c *workforce) { during(c.all(), (*gate).hold, away) }, away, false, false},
		"workers are killed": {eachWorker(func(c *workforce, i int) {
			c.workers[i].kill()
			c.start(i)
			c.workers[i].says("started")
		}), 2 * time.Second, false, false},
		"workers are stopped past the lease": {eachWorker(func(c *workforce, i int) { c.suspend(c.workers[i], stopped) }), time.Duration(workers) * stopped, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			if !f.alone {
				t.Parallel()
			}
			c := startWorkforce(l.within(t), "x"+fmt.Sprint(len(name)), beside{}, workers, 4)
			for _, w := range c.workers {
				w.says("started")
			}
			var wg sync.WaitGroup
			wg.Go(func() { f.happens(c) })
			conversations, prompts := size()
			accepted := c.talk(conversations, prompts, func() time.Duration { return f.lasts / time.Duration(prompts) })
			wg.Wait()
			c.judge(accepted)
			refused := c.refusals()
			if f.fenced { // the last one may just be waking up
				eventually(t, "nothing was refused to a worker that was replaced", func() bool {
					refused += c.refusals()
					return refused > 0
				})
			}
			t.Logf("%d prompts, %d refusals", conversations*prompts, refused)
		})
	}
}

// A node that leads the stream loses its routes to the others, and gets them back.
// With -cuts 30, that happens 30 times, for 12 s each.
func TestRoutesCut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for n := range *cuts {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			lasts := 12 * time.Second
			if *cuts == 1 {
				lasts = 6 * time.Second // an election takes less
			}
			begin := time.Now()
			c := startWorkforce(l.within(t), fmt.Sprint("cut-", n), beside{}, 2, 4)
			var wg sync.WaitGroup
			wg.Go(func() { during(l.around(c.l.current(c.name)), (*gate).close, lasts) })
			conversations, prompts := size()
			accepted := c.talk(conversations, prompts, func() time.Duration { return lasts / time.Duration(prompts) })
			wg.Wait()
			c.judge(accepted)
			t.Logf("%d prompts, %v", conversations*prompts, time.Since(begin))
		})
	}
}

// All servers are killed and start again from their disks: prompts that wait, calls
// that wait for a person, and transcripts are there.
func TestServersKilled(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	client, err := natsfleet.Connect(t.Context(), natsfleet.Options{URL: l.clients.url(), Name: "disk", Project: "p", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, client)
	w := startWorkerProcess(t, workerRole{URL: l.clients.url(), Name: "disk", Answers: true, Patience: 50 * time.Millisecond})
	accepted := make(map[string][]sent)
	say := func(text string) string {
		id, err := persist(t.Context(), client, "ada", text)
		if err != nil {
			t.Fatal(err)
		}
		accepted["ada"] = append(accepted["ada"], sent{id, text})
		return id
	}
	if err := followToEnd(t.Context(), client, "ada", say("one")); err != nil {
		t.Fatal(err)
	}
	waits, q := deferred(t, client, "bob", "tool one")
	w.signal(syscall.SIGKILL)
	<-w.end
	last := say("two")
	for _, n := range l.nodes {
		n.kill()
	}
	for i := range l.nodes {
		l.startNode(i)
	}
	l.current("disk")
	if q, err := client.Approvals().Get(t.Context(), q.ID); err != nil || q.State != approval.StateOpen {
		t.Errorf("the question: %+v, %v", q, err)
	}
	if o, err := client.Prompt(t.Context(), "ada", last); err != nil || o.Status != fleet.PromptQueued {
		t.Errorf("the prompt that waits: %+v, %v", o, err)
	}
	rescuer, ran := startRescuer(t, l.clients.url(), "disk", beside{})
	defer shut(t, rescuer)
	allow(t, client, q)
	if o := ends(t, client, "bob", waits); o.Text != "It says: built" || ran.Load() != 1 {
		t.Errorf("the call: %+v, it ran %d times", o, ran.Load())
	}
	if err := followToEnd(t.Context(), client, "ada", last); err != nil {
		t.Fatal(err)
	}
	judge(t, l.clients.url(), "disk", beside{}, accepted)
}
