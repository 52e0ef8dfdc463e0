package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/store"
)

// A call is known before it begins: its machine dies in the same moment, before the line
// with the call is stored. The next one adds a note to the transcript before it continues.
func TestLostCallIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var ran atomic.Int32
		cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if ran.Load() > 0 {
					return claudetest.Say("done")
				}
				<-time.After(time.Second) // the prompt is stored
				m.mu.Lock()
				m.failing = func(method string) bool { return method == "Append" } // the call is not
				m.mu.Unlock()
				return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_lost", Name: "Read", Input: json.RawMessage(`{"file_path":"a"}`)})
			},
			Tools: map[string]host.RunFunc{"Read": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
				ran.Add(1)
				go m.kill()
				<-ctx.Done()
				return host.ToolOutput{}, ctx.Err()
			}},
		})}
		alone := func(o *fleet.Options) { o.Gate = nil }
		m = start(t, db, cli, alone)
		id := send(t, m.fleet, "ada", "work")
		<-time.After(2 * time.Second)
		if said := transcriptOf(t, db, m); strings.Contains(said, "toolu_lost") {
			t.Fatalf("the call was stored in time: %s", said)
		}
		crash(t, m)
		m = start(t, db, cli, alone)
		defer closeFleet(t, m.fleet)
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || ran.Load() != 1 {
			t.Errorf("%+v, and the tool ran %d times", o, ran.Load())
		}
		if said := transcriptOf(t, db, m); strings.Count(said, "- Read (toolu_lost)") != 1 || !strings.Contains(said, "hook_additional_context") {
			t.Errorf("the transcript: %s", said)
		}
		if err := m.fleet.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if left := allRecords(t, db, "calls"); len(left) != 0 {
			t.Errorf("after the deletion: %q", left)
		}
	})
}

// A conversation whose machine has died after it let a call go is deleted with the record of
// that call.
func TestDeleteAfterLostCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var ran atomic.Int32
		cli := unseenCLI(&m, &ran)
		m = start(t, db, cli, func(o *fleet.Options) { o.Gate = nil })
		m.fails("Append") // so that the line of the call is not there
		send(t, m.fleet, "ada", "work")
		<-time.After(2 * time.Second)
		crash(t, m)
		if ran.Load() != 1 || len(allRecords(t, db, "calls")) != 1 {
			t.Fatalf("the tool ran %d times, and the records are %q", ran.Load(), allRecords(t, db, "calls"))
		}
		<-time.After(time.Minute) // its lease has ended
		f := open(t, db, nil, withoutCLIs)
		defer closeFleet(t, f)
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if names := left(t, db); len(names) != 0 {
			t.Errorf("after the deletion: %q", names)
		}
	})
}

// replacing is a store in which another process takes the lease of a conversation just
// before its owner lets a call go. The line with the call is not stored before.
type replacing struct {
	*store.MemoryStore
	mu    sync.Mutex
	lease store.Lease // of the conversation
	until time.Time   // of the other owner, zero before that
}

func (r *replacing) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := r.MemoryStore.Acquire(ctx, project, name, owner, ttl)
	if err == nil && strings.HasPrefix(name, "fleet/") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lease = l
	}
	return l, err
}

func (r *replacing) Append(ctx context.Context, k store.Key, b store.Batch) error {
	r.mu.Lock()
	early := r.until.IsZero()
	r.mu.Unlock()
	for _, e := range b.Entries {
		if early && strings.Contains(string(e), `"tool_use"`) {
			return errors.New("not yet")
		}
	}
	return r.MemoryStore.Append(ctx, k, b)
}

func (r *replacing) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	r.mu.Lock()
	if puts(c, "calls") && r.until.IsZero() {
		r.until = time.Now().Add(time.Minute)
		err := r.Release(ctx, r.lease)
		if err == nil {
			_, err = r.MemoryStore.Acquire(ctx, r.lease.Project, r.lease.Name, "another", time.Minute)
		}
		if err != nil {
			r.mu.Unlock()
			return nil, err
		}
	}
	r.mu.Unlock()
	return r.MemoryStore.Change(ctx, f, c...)
}

// A call of a process that was replaced a moment ago does not begin: it is let go by a
// write under the lease.
func TestReplacedOwnerLetsNothingGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &replacing{MemoryStore: store.Memory()}
		var began []time.Time
		cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if len(c.ToolResults) > 0 {
					return claudetest.Say("done")
				}
				return read("toolu_1")
			},
			Tools: map[string]host.RunFunc{"Read": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				db.mu.Lock()
				defer db.mu.Unlock()
				began = append(began, time.Now())
				return host.TextOutput("a"), nil
			}},
		})}
		f := open(t, struct{ store.Fleet }{db}, cli, nil)
		send(t, f, "ada", "work")
		<-time.After(30 * time.Second)
		closeFleet(t, f)
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.until.IsZero() {
			t.Error("nothing was let go")
		}
		for _, at := range began {
			t.Errorf("a call began %v before the other owner's lease ends", db.until.Sub(at))
		}
	})
}

// transcriptOf returns the lines of the only session.
func transcriptOf(t *testing.T, db *store.MemoryStore, m *machine) string {
	t.Helper()
	info, err := m.fleet.Get(t.Context(), "ada")
	if m.isDead() {
		reader := open(t, db, nil, withoutCLIs)
		defer closeFleet(t, reader)
		info, err = reader.Get(t.Context(), "ada")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range store.Entries(t.Context(), db, store.Key{Project: "p", Session: info.Session}) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(e)
		all.WriteByte('\n')
	}
	return all.String()
}
