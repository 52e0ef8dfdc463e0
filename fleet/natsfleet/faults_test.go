//go:build unix

package natsfleet_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
)

var (
	seeds     = flag.Int("seeds", 1, "how many schedules of random faults to run")
	firstSeed = flag.Uint64("first", 1, "the seed of the first schedule")
	cuts      = flag.Int("cuts", 1, "how often to cut a node off; more than once, for 12 s")
)

// workforce is the workers of a fleet in a lab, each in a process of its own, with a way
// of its own to the servers.
type workforce struct {
	l       *lab
	name    string // of the fleet
	client  *natsfleet.Client
	here    *natsfleet.Worker // in this process, nil if there is none
	ways    []way             // that of the worker in this process last
	workers []*process
	role    workerRole
}

// faultTTL is the lease of workers that faults happen to. It does not outlast an
// election, so that the tests lose leases.
const faultTTL = 4 * time.Second

// startWorkforce starts workers, each of which runs a number of conversations at once.
func startWorkforce(l *lab, name string, b beside, n, live int) *workforce {
	l.t.Helper()
	c := &workforce{l: l, name: name, role: workerRole{Name: name, Beside: b, CompactAt: b.compactAt(), IdleAfter: b.idleAfter(), Answers: true, TTL: faultTTL, MaxLive: live, Attempts: 1000, Poll: 2 * time.Second}}
	// One after another would take a while.
	c.workers = make([]*process, n)
	for range n {
		c.ways = append(c.ways, l.newWay())
	}
	var err error
	if c.client, err = natsfleet.Connect(l.t.Context(), b.options(natsfleet.Options{URL: l.clients.url(), Name: name, Project: "p", Logger: quiet()}, nil)); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { shut(l.t, c.client) })
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { c.start(i) })
	}
	wg.Wait()
	return c
}

// start starts a worker, or another one in the place of one that is gone.
func (c *workforce) start(i int) {
	r := c.role
	r.URL, r.Journal = c.ways[i].url(), c.l.t.TempDir()
	c.workers[i] = startProcess(c.l.t, roles{Worker: &r})
}

// startHere starts a worker in this process. A prompt that is sent by the process that
// runs its conversation may begin without being queued.
func (c *workforce) startHere() {
	t := c.l.t
	c.ways = append(c.ways, c.l.newWay())
	r := c.role
	r.URL, r.Journal, r.MaxLive = c.ways[len(c.ways)-1].url(), t.TempDir(), 6
	var err error
	if c.here, err = natsfleet.StartWorker(t.Context(), r.options(r.scripted(nil, nil), func(string) {})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, c.here) })
}

// sender is who sends a prompt of a conversation: always the client, always the worker in
// this process, or each in turn.
func (c *workforce) sender(conversation, prompt int) fleet.Conversations {
	if c.here == nil || conversation%3 == 0 || conversation%3 == 1 && prompt%2 == 0 {
		return c.client
	}
	return c.here
}

// all are the ways of all clients and workers.
func (c *workforce) all() way {
	all := append(way(nil), c.l.clients...)
	for _, w := range c.ways {
		all = append(all, w...)
	}
	return all
}

