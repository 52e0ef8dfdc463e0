package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

var update = flag.Bool("update", false, "write testdata/writes.txt")

// writes is a store that notes what is written, in this order: which fields of a record
// change, whether the write has a fence, and what is written at once.
type writes struct {
	strict

	mu   sync.Mutex
	all  []string
	last map[store.RecordKey]map[string]string // the fields of each record
}

// take returns what was written since the last call.
func (w *writes) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

func (w *writes) note(f store.Fence, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if f.IsZero() {
		what += ", by anyone"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, what)
}

// byItself are kinds that a fleet cleans up now and then, whatever else it does.
func byItself(k store.RecordKey, drop bool) bool {
	return k.Kind == "outcomelog" || k.Kind == "ended" && drop
}

// change describes a change of a record, which has been made.
func (w *writes) change(k store.RecordKey, value []byte) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = make(map[store.RecordKey]map[string]string)
	}
	before := w.last[k]
	delete(w.last, k)
	if value == nil {
		return "drop " + k.Kind
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(value, &raw); err != nil {
		return err.Error()
	}
	now, verb := make(map[string]string), "change"
	if before == nil {
		verb = "put"
	}
	var fields []string
	for name, v := range raw {
		if now[name] = string(v); now[name] != before[name] {
			fields = append(fields, name)
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			fields = append(fields, "-"+name)
		}
	}
	w.last[k] = now
	slices.Sort(fields)
	return fmt.Sprintf("%s %s: %s", verb, k.Kind, strings.Join(fields, " "))
}

func (w *writes) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := w.strict.Change(ctx, f, c...)
	var made []string
	for _, one := range c {
		if err == nil && !byItself(one.Key, one.Drop) {
			made = append(made, w.change(one.Key, one.Value))
		}
	}
	if len(made) > 0 {
		w.note(f, "%s", strings.Join(made, "; "))
	}
	return next, err
}

func (w *writes) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	err := w.strict.Delete(ctx, k, f)
	if err == nil {
		w.note(f, "delete session")
	}
	return err
}

func (w *writes) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := w.strict.Acquire(ctx, project, name, owner, ttl)
	if err == nil && strings.HasPrefix(name, "fleet/") {
		w.note(l.Fence, "acquire")
	}
	return l, err
}

func (w *writes) Release(ctx context.Context, l store.Lease) error {
	err := w.strict.Release(ctx, l)
	if err == nil && strings.HasPrefix(l.Name, "fleet/") {
		w.note(l.Fence, "release")
	}
	return err
}

// passing are operations that only take time, or that nothing but the order of writes
// matters for.
var passing = map[string]operation{
	"a question expires": {
		prepare: func(r *faultRig) {
			r.must(1, "ada", "tool 1")
			<-time.After(time.Minute)
			r.must(2, "ada", "behind")
			r.leaveQuestion("ada")
		},
		do: func(context.Context, *faultRig) error { <-time.After(20 * time.Minute); return nil },
	},
	"close while a person is asked": {
		prepare: func(r *faultRig) { r.must(1, "ada", "tool 1") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Close(ctx) },
	},
	"close while a turn runs": {
		prepare: func(r *faultRig) { r.release = r.cli.pause(); r.must(1, "ada", "hello") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Close(ctx) },
	},
	"interrupt a turn with two questions": {
		prepare: func(r *faultRig) { r.must(1, "ada", "tool 1"); <-time.After(time.Minute); r.leaveQuestion("ada") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Interrupt(ctx, "ada") },
	},
	"cancel what is stuck with a question": {
		prepare: func(r *faultRig) {
			r.broken = true
			r.must(1, "stuck", "hello")
			<-time.After(2 * time.Minute)
			r.leaveQuestion("stuck")
		},
		do: func(ctx context.Context, r *faultRig) error { return r.f.Cancel(ctx, "stuck", promptID(1)) },
	},
	"open after a turn was cut off": {
		prepare: func(r *faultRig) { r.release = r.cli.pause(); r.must(1, "ada", "hello"); closeFleet(r.T, r.f) },
		do:      func(context.Context, *faultRig) error { return nil },
		again:   true,
	},
	"open after a decision": {
		prepare: func(r *faultRig) {
			r.must(1, "ada", "tool 1")
			r.asked = question(r.T, r.f)
			closeFleet(r.T, r.f)
			decideIn(r.T, approval.NewQuestions(r.db, "p"), r.asked, permission.Allow())
		},
		do:    func(context.Context, *faultRig) error { return nil },
		again: true,
	},
	"a call is deferred": {
		do: func(ctx context.Context, r *faultRig) error { return r.send(ctx, 1, "ada", "tool 1") },
	},
	"delete while a turn runs": {
		prepare: func(r *faultRig) { r.release = r.cli.pause(); r.must(1, "ada", "hello"); r.must(2, "ada", "behind") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Delete(ctx, "ada") },
	},
	"delete what is stuck": {
		prepare: func(r *faultRig) { r.broken = true; r.must(1, "stuck", "hello"); <-time.After(2 * time.Minute) },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Delete(ctx, "stuck") },
	},
	"send again what was answered": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello"); <-time.After(time.Minute) },
		do:      func(ctx context.Context, r *faultRig) error { return r.send(ctx, 1, "ada", "hello") },
	},
	"send again what waits": {
		prepare: func(r *faultRig) { r.release = r.cli.pause(); r.must(1, "ada", "hello"); r.must(2, "ada", "more") },
		do:      func(ctx context.Context, r *faultRig) error { return r.send(ctx, 2, "ada", "more") },
	},
	"cancel again": {
		prepare: func(r *faultRig) {
			release := r.cli.pause()
			r.must(1, "ada", "hello")
			r.must(2, "ada", "more")
			if err := r.f.Cancel(r.Context(), "ada", promptID(2)); err != nil {
				r.Fatal(err)
			}
			release()
			<-time.After(time.Minute)
		},
		do: func(ctx context.Context, r *faultRig) error { return r.f.Cancel(ctx, "ada", promptID(2)) },
	},
	"cancel what was answered": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello"); <-time.After(time.Minute) },
		do: func(ctx context.Context, r *faultRig) error {
			return refused(r.f.Cancel(ctx, "ada", promptID(1)), fleet.ErrBegun)
		},
	},
	"retry what is not stuck": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello"); <-time.After(time.Minute) },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Retry(ctx, "ada") },
	},
	"interrupt what does nothing": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello"); <-time.After(time.Minute) },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Interrupt(ctx, "ada") },
	},
	"describe in the same words": {
		prepare: func(r *faultRig) {
			if err := operations["describe"].do(r.Context(), r); err != nil {
				r.Fatal(err)
			}
		},
		do: operations["describe"].do,
	},
	"fork to a key that exists": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello"); r.must(2, "bob", "hello"); <-time.After(time.Minute) },
		do: func(ctx context.Context, r *faultRig) error {
			return refused(r.f.Fork(ctx, "ada", "bob", ""), fleet.ErrExists)
		},
	},
	"delete what does not exist": {
		do: func(ctx context.Context, r *faultRig) error { return refused(r.f.Delete(ctx, "ada"), fleet.ErrUnknown) },
	},
	"a conversation gets stuck": {
		prepare: func(r *faultRig) { r.broken = true },
		do: func(ctx context.Context, r *faultRig) error {
			defer func() { <-time.After(2 * time.Minute) }()
			return r.send(ctx, 1, "stuck", "hello")
		},
	},
}

