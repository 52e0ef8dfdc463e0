package fleet_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// intercepted starts a fleet that can crash, and whose writes can be seen.
func intercepted(t *testing.T, db *store.MemoryStore, cli *scripted) (*machine, *interceptor) {
	t.Helper()
	var in *interceptor
	m := start(t, db, cli, func(o *fleet.Options) {
		in = &interceptor{Fleet: o.Store}
		o.Store = in
	})
	return m, in
}

// marks reports whether a write marks a prompt as interrupted.
func marks(k store.RecordKey, value []byte) bool {
	return k.Kind == "prompt" && strings.Contains(string(value), `"interrupted":`)
}

// endsInterrupted expects that another process ends a prompt as interrupted, without
// asking the model or running a tool.
func endsInterrupted(t *testing.T, db *store.MemoryStore, cli *scripted, id string) {
	t.Helper()
	calls, tools := len(cli.calls), len(cli.tools)
	m := start(t, db, cli, nil)
	defer closeFleet(t, m.fleet)
	<-time.After(2 * time.Minute)
	if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptFailed || !o.Interrupted {
		t.Errorf("after the takeover: %+v", o)
	}
	if len(cli.calls) != calls || len(cli.tools) != tools {
		t.Errorf("after the takeover the model was asked %q, the tool ran with %q", cli.calls[calls:], cli.tools[tools:])
	}
	for q, err := range m.fleet.Approvals().List(t.Context(), approval.Filter{States: approval.Waiting()}) {
		t.Errorf("the question is %s, %v", q.State, err)
	}
	if got := ask(t, m.fleet, "ada", "more"); !strings.HasSuffix(got, "more") || len(cli.tools) != tools {
		t.Errorf("the next prompt: %q, the tool ran with %q", got, cli.tools[tools:])
	}
}

// An interrupt is stored before anything else is done about it, so it outlives the process
// that runs the turn: the process that takes over ends the prompt.
func TestInterruptOutlivesProcess(t *testing.T) {
	for _, when := range []string{"before the mark", "before the CLI is told", "after it", "in another process"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				release := cli.pause()
				m, in := intercepted(t, db, cli)
				id := send(t, m.fleet, "ada", "hello")
				<-time.After(time.Second) // the prompt is in the transcript
				die := func(k store.RecordKey, value []byte) error {
					if marks(k, value) {
						m.kill()
					}
					return nil
				}
				by := m.fleet
				switch when {
				case "before the mark":
					in.set(die, nil)
				case "before the CLI is told":
					in.set(nil, die)
				case "after it": // and before the outcome is written
					m.mu.Lock()
					m.failing = func(method string) bool { return method == "outcome" }
					m.mu.Unlock()
				default:
					m.kill()
					by = open(t, db, nil, withoutCLIs)
					defer closeFleet(t, by)
				}
				err := by.Interrupt(t.Context(), "ada")
				if when == "before the mark" {
					if err == nil {
						t.Error("an interrupt that is not stored was acknowledged")
					}
				} else if err != nil && when != "before the CLI is told" {
					t.Errorf("interrupted: %v", err)
				}
				<-time.After(time.Second)
				crash(t, m)
				release()
				if when != "before the mark" {
					endsInterrupted(t, db, cli, id)
					return
				}
				m = start(t, db, cli, nil)
				defer closeFleet(t, m.fleet)
				<-time.After(time.Minute)
				if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered {
					t.Errorf("nobody interrupted it: %+v", o)
				}
			})
		})
	}
}

// A call that waits for a person when its process dies is not made once its turn was
// interrupted, even if it is allowed: whether it was deferred, or a process waited.
func TestInterruptedQuestionOutlivesProcess(t *testing.T) {
	for name, patience := range map[string]time.Duration{"a process waits": 0, "deferred": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				m := start(t, db, cli, nil)
				id := send(t, m.fleet, "ada", "tool 1")
				q := question(t, m.fleet)
				<-time.After(patience)
				m.mu.Lock()
				m.downUntil = time.Now().Add(time.Hour) // it is suspended, and has its lease for a while
				m.mu.Unlock()
				client := open(t, db, nil, withoutCLIs)
				interrupt(t, client)
				_, err := client.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
				if (err != nil) != (patience > 0) {
					t.Errorf("decided: %v", err)
				}
				closeFleet(t, client)
				<-time.After(time.Minute)
				crash(t, m)
				if patience > 0 { // no process ran it, so it ended at once
					if o := outcome(t, client, "ada", id); !o.Interrupted {
						t.Errorf("%+v", o)
					}
				}
				endsInterrupted(t, db, cli, id)
			})
		})
	}
}

