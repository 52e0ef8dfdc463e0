//go:build unix

package natsfleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// What a worker sends, as diePoint sees it.
const (
	sendsLease   = `^HPUB \S+\.l\.p\.\S+\.o .*"ttl":[1-9]`
	sendsEpoch   = `^HPUB \S+\.l\.p\.\S+\.e .*\{"nonce":"[^"]`
	endsEpoch    = `^HPUB \S+\.l\.p\.\S+\.e .*"free":true`
	freesLease   = `^HPUB \S+\.l\.p\.\S+\.o .*"free":true`
	sendsGuard   = `^HPUB \S+\.l\.p\.\S+\.g `
	sendsPrompt  = `^HPUB \S+\.r\.p\.prompt\.c\.`
	dropsPrompt  = `^HPUB \S+\.r\.p\.prompt\.c\..*Gone: 1`
	sendsRecord  = `^HPUB \S+\.r\.p\.conversation\.c\.`
	sendsEntries = `^HPUB \S+\.t\.p\.\S+\.e `
	sendsOutcome = `^HPUB \S+\.r\.p\.outcome\.c\.`
	asksQuestion = `^HPUB \S+\.r\.p\.question\.[^$]`
)

// diePoints are the moments at which a worker is killed: before each thing that it
// stores in the life of a prompt, and of a call that waits for a person.
var diePoints = []struct {
	name string
	at   diePoint
	tool bool // the prompt calls a tool that a person is asked about
}{
	{"prompt noticed", diePoint{Before: sendsLease}, false},
	{"lease taken, no epoch", diePoint{Before: sendsEpoch}, false},
	{"epoch begun", diePoint{Before: sendsGuard}, false},
	{"half of an atomic batch sent", diePoint{Before: sendsPrompt}, false},
	{"turn counted as begun", diePoint{Before: sendsRecord}, false},
	{"session chosen, nothing stored", diePoint{Before: sendsEntries}, false},
	{"between two batches of a transcript", diePoint{Before: sendsEntries, Times: 1}, false},
	{"turn stored, cost not", diePoint{Before: sendsRecord, Times: 1}, false},
	{"cost sent, outcome not", diePoint{Before: sendsOutcome}, false},
	{"outcome sent, prompt in the queue", diePoint{Before: dropsPrompt}, false},
	{"outcome stored, next not begun", diePoint{Before: sendsPrompt, Times: 2}, false},
	{"second prompt begun", diePoint{Before: sendsEntries, Times: 2}, false},
	{"queue empty, lease held", diePoint{Before: endsEpoch}, false},
	{"epoch ended, lease held", diePoint{Before: freesLease}, false},

	{"call made, nobody asked", diePoint{Before: asksQuestion}, true},
	{"question asked, call not deferred", diePoint{Before: asksQuestion, Times: 1}, true},
	{"call deferred, not stored", diePoint{Before: sendsEntries + ".*hook_deferred_tool"}, true},
	{"call deferred, not written down", diePoint{Before: sendsPrompt, Times: 1}, true},
	{"parked, lease held", diePoint{Before: endsEpoch}, true},
	{"decided, not resumed", diePoint{Before: sendsPrompt, Times: 2}, true},
	{"resumed, call not made", diePoint{Before: asksQuestion, Times: 3}, true},
	{"call made, not stored", diePoint{Before: asksQuestion, Times: 4}, true},
}

// A worker is killed by SIGKILL at each point. Another one answers what it has left,
// once and in order, and makes no call a second time.
func TestWorkerDiesAnywhere(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, 4)
	for i, p := range diePoints {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(p.name, func(t *testing.T) { dieAt(t, c.URL(), fmt.Sprint("point-", i), beside{}, p.at, p.tool) })
		})
	}
}