// talk sends prompts to many conversations, and returns those that were accepted
// when all of them have ended. Between two prompts it waits for the duration that
// pause returns.
func (c *workforce) talk(conversations, prompts int, pause func() time.Duration) map[string][]sent {
	t := c.l.t
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		accepted = make(map[string][]sent)
	)
	for n := range conversations {
		key := fmt.Sprintf("tenant-%d/user-%d", n%3, n)
		wg.Go(func() {
			var all []sent
			for p := range prompts {
				text := fmt.Sprintf("%d.%d", n, p)
				id, err := persist(ctx, c.sender(n, p), key, text)
				if err != nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				all = append(all, sent{id, text})
				<-time.After(pause())
			}
			mu.Lock()
			accepted[key] = all
			mu.Unlock()
			if err := followToEnd(ctx, c.client, key, all[len(all)-1].id); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	wg.Wait()
	return accepted
}

// refusals counts what the store refused to those workers in other processes that still
// run, because another owned the conversation.
func (c *workforce) refusals() (n int) {
	for _, p := range c.workers {
		for len(p.out) > 0 {
			if line := <-p.out; strings.HasPrefix(line, "refused") {
				n++
			}
		}
	}
	return n
}

// judge reads the stream when all replicas are current, and lets the checker look at
// it.
func (c *workforce) judge(accepted map[string][]sent) {
	c.l.current(c.name)
	judge(c.l.t, c.l.clients.url(), c.name, c.role.Beside, accepted)
}

// A fault happens, lasts for a while, and is over.
type fault struct {
	name string
	do   func(c *workforce, i int, lasts time.Duration)
}

func (c *workforce) suspend(p *process, lasts time.Duration) {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.l.t.Errorf("a process that is to be suspended: %v", err)
	}
	<-time.After(lasts)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it was there
}

// pause suspends a worker. For the one in this process, its traffic is delayed
// instead.
func (c *workforce) pause(i int, lasts time.Duration) {
	if i == len(c.workers) {
		during(c.ways[i], (*gate).hold, lasts)
		return
	}
	c.suspend(c.workers[i], lasts)
}

func during(w way, begin func(*gate), lasts time.Duration) {
	w.each(begin)
	<-time.After(lasts)
	w.each((*gate).heal)
}

// nodeFaults happen to one of three servers, workerFaults to one of the workers, or
// to all ways to the servers.
var nodeFaults = []fault{
	{"kill node", func(c *workforce, i int, lasts time.Duration) {
		c.l.nodes[i].kill()
		<-time.After(lasts)
		c.l.startNode(i)
	}},
	{"pause node", func(c *workforce, i int, lasts time.Duration) { c.suspend(c.l.nodes[i], lasts) }},
	{"cut node", func(c *workforce, i int, lasts time.Duration) { during(c.l.around(i), (*gate).close, lasts) }},
	{"hold up node", func(c *workforce, i int, lasts time.Duration) { during(c.l.around(i), (*gate).hold, lasts) }},
	{"slow node", func(c *workforce, i int, lasts time.Duration) {
		during(c.l.around(i), func(g *gate) { g.slow(lasts / 50) }, lasts)
	}},
}

var workerFaults = []fault{
	{"kill worker", func(c *workforce, i int, lasts time.Duration) {
		if i == len(c.workers) { // it is in this process
			during(c.ways[i], (*gate).close, lasts)
			return
		}
		c.workers[i].kill()
		<-time.After(lasts)
		c.start(i)
	}},
	{"pause worker", func(c *workforce, i int, lasts time.Duration) { c.pause(i, lasts) }},
	{"pause worker past its lease", func(c *workforce, i int, lasts time.Duration) { c.pause(i, faultTTL+lasts) }},
	{"cut worker", func(c *workforce, i int, lasts time.Duration) { during(c.ways[i], (*gate).close, lasts) }},
	{"hold up worker", func(c *workforce, i int, lasts time.Duration) { during(c.ways[i], (*gate).hold, faultTTL+lasts) }},
	{"slow worker", func(c *workforce, i int, lasts time.Duration) {
		during(c.ways[i], func(g *gate) { g.slow(lasts / 50) }, lasts)
	}},
	{"cut the store", func(c *workforce, _ int, lasts time.Duration) { during(c.all(), (*gate).close, lasts) }},
	{"hold up the store", func(c *workforce, _ int, lasts time.Duration) { during(c.all(), (*gate).hold, lasts) }},
}

// suffer lets faults happen, one after another, and returns their names.
func (c *workforce) suffer(r *rand.Rand, faults []fault, count, victims int) (names []string) {
	for range count {
		<-time.After(time.Duration(r.IntN(800)) * time.Millisecond)
		f, i, lasts := faults[r.IntN(len(faults))], r.IntN(victims), time.Duration(200+r.IntN(2500))*time.Millisecond
		names = append(names, fmt.Sprintf("%s %d for %v", f.name, i, lasts))
		f.do(c, i, lasts)
	}
	return names
}

// outsideFault and archiveFault happen to a store beside the stream.
var (
	outsideFault = fault{"stop the store of the transcripts", func(c *workforce, _ int, lasts time.Duration) {
		c.stopStore(c.role.Beside.Transcripts, lasts)
	}}
	archiveFault = fault{"stop the archive", func(c *workforce, _ int, lasts time.Duration) { c.stopStore(c.role.Beside.Archive, lasts) }}
)

func (c *workforce) stopStore(dir string, lasts time.Duration) {
	start, err := newWatched(dir, nil).stop()
	if err != nil {
		c.l.t.Error(err)
	}
	<-time.After(lasts)
	start()
}

// Whatever happens to servers, workers and the network between them, every prompt
// that was accepted is answered once and in order, and no owner writes when it is not
// one. 500 schedules are run by -seeds 500.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for seed := *firstSeed; seed < *firstSeed+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			schedule(startWorkforce(l.within(t), fmt.Sprint("seed-", seed), beside{}, 3, 2), seed, nodeFaults, workerFaults)
		})
	}
}

