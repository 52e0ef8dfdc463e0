package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// follower follows the prompts of a fleet and the sessions of its CLIs, and
// counts what has begun and not ended.
type follower struct {
	mu   sync.Mutex
	open map[string]int
	seen []string
	load fleet.TraceLoad
	most fleet.TraceLoad
}

func (r *follower) add(what string, n int, seen ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = make(map[string]int)
	}
	r.open[what] += n
	r.seen = append(r.seen, seen...)
}

// left names the traces that have not ended, or ended twice; "" for none.
func (r *follower) left() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(r.open)) {
		if n := r.open[what]; n != 0 {
			all = append(all, fmt.Sprintf("%s: %d", what, n))
		}
	}
	if r.load != (fleet.TraceLoad{}) {
		all = append(all, fmt.Sprintf("load: %+v", r.load))
	}
	return strings.Join(all, ", ")
}

// carriedKey is for the prompt that a context belongs to.
type carriedKey struct{}

func (r *follower) trace() *fleet.PromptTrace {
	return &fleet.PromptTrace{
		Sending: func(ctx context.Context, p fleet.TracePrompt) (map[string]string, func(string, error)) {
			r.add("sending", 1)
			return map[string]string{"via": "sent"}, func(id string, err error) {
				r.add("sending", -1, fmt.Sprintf("sent %t", id != "" && err == nil))
			}
		},
		Running: func(ctx context.Context, p fleet.TracePrompt) (context.Context, func(fleet.TraceOutcome) map[string]string) {
			r.add("running", 1, fmt.Sprintf("%s %d %s", p.Work, p.Attempt, p.Carrier["via"]))
			ctx = context.WithValue(ctx, carriedKey{}, p.ID)
			return ctx, func(o fleet.TraceOutcome) map[string]string {
				r.add("running", -1, fmt.Sprintf("%s %t", o.Status, o.Err == nil))
				return map[string]string{"via": p.Carrier["via"] + "," + string(p.Work)}
			}
		},
		Load: func(l fleet.TraceLoad) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.load = l
			r.most = fleet.TraceLoad{Queued: max(r.most.Queued, l.Queued), Live: max(r.most.Live, l.Live)}
		},
	}
}

// session follows a session of a CLI.
func (r *follower) session() *claude.Trace {
	return &claude.Trace{
		Starting: func(ctx context.Context, _ *claude.TraceStart) *claude.Trace {
			r.add("session", 1, fmt.Sprintf("session of a prompt %t", ctx.Value(carriedKey{}) != nil))
			return nil
		},
		PromptSending: func(ctx context.Context, id string) func(error) {
			r.add("prompt", 0, fmt.Sprintf("its own prompt %t", ctx.Value(carriedKey{}) == id))
			return nil
		},
		Ended:           func(error) { r.add("session", -1) },
		CallbackStarted: func(claude.TraceCallback) { r.add("callback", 1) },
		CallbackDone:    func(claude.TraceCallback) { r.add("callback", -1) },
		CloseWait:       time.Second,
	}
}

// install lets the follower follow a fleet.
func (r *follower) install(o *fleet.Options) {
	o.Trace = r.trace()
	options := o.Session
	o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
		opts, err := options(ctx, key)
		if err == nil {
			opts.Trace = r.session()
		}
		return opts, err
	}
}

// sentFirst puts the events of Send before the rest: a prompt may begin before Send
// returns.
func sentFirst(all []string) (sorted []string) {
	var rest []string
	for _, s := range all {
		if strings.HasPrefix(s, "sent ") {
			sorted = append(sorted, s)
		} else {
			rest = append(rest, s)
		}
	}
	return append(sorted, rest...)
}

func (r *follower) want(t *testing.T, seen ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen, seen = sentFirst(r.seen), sentFirst(seen); !slices.Equal(r.seen, seen) {
		t.Errorf("seen\n%s\nwant\n%s", strings.Join(r.seen, "\n"), strings.Join(seen, "\n"))
	}
	r.seen = nil
}

// A prompt is followed from Send to its outcome, over a deferral and the end of
// the process that accepted it.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli, r := store.Memory(), newScripted(), new(follower)
		change := func(o *fleet.Options) {
			o.Gate = &approval.Options{Patience: time.Minute}
			r.install(o)
		}
		f := open(t, db, cli, change)
		if _, err := result(f.Run(t.Context(), "ada", "tool 1")); !errors.As(err, new(*fleet.DeferredError)) {
			t.Fatalf("not deferred: %v", err)
		}
		q := question(t, f)
		synctest.Wait()
		if r.load.Queued != 1 || r.most.Live != 1 {
			t.Errorf("load %+v, most %+v", r.load, r.most)
		}
		closeFleet(t, f)
		if left := r.left(); left != "" {
			t.Errorf("not ended: %s", left)
		}
		r.want(t, "sent true", "begins 1 sent", "session of a prompt true", "its own prompt true", "waiting true")

		f = open(t, db, cli, change)
		decide(t, f, q, permission.Allow())
		<-time.After(time.Minute)
		closeFleet(t, f)
		if left := r.left(); left != "" {
			t.Errorf("not ended: %s", left)
		}
		r.want(t, "decided 1 sent,begins", "session of a prompt true", "answered true")
	})
}

// What fails, is refused or breaks off has an end as well.
func TestTraceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli, r := store.Memory(), newScripted(), new(follower)
		cli.hold = make(chan struct{})
		m := start(t, db, cli, func(o *fleet.Options) {
			o.Queue = 1
			r.install(o)
		})
		send(t, m.fleet, "ada", "hello")
		if _, err := m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: "too much"}); !errors.Is(err, fleet.ErrOverloaded) {
			t.Errorf("Send = %v", err)
		}
		crash(t, m)
		if left := r.left(); left != "" {
			t.Errorf("not ended: %s", left)
		}
		r.want(t, "sent true", "begins 1 sent", "session of a prompt true", "its own prompt true", "sent false", "running false")

		close(cli.hold)
		f := open(t, db, cli, func(o *fleet.Options) { r.install(o) })
		<-time.After(time.Minute)
		closeFleet(t, f)
		if left := r.left(); left != "" {
			t.Errorf("not ended: %s", left)
		}
		r.want(t, "resumed 2 sent", "session of a prompt true", "answered true")
	})
}