func dieAt(t *testing.T, url, name string, b beside, at diePoint, tool bool) {
	client, err := natsfleet.Connect(t.Context(), b.options(natsfleet.Options{URL: url, Name: name, Project: "p", Logger: quiet()}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, client)
	texts := []string{"one", "two"}
	if tool {
		texts = []string{"tool one"}
		stop := decideAll(t, client)
		defer stop()
	}
	victim := startWorkerProcess(t, workerRole{URL: url, Name: name, Answers: true, TTL: time.Second, Attempts: 1000, IdleAfter: 100 * time.Millisecond, Patience: 50 * time.Millisecond, DieAt: &at, Beside: b, CompactAt: b.compactAt()})
	accepted := map[string][]sent{}
	for _, text := range texts {
		id, err := persist(t.Context(), client, "ada", text)
		if err != nil {
			t.Fatal(err)
		}
		accepted["ada"] = append(accepted["ada"], sent{id, text})
	}
	last := accepted["ada"][len(texts)-1].id
	// A client that follows the prompt from the beginning learns about its outcome, whichever worker stored it.
	followed := make(chan struct{})
	var lost error
	go func() {
		defer close(followed)
		lost = followToEnd(t.Context(), client, "ada", last)
	}()
	victim.dies(followed)
	ran := victim.drain("the tool runs")
	rescuer, ranAgain := startRescuer(t, url, name, b)
	defer shut(t, rescuer)
	if <-followed; lost != nil {
		t.Fatal(lost)
	}
	if b.Archive != "" { // it is woken once more
		id, err := persist(t.Context(), client, "ada", "three")
		if err != nil {
			t.Fatal(err)
		}
		accepted["ada"] = append(accepted["ada"], sent{id, "three"})
		ends(t, client, "ada", id)
	}
	if tool {
		o, err := client.Prompt(t.Context(), "ada", last)
		total := ran + int(ranAgain.Load())
		unknown := err == nil && (strings.Contains(o.Text, "not known whether it ran") || strings.Contains(o.Text, "outcome is unknown"))
		if err != nil || o.Status != fleet.PromptAnswered || total > 1 || total == 0 && !unknown || ran == 1 && ranAgain.Load() == 1 {
			t.Errorf("the tool ran %d times, then %d times; %s %q, %v", ran, ranAgain.Load(), o.Status, o.Text, err)
		}
		return
	}
	judge(t, url, name, b, accepted)
}

// dies waits until a worker has died at its point: while its prompts run, however long
// they take, or when they have ended and it gives the conversation up.
func (p *process) dies(ended <-chan struct{}) {
	p.t.Helper()
	select {
	case <-p.end:
		return
	case <-ended:
	}
	select {
	case <-p.end:
	case <-time.After(bound):
		p.t.Fatal("it does not come to this point")
	}
}

// drain counts a line in what a process that has ended has said.
func (p *process) drain(want string) (n int) {
	for line := range p.out {
		if line == want {
			n++
		}
	}
	return n
}

// startRescuer starts a worker in this process, and counts the calls of its tools.
func startRescuer(t *testing.T, url, name string, b beside) (*natsfleet.Worker, *atomic.Int64) {
	t.Helper()
	ran := new(atomic.Int64)
	cli := workerRole{Answers: true}.scripted(nil, func() { ran.Add(1) })
	w, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{
		Options: b.options(natsfleet.Options{URL: url, Name: name, Project: "p", Logger: quiet()}, nil),
		// A busy machine may lose it its lease.
		Fleet: fleet.Options{TTL: 5 * time.Second, Attempts: 1000, Journal: t.TempDir(), Gate: &approval.Options{Patience: 50 * time.Millisecond}, Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/b"}, Logger: quiet()}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, ran
}

// decideAll allows every call that a person is asked about, once it is deferred.
func decideAll(t *testing.T, f *natsfleet.Client) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for q, err := range f.Approvals().Watch(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
			if err != nil {
				return
			}
			if q.Deferred && slices.Contains([]approval.State{approval.StateOpen}, q.State) {
				allow(t, f, q)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