// The same holds if the transcripts are in another store, which may be down too. 500
// schedules are run by -seeds 500.
func TestRandomFaultsOutside(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	faults := append([]fault{outsideFault, outsideFault}, workerFaults...)
	for seed := *firstSeed; seed < *firstSeed+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			schedule(startWorkforce(l.within(t), fmt.Sprint("outside-", seed), beside{Transcripts: t.TempDir()}, 3, 2), seed, nodeFaults, faults)
		})
	}
}

// The same holds if conversations are archived as soon as they rest.
func TestRandomFaultsArchive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	faults := append([]fault{archiveFault, archiveFault}, workerFaults...)
	for seed := *firstSeed; seed < *firstSeed+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			schedule(startWorkforce(l.within(t), fmt.Sprint("archive-", seed), beside{Archive: t.TempDir(), After: 300 * time.Millisecond}, 3, 2), seed, nodeFaults, faults)
		})
	}
}

// schedule lets random faults happen while prompts are sent, and judges what is left.
func schedule(c *workforce, seed uint64, nodeFaults, workerFaults []fault) {
	begin := time.Now()
	c.startHere()
	atOnce := c.countAtOnce()
	r := rand.New(rand.NewPCG(seed, 22))
	var (
		wg                     sync.WaitGroup
		happenedHere, andThere []string
		pauses                 = rand.New(rand.NewPCG(seed, 1))
		mu                     sync.Mutex
	)
	nodes, workers := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 3))
	toNodes, toWorkers := 1+r.IntN(2), 2+r.IntN(3)
	wg.Go(func() { happenedHere = c.suffer(nodes, nodeFaults, toNodes, 3) })
	wg.Go(func() { andThere = c.suffer(workers, workerFaults, toWorkers, len(c.ways)) })
	accepted := c.talk(6, 4, func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(pauses.IntN(1500)) * time.Millisecond
	})
	wg.Wait()
	c.judge(accepted)
	c.l.t.Logf("%q %q, %v; %d prompts were not queued", happenedHere, andThere, time.Since(begin), atOnce())
}

// countAtOnce counts the prompts that began without being queued, as far as it is told.
func (c *workforce) countAtOnce() (count func() int) {
	t := c.l.t
	var mu sync.Mutex
	names := make(map[string]bool)
	db := openNamed(t, c.l.clients.url(), c.name, c.role.Beside)
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	began := make(chan struct{})
	watching.Go(func() {
		begin := sync.OnceFunc(func() { close(began) })
		defer begin()
		for ch, err := range db.Watch(ctx, "p") {
			if err != nil {
				t.Error(err)
				return
			}
			begin()
			if parts := strings.Split(ch.Record.Name, "/"); ch.Record.Kind == "prompt" && len(parts) == 5 && parts[3] == "0" {
				mu.Lock()
				names[ch.Record.Name] = true
				mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { cancel(); watching.Wait() })
	<-began
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(names)
	}
}
