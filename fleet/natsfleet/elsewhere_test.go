package natsfleet_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// A client copies a conversation while a worker runs it, and workers run only the
// conversations that they may run.
func TestForkAndLabels(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	asked := map[string]*atomic.Int64{"gpu": new(atomic.Int64), "cpu": new(atomic.Int64)}
	for label, n := range asked {
		startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
			n.Add(1)
			return heard(call)
		}, func(o *fleet.Options) {
			o.Runs = func(key string) bool { return strings.HasPrefix(key, label) }
		})
	}
	client := connect(t, c.URL())
	if text, err := answer(t.Context(), client, "gpu/ada", "one"); err != nil || text != "heard one" {
		t.Fatalf("%q, %v", text, err)
	}
	if err := client.Fork(t.Context(), "gpu/ada", "cpu/copy", ""); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"gpu/ada": "heard one, two", "cpu/copy": "heard one, two"} {
		if text, err := answer(t.Context(), client, key, "two"); err != nil || text != want {
			t.Errorf("%s: %q, %v", key, text, err)
		}
	}
	if gpu, cpu := asked["gpu"].Load(), asked["cpu"].Load(); gpu != 2 || cpu != 1 {
		t.Errorf("the model was asked %d times here and %d times there", gpu, cpu)
	}
}

// A worker fails at a prompt each time. A watcher on another machine learns why, and
// can let the worker try it again.
func TestStuckElsewhere(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var mended atomic.Bool
	startWorker(t, c.URL(), heard, func(o *fleet.Options) {
		usual := o.Session
		o.Attempts = 1
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if !mended.Load() {
				return nil, errors.New("no such repository")
			}
			return usual(ctx, key)
		}
	})
	client := connect(t, c.URL())
	begin := time.Now()
	_, err := answer(t.Context(), client, "ada", "one")
	stuck, ok := errors.AsType[*fleet.StuckError](err)
	if !ok || !strings.Contains(stuck.Reason, "no such repository") {
		t.Fatalf("the watcher gets %v", err)
	}
	if d := time.Since(begin); d > 10*time.Second { // shorter than the poll interval: the store notifies
		t.Errorf("that took %v", d)
	}
	id := stuck.Prompt
	if o, err := client.Prompt(t.Context(), "ada", id); err != nil || o.Status != fleet.PromptStuck || o.Error != stuck.Reason {
		t.Errorf("its ticket: %+v, %v", o, err)
	}
	for info, err := range client.List(t.Context()) {
		if err != nil || info.Key != "ada" || info.State != fleet.StateStuck || info.Stuck != stuck.Reason {
			t.Errorf("in the list: %+v, %v", info, err)
		}
	}
	mended.Store(true)
	if err := client.Retry(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if o := ends(t, client, "ada", id); o.Text != "heard one" {
		t.Errorf("%+v", o)
	}
}

// Only the worker that has begun a turn runs it, even if the turn outlasts a lease.
func TestLongTurn(t *testing.T) {
	long.Test(t, "lasts for more than two leases")
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var asked atomic.Int64
	for range 2 {
		startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
			asked.Add(1)
			return heard(call).After(25 * time.Second)
		}, func(o *fleet.Options) { o.TTL, o.Poll = 10*time.Second, 100*time.Millisecond })
	}
	if text, err := answer(t.Context(), connect(t, c.URL()), "ada", "long"); err != nil || text != "heard long" || asked.Load() != 1 {
		t.Errorf("%q, %v; the model was asked %d times", text, err, asked.Load())
	}
}

// A worker that does not reach the servers ends its CLI before its lease can be
// taken.
func TestWorkerCutOff(t *testing.T) {
	t.Parallel()
	// The CLI must end in the last tenth of this. A busy machine needs that long.
	const ttl = 10 * time.Second
	c := natstest.Start(t, natstest.Options{})
	g := newGate(t, strings.TrimPrefix(c.URL(), "nats://"))
	asked, aborted := make(chan struct{}), make(chan struct{})
	startWorker(t, g.url(), func(call *claudetest.ModelCall) claudetest.Reply {
		close(asked)
		<-call.Context().Done()
		close(aborted)
		return heard(call)
	}, func(o *fleet.Options) { o.TTL, o.Attempts = ttl, 1 })
	client := connect(t, c.URL())
	id, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	g.hold()
	startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
		select {
		case <-aborted:
		default:
			t.Error("another worker runs the turn, and the CLI of the first is alive")
		}
		return heard(call)
	}, func(o *fleet.Options) { o.TTL = ttl })
	if o := ends(t, client, "ada", id); o.Text != "heard one" {
		t.Errorf("%+v", o)
	}
	g.heal()
}