// A process that runs a turn learns that it was interrupted elsewhere although nothing
// carries instructions to it: the store announces the mark, or is polled.
func TestInterruptFoundByMark(t *testing.T) {
	for name, c := range map[string]struct {
		db   store.Fleet
		most time.Duration
	}{
		"a store that is watched": {store.Memory(), time.Second},
		"one that cannot be":      {unwatched{store.Memory()}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := newScripted()
				defer cli.pause()()
				worker := open(t, c.db, cli, nil)
				defer closeFleet(t, worker)
				client := open(t, c.db, nil, withoutCLIs)
				defer closeFleet(t, client)
				id := send(t, worker, "ada", "hello")
				<-time.After(time.Second)
				interrupt(t, client)
				<-time.After(c.most)
				if o := outcome(t, client, "ada", id); o.Status != fleet.PromptFailed || !o.Interrupted || o.Result == nil {
					t.Errorf("%v later: %+v", c.most, o)
				}
			})
		})
	}
}

// When a process without CLIs ends the prompt at which a conversation sleeps, the worker
// continues with those behind it, even if no question changes with that: this one is over.
func TestInterruptElsewhereFreesQueue(t *testing.T) {
	for name, c := range map[string]struct {
		memory  *store.MemoryStore
		watched bool
	}{
		"a store that is watched": {store.Memory(), true},
		"one that cannot be":      {store.Memory(), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := newScripted()
				var db store.Fleet = c.memory
				if !c.watched {
					db = unwatched{db}
				}
				worker := open(t, db, cli, func(o *fleet.Options) {
					shortLived(10 * time.Minute)(o)
					o.Poll = 24 * time.Hour
				})
				defer closeFleet(t, worker)
				client := open(t, db, nil, withoutCLIs)
				defer closeFleet(t, client)
				waits := deferredBy(t, worker, "ada", "tool 1")
				behind := send(t, worker, "ada", "more")
				<-time.After(time.Second)
				// The worker takes no notice when a question expires that a process waits for.
				rewriteQuestion(t, c.memory, waits.Question, `,"deferred":true`, "")
				<-time.After(20 * time.Minute)
				if o := outcome(t, client, "ada", waits.Prompt); o.Status != fleet.PromptWaiting {
					t.Fatalf("before the interrupt: %+v", o)
				}
				interrupt(t, client)
				<-time.After(time.Minute) // the worker may meet the lease of the client
				if o := outcome(t, client, "ada", waits.Prompt); !o.Interrupted {
					t.Errorf("the prompt that waited: %+v", o)
				}
				if o := outcome(t, client, "ada", behind); o.Status != fleet.PromptAnswered || len(cli.tools) != 0 {
					t.Errorf("the prompt behind it: %+v, the tool ran with %q", o, cli.tools)
				}
			})
		})
	}
}

// rewriteQuestion replaces a part of what the store has of a question.
func rewriteQuestion(t *testing.T, db *store.MemoryStore, id, part, by string) {
	t.Helper()
	k := store.RecordKey{Project: "p", Kind: approval.Kind, Name: id}
	r, err := store.Get(t.Context(), db, k)
	if err != nil || !strings.Contains(string(r.Value), part) {
		t.Fatalf("the question: %s, %v", r.Value, err)
	}
	if _, err := store.Put(t.Context(), db, k, []byte(strings.Replace(string(r.Value), part, by, 1)), r.Revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

// A turn without an interrupt costs no extra write, and a mark is one.
func TestInterruptWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := &interceptor{Fleet: store.Memory()}, newScripted()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		marked := 0
		db.set(func(k store.RecordKey, value []byte) error {
			if marks(k, value) {
				marked++
			}
			return nil
		}, nil)
		ask(t, f, "ada", "hello")
		if marked != 0 {
			t.Errorf("%d marks without an interrupt", marked)
		}
		release := cli.pause()
		id := send(t, f, "ada", "more")
		interrupt(t, f)
		interrupt(t, f)
		<-time.After(time.Second)
		release()
		if o := outcome(t, f, "ada", id); !o.Interrupted || marked != 1 {
			t.Errorf("%d marks: %+v", marked, o)
		}
	})
}

// An interrupt that comes after the answer does not hide it: the owner died before it had
// written the outcome, and a process without CLIs finds the answer in the transcript.
func TestInterruptSparesAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		release := cli.pause()
		id := send(t, m.fleet, "ada", "hello")
		m.fails("Now") // the time of the outcome
		release()
		<-time.After(time.Second)
		crash(t, m)
		<-time.After(time.Minute) // the lease of the dead
		client := open(t, db, nil, withoutCLIs)
		defer closeFleet(t, client)
		interrupt(t, client)
		if o := outcome(t, client, "ada", id); o.Interrupted || o.Status != fleet.PromptAnswered || o.Text != "heard hello" {
			t.Errorf("after the interrupt: %+v", o)
		}
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "heard hello" || len(cli.calls) != 1 {
			t.Errorf("after the takeover: %+v, the model was asked %q", o, cli.calls)
		}
	})
}
