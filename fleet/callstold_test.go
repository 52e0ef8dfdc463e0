package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// fails makes some methods of a machine's store fail from now on.
func (m *machine) fails(methods ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = func(method string) bool {
		for _, fails := range methods {
			if method == fails {
				return true
			}
		}
		return false
	}
}

// read is a call of a tool that no person is asked about.
func read(id string) claudetest.Reply {
	return claudetest.UseTools(claudetest.ScriptedCall{ID: id, Name: "Read", Input: json.RawMessage(`{"file_path":"a"}`)})
}

// deadly is a tool whose machine dies when it is used the first time.
func deadly(m **machine, ran *atomic.Int32) map[string]host.RunFunc {
	return map[string]host.RunFunc{"Read": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
		if ran.Add(1) > 1 {
			return host.TextOutput("again"), nil
		}
		go (*m).kill()
		return forever(ctx)
	}}
}

// knows reports whether the model of the only conversation knows about a call, from the
// lines that a CLI would continue.
func knows(t *testing.T, db *store.MemoryStore, f *fleet.Fleet, call string) bool {
	t.Helper()
	info, err := f.Get(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	said, err := history.In(db, "p").Read(t.Context(), info.Session)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range said.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e), call) {
			return true
		}
	}
	return false
}

// A CLI begins by itself with a prompt that came too late to steer a turn, while the
// outcome of that turn is still being stored. The model learns about lost calls of its
// turn.
func TestLostCallOfTurnThatBeganByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, hold := store.Memory(), make(chan struct{})
		var m *machine
		var ran atomic.Int32
		cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{Tools: deadly(&m, &ran), Model: func(c *claudetest.ModelCall) claudetest.Reply {
			switch {
			case ran.Load() > 0:
				return claudetest.Say("done")
			case c.Prompt == "first":
				<-hold
				m.fails("outcome")
				return claudetest.Say("one")
			}
			<-time.After(time.Second)
			m.fails("outcome", "Append")
			return read("toolu_late")
		}})}
		m = start(t, db, cli, ungated)
		first := send(t, m.fleet, "ada", "first")
		late := steer(t, m.fleet, "late")
		close(hold)
		<-time.After(5 * time.Second)
		crash(t, m)
		m = start(t, db, cli, ungated)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		answered(t, m.fleet, first, "one")
		answered(t, m.fleet, late, "done")
		if ran.Load() != 1 || !knows(t, db, m.fleet, "toolu_late") {
			t.Errorf("the tool ran %d times, and the model was not told", ran.Load())
		}
	})
}

// unseenCLI is a CLI whose machine stores nothing of the first turn.
func unseenCLI(m **machine, ran *atomic.Int32) *scripted {
	return &scripted{CLI: claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if ran.Load() > 0 {
				return claudetest.Say("done")
			}
			return read("toolu_unseen")
		},
		Tools: map[string]host.RunFunc{"Read": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
			ran.Add(1)
			time.AfterFunc(3*time.Second, (*m).kill)
			return forever(ctx)
		}},
	})}
}

// If nothing of a turn was stored, not even its prompt, the model learns about its
// calls with the prompt, when that is sent again: even if another one was sent as well.
func TestLostCallBesideSecondPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var ran atomic.Int32
		cli := unseenCLI(&m, &ran)
		m = start(t, db, cli, ungated)
		m.fails("Append")
		first := send(t, m.fleet, "ada", "first")
		<-time.After(time.Second)
		second := steer(t, m.fleet, "second")
		<-time.After(5 * time.Second)
		crash(t, m)
		m = start(t, db, cli, ungated)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		answered(t, m.fleet, first, "done")
		answered(t, m.fleet, second, "done")
		if ran.Load() != 1 || !knows(t, db, m.fleet, "toolu_unseen") {
			t.Errorf("the tool ran %d times, and the model was not told", ran.Load())
		}
	})
}

// If that prompt was interrupted, the model learns about them with the next one, even
// if a machine dies in between once more.
func TestLostCallOfUnseenInterruptedPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var ran atomic.Int32
		cli := unseenCLI(&m, &ran)
		m = start(t, db, cli, ungated)
		m.fails("Append")
		id := send(t, m.fleet, "ada", "first")
		<-time.After(5 * time.Second)
		crash(t, m)
		front := open(t, db, nil, withoutCLIs)
		if err := front.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		closeFleet(t, front)
		for range 2 {
			m = start(t, db, cli, ungated)
			<-time.After(2 * time.Minute)
			if o := outcome(t, m.fleet, "ada", id); !o.Interrupted {
				t.Errorf("%+v", o)
			}
			crash(t, m)
		}
		m = start(t, db, cli, ungated)
		defer closeFleet(t, m.fleet)
		if got := ask(t, m.fleet, "ada", "continue"); got != "done" || ran.Load() != 1 || !knows(t, db, m.fleet, "toolu_unseen") {
			t.Errorf("%q; the tool ran %d times, and the model was not told", got, ran.Load())
		}
	})
}