// refused returns nil if an error is the one that is expected.
func refused(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("%v instead of %w", err, want)
}

// leaveQuestion adds a question to the turn of a conversation, as one of its subagents
// leaves behind when its process dies.
func (r *faultRig) leaveQuestion(key string) {
	r.Helper()
	q := approval.Question{Conversation: key, Tool: "Bash", ToolUseID: "toolu_left", Input: json.RawMessage(`{}`)}
	if _, err := approval.NewQuestions(r.db, "p").Ask(r.Context(), q, store.Fence{}); err != nil {
		r.Fatal(err)
	}
}

// Recovery from a crash between two writes relies on their order: a mark comes before
// what it announces, an outcome comes with the end of its prompt in the queue, and the
// lease is given back last. testdata/writes.txt has the writes of each operation. If you
// change the order, read there what follows, and run the test with -update.
func TestOrderOfWrites(t *testing.T) {
	all := maps.Clone(operations)
	maps.Copy(all, passing)
	delete(all, "interrupt") // what a turn has said and cost by then differs
	const file = "testdata/writes.txt"
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		synctest.Test(t, func(t *testing.T) {
			fmt.Fprintf(&b, "# %s\n%s\n\n", name, strings.Join(writesOf(t, all[name]), "\n"))
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, known := strings.Split(b.String(), "\n\n"), strings.Split(string(want), "\n\n")
	for i, section := range got {
		if i >= len(known) || section != known[i] {
			t.Errorf("%s\n\nwant\n\n%s", section, append(known, "nothing")[min(i, len(known))])
		}
	}
	if len(known) > len(got) {
		t.Errorf("%s has more operations than there are", file)
	}
}

// writesOf returns what an operation writes, with all that follows from it.
func writesOf(t *testing.T, op operation) []string {
	t.Helper()
	r := &faultRig{T: t, db: store.Memory(), cli: newScripted()}
	log := &writes{strict: strict{MemoryStore: r.db, report: unfenced(t)}}
	r.f = r.openOn(log, 15*time.Minute)
	t.Cleanup(func() { _ = r.f.Close(context.Background()) })
	if op.prepare != nil {
		op.prepare(r)
	}
	synctest.Wait()
	log.take()
	if op.again {
		r.f = r.openOn(log, 15*time.Minute)
	}
	if err := op.do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.release != nil {
		r.release()
	}
	<-time.After(3 * time.Minute)
	synctest.Wait()
	if all := worthwhile(log.take()); len(all) > 0 {
		return all
	}
	return []string{"nothing"}
}

// worthwhile leaves out leases under which nothing is written: how often a fleet looks in
// vain is not part of the order.
func worthwhile(all []string) (kept []string) {
	for _, what := range all {
		if n := len(kept); what == "release" && n > 0 && kept[n-1] == "acquire" {
			kept = kept[:n-1]
		} else {
			kept = append(kept, what)
		}
	}
	return kept
}
