package fleet

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// staged returns a fleet that runs nothing, on a store that has a conversation with prompts.
func staged(t *testing.T, rec record, prompts ...*queued) *Fleet {
	t.Helper()
	o := Options{Store: store.Memory(), Project: "p", MaxLive: NoCLIs, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	f := assemble(t.Context(), o)
	rec.Key = "ada"
	if _, err := f.records.put(t.Context(), kindConversation, place("ada"), &rec, 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	for i, p := range prompts {
		p.Accepted = time.Unix(int64(1000+i), 0)
		p.name = place("ada") + "/" + stamp(p.Accepted, p.ID)
		if err := f.records.accept(t.Context(), "ada", p); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// The prompts and the session of a staged conversation.
const (
	stagedOne     = "00000000-0000-4000-8000-000000000001"
	stagedTwo     = "00000000-0000-4000-8000-000000000002"
	stagedSession = "00000000-0000-4000-8000-0000000000b1"
)

// deferredTurn stores a turn of the first prompt that waits at a call, and the question
// about the call.
func deferredTurn(t *testing.T, f *Fleet, lifetime time.Duration) approval.Question {
	t.Helper()
	lines := []store.Entry{
		store.Entry(`{"type":"user","uuid":"` + stagedOne + `","parentUuid":null,"message":{"role":"user","content":"hello"}}`),
		store.Entry(`{"type":"assistant","uuid":"00000000-0000-4000-8000-0000000000a1","parentUuid":"` + stagedOne + `","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}}`),
		store.Entry(`{"type":"attachment","uuid":"00000000-0000-4000-8000-0000000000a2","parentUuid":"00000000-0000-4000-8000-0000000000a1","attachment":{"type":"hook_deferred_tool","toolUseID":"toolu_1","toolName":"Bash","toolInput":{}}}`),
	}
	if err := f.store.Append(t.Context(), store.Key{Project: "p", Session: stagedSession}, store.Batch{Entries: lines}); err != nil {
		t.Fatal(err)
	}
	q, err := f.inbox.Ask(t.Context(), approval.Question{Conversation: "ada", Tool: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(`{}`), Lifetime: lifetime}, store.Fence{})
	if err == nil {
		_, err = f.inbox.Defer(t.Context(), q.ID, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// An expired question ends the prompt that waits for it. One that was cancelled or
// interrupted before ends as that, and any other waits.
func TestExpireSpares(t *testing.T) {
	at := time.Unix(2000, 0)
	for name, c := range map[string]struct {
		rec   record
		p     queued
		time  time.Duration // for the decision
		leave func(*Fleet)
		ends  PromptStatus
	}{
		"it waits":        {time: time.Nanosecond, ends: PromptExpired},
		"in time":         {time: time.Hour},
		"interrupted":     {p: queued{Interrupted: at}, time: time.Nanosecond, ends: PromptFailed},
		"cancelled":       {p: queued{Cancelled: at}, time: time.Nanosecond, ends: PromptCancelled},
		"stuck":           {rec: record{Stuck: &stuck{Prompt: stagedOne}}, time: time.Nanosecond},
		"being deleted":   {rec: record{Deleted: at}, time: time.Nanosecond},
		"it is awake":     {time: time.Nanosecond, leave: func(f *Fleet) { f.roster.hold("ada").turn = new(turn) }},
		"it is elsewhere": {time: time.Nanosecond, leave: func(f *Fleet) { _, _ = f.store.Acquire(f.ctx, "p", leaseName(place("ada")), "b", time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.rec.Spent = map[string]keptLedger{stagedOne: {Ledger: Ledger{USD: 2, Turns: 1}}}
				c.rec.Session = stagedSession
				f := staged(t, c.rec, &queued{ID: stagedTwo})
				defer f.cancel()
				q := deferredTurn(t, f, c.time)
				c.p.ID, c.p.Sent, c.p.Question, c.p.Accepted = stagedOne, true, q.ID, time.Unix(999, 0)
				c.p.name = place("ada") + "/" + stamp(c.p.Accepted, stagedOne)
				if err := f.records.accept(t.Context(), "ada", &c.p); err != nil {
					t.Fatal(err)
				}
				if c.leave != nil {
					c.leave(f)
				}
				<-time.After(time.Second)
				f.endings.expire(t.Context(), &approval.Question{ID: q.ID, Conversation: "ada"})
				o, ended, err := f.records.outcome(t.Context(), "ada", stagedOne)
				if err != nil || ended != (c.ends != "") || o.Status != c.ends || o.Interrupted != !c.p.Interrupted.IsZero() {
					t.Fatalf("%+v, %v", o, err)
				}
				if o.Status == PromptExpired && (o.Prompt != stagedOne || o.Question != q.ID || o.Cost.USD != 2 || o.Session != stagedSession || o.Error == "" || o.Ended.IsZero()) {
					t.Errorf("%+v", o)
				}
				left := 0
				for _, err := range f.records.pending(t.Context(), "ada") {
					if err != nil {
						t.Fatal(err)
					}
					left++
				}
				if want := map[bool]int{true: 1, false: 2}[ended]; left != want {
					t.Errorf("%d prompts are left, want %d", left, want)
				}
			})
		})
	}
}

// A prompt waits for a person until its question is decided. It does not wait again when the
// call has been let go and has run, although it may have been read before that.
func TestWaitsUntilDecided(t *testing.T) {
	f := staged(t, record{})
	q, err := f.inbox.Ask(t.Context(), approval.Question{Conversation: "ada", Tool: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(`{}`)}, store.Fence{})
	if err == nil {
		p := &queued{ID: stagedOne, Sent: true, Question: q.ID}
		p.name = place("ada") + "/" + stamp(time.Unix(1000, 0), p.ID)
		err = f.records.accept(t.Context(), "ada", p)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		take func() error
		want PromptStatus
	}{
		{"asked", func() error { return nil }, PromptWaiting},
		{"decided", func() error {
			_, err := f.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
			return err
		}, PromptRunning},
		{"let go", func() error {
			_, err := f.inbox.Release(t.Context(), q.ID, store.Fence{})
			return err
		}, PromptRunning},
		{"ended", func() error { return f.inbox.Settle(t.Context(), q.ID, approval.OutcomeRan, store.Fence{}) }, PromptRunning},
	} {
		if err := step.take(); err != nil {
			t.Fatal(step.name, err)
		}
		if o, err := f.Prompt(t.Context(), "ada", stagedOne); err != nil || o.Status != step.want {
			t.Errorf("%s: %q, %v", step.name, o.Status, err)
		}
	}
}

// A prompt that has its outcome is not cancelled, although it is still in the queue: its
// process died before it could take the prompt out.
func TestCancelWithOutcome(t *testing.T) {
	for status, want := range map[PromptStatus]error{PromptAnswered: ErrBegun, PromptFailed: ErrBegun, PromptExpired: ErrBegun, PromptCancelled: nil} {
		f := staged(t, record{}, &queued{ID: stagedOne}, &queued{ID: stagedTwo})
		was := Ticket{Prompt: stagedOne, Status: status, Text: "done", Ended: time.Unix(1500, 0)}
		if _, err := f.records.put(t.Context(), kindOutcome, outcomeName("ada", stagedOne), &was, 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		if err := f.Cancel(t.Context(), "ada", stagedOne); !errors.Is(err, want) {
			t.Errorf("%s: %v", status, err)
		}
		if o, err := f.Prompt(t.Context(), "ada", stagedOne); err != nil || o.Status != status || o.Text != "done" {
			t.Errorf("%s: %+v, %v", status, o, err)
		}
		if p, err := f.records.find(t.Context(), "ada", stagedOne); err != nil || p != nil {
			t.Errorf("%s: it is left in the queue: %+v, %v", status, p, err)
		}
		if p, err := f.records.find(t.Context(), "ada", stagedTwo); err != nil || p == nil || !p.Cancelled.IsZero() {
			t.Errorf("%s: the other one: %+v, %v", status, p, err)
		}
	}
}

// What a list shows of a conversation that sleeps here: a budget holds only what has not
// begun, a question comes before the queue, and being stuck before everything.
func TestInfoStates(t *testing.T) {
	spent := record{Cost: keptLedger{Ledger: Ledger{USD: 5}}}
	stuckAt := record{Cost: spent.Cost, Stuck: &stuck{Prompt: stagedOne, Reason: "no disk", Cause: CauseCLIFailed}}
	for name, c := range map[string]struct {
		rec   record
		q     queueState
		state State
	}{
		"nothing to do":             {record{}, queueState{}, StateAsleep},
		"prompts":                   {record{}, queueState{queued: 2}, StatePending},
		"begun":                     {record{}, queueState{queued: 2, begun: true}, StatePending},
		"question":                  {record{}, queueState{queued: 2, begun: true, question: "q1"}, StateWaiting},
		"budget":                    {spent, queueState{queued: 2}, StateHeld},
		"budget, but begun":         {spent, queueState{queued: 2, begun: true}, StatePending},
		"budget, and a question":    {spent, queueState{queued: 1, begun: true, question: "q1"}, StateWaiting},
		"budget, and nothing to do": {spent, queueState{}, StateAsleep},
		"stuck":                     {stuckAt, queueState{queued: 2, begun: true, question: "q1"}, StateStuck},
	} {
		f := staged(t, record{})
		f.opts.BudgetUSD = 5
		c.rec.Key = "ada"
		info := f.reports.info(t.Context(), &c.rec, c.q)
		if info.State != c.state || info.Queued != c.q.queued || info.Question != c.q.question || (info.BudgetUSD == 5) != (c.state == StateHeld) || !info.HeldUntil.IsZero() {
			t.Errorf("%s: %+v", name, info)
		}
		if (info.Stuck == "no disk" && info.Cause == CauseCLIFailed) != (c.state == StateStuck) {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

// Only the journals of a deleted session are removed from a folder that others use.
func TestRemoveJournals(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one-1.journal", "one-2.journal", "two-1.journal", "one.journal", "onemore-1.journal", "one-1.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(removeJournals(dir, "one"), removeJournals(filepath.Join(dir, "missing"), "one")); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if want := []string{"one-1.txt", "one.journal", "onemore-1.journal", "two-1.journal"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %q, %v", left, err)
	}
}