// A subagent in the background works on after the answer. If its machine dies, the model
// learns about the calls that it had made.
func TestLostCallOfBackgroundAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var ran atomic.Int32
		cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{Tools: deadly(&m, &ran), Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if ran.Load() > 0 || len(c.ToolResults) > 0 {
				return claudetest.Say("done")
			}
			return claudetest.Delegate("general-purpose", "look", read("toolu_agent").After(2*time.Second), claudetest.Say("seen"))
		}})}
		m = start(t, db, cli, ungated)
		id := send(t, m.fleet, "ada", "first")
		<-time.After(time.Second)
		answered(t, m.fleet, id, "done")
		<-time.After(5 * time.Second)
		crash(t, m)
		m = start(t, db, cli, ungated)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		ask(t, m.fleet, "ada", "continue")
		if ran.Load() != 1 || !knows(t, db, m.fleet, "toolu_agent") {
			t.Errorf("the tool ran %d times, and the model was not told", ran.Load())
		}
	})
}

// wasLetGo records a call that was let go in the only conversation, as a machine that
// died did.
func wasLetGo(t *testing.T, db *store.MemoryStore, call string) {
	t.Helper()
	k := onlyRecord(t, db, "conversation").Key
	k.Kind = "calls"
	revision := int64(0)
	if r, err := store.Get(t.Context(), db, k); err == nil {
		revision = r.Revision
	}
	value := fmt.Sprintf(`{"v":1,"calls":[{"id":%q,"tool":"Read","digest":"x"}]}`, call)
	if _, err := store.Put(t.Context(), db, k, []byte(value), revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

// lineOf is a line of a transcript.
func lineOf(session, parent, rest string) store.Entry {
	if parent != "" {
		parent = `"` + parent + `"`
	} else {
		parent = "null"
	}
	return store.Entry(fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"sessionId":%q,"timestamp":"2000-01-01T00:00:10.000Z",%s}`, parent, session, rest))
}

// A call that is in the transcript is not reported as lost because a compaction is
// between it and the end.
func TestCallBeforeCompactionIsNotLost(t *testing.T) {
	for _, preserves := range []bool{true, false} {
		t.Run(fmt.Sprintf("the prompt is preserved %t", preserves), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testCompacted(t, preserves) })
		})
	}
}

func testCompacted(t *testing.T, preserves bool) {
	db := store.Memory()
	var m *machine
	calls := 0
	cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		if calls++; calls == 1 {
			return read("toolu_before")
		}
		if calls == 2 {
			<-c.Context().Done()
		}
		return claudetest.Say("done")
	}})}
	m = start(t, db, cli, ungated)
	id := send(t, m.fleet, "ada", "first")
	<-time.After(time.Second)
	if !knows(t, db, m.fleet, "toolu_before") {
		t.Fatal("the call is not stored")
	}
	info, err := m.fleet.Get(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	crash(t, m)
	wasLetGo(t, db, "toolu_before")
	var last string
	key := store.Key{Project: "p", Session: info.Session}
	for e, err := range store.Entries(t.Context(), db, key) {
		if err != nil {
			t.Fatal(err)
		}
		var line struct{ UUID string }
		if json.Unmarshal(e, &line) == nil && line.UUID != "" {
			last = line.UUID
		}
	}
	boundary, summary, preserved := uuid.New(), uuid.New(), ""
	if preserves {
		preserved = fmt.Sprintf(`,"compactMetadata":{"preservedMessages":{"anchorUuid":%q,"uuids":[%q]}}`, summary, id)
	}
	if err := db.Append(t.Context(), key, store.Batch{ID: "compaction", Entries: []store.Entry{
		lineOf(key.Session, "", fmt.Sprintf(`"logicalParentUuid":%q,"type":"system","subtype":"compact_boundary","uuid":%q%s`, last, boundary, preserved)),
		lineOf(key.Session, boundary, fmt.Sprintf(`"type":"user","isCompactSummary":true,"uuid":%q,"message":{"role":"user","content":"so far"}`, summary)),
	}}); err != nil {
		t.Fatal(err)
	}
	m = start(t, db, cli, ungated)
	defer closeFleet(t, m.fleet)
	<-time.After(2 * time.Minute)
	answered(t, m.fleet, id, "done")
	if said := transcriptOf(t, db, m); strings.Contains(said, "The machine failed") {
		t.Errorf("the transcript: %s", said)
	}
}

// A machine dies after it has added the note to the transcript, and before it has withdrawn
// the question of another call. The one after it does not make that call a deferred one:
// the note would not be part of the conversation any more.
func TestNoteIsNotLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		send(t, m.fleet, "ada", "tool 1")
		q := question(t, m.fleet)
		crash(t, m)
		wasLetGo(t, db, "toolu_other") // of the same answer, and its line was not stored
		m = start(t, db, cli, nil)
		m.mu.Lock()
		noted := false
		m.failing = func(method string) bool {
			fails := noted
			noted = noted || method == "Append"
			return fails
		}
		m.mu.Unlock()
		<-time.After(time.Minute)
		crash(t, m)
		if now, err := approval.NewQuestions(db, "p").Get(t.Context(), q.ID); err != nil || now.State != approval.StateOpen || !noted {
			t.Fatalf("after the second crash the question is %s, %v; a note: %t", now.State, err, noted)
		}
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(time.Minute)
		if !knows(t, db, m.fleet, "toolu_other") {
			t.Error("the model does not know of the other call")
		}
	})
}
