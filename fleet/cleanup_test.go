package fleet_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Outcomes are kept for a time, in which a prompt that is sent again does not run
// again, and then removed. So are questions that were settled. The conversation
// stays.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, func(o *fleet.Options) {
			o.Keep, o.Poll = 10*time.Minute, time.Minute
			o.Gate = &approval.Options{Patience: time.Second}
		})
		defer closeFleet(t, f)
		settled := decideOn(t, f, "ada", "tool 1")
		needed := decideOn(t, f, "bob", "tool 3")
		waits := deferredBy(t, f, "bob", "tool 2")
		p := fleet.Prompt{ID: "00000000-0000-4000-8000-000000000008", Text: "hello"}
		if _, err := f.Send(t.Context(), "ada", p); err != nil {
			t.Fatal(err)
		}
		<-time.After(8 * time.Minute)
		if _, err := f.Send(t.Context(), "ada", p); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", p.ID); o.Status != fleet.PromptAnswered || cli.asked("hello") != 1 {
			t.Errorf("within the time: %+v, asked %d times", o, cli.asked("hello"))
		}
		<-time.After(10 * time.Minute)
		if o, err := f.Prompt(t.Context(), "ada", p.ID); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("after the time: %+v, %v", o, err)
		}
		if q, err := f.Approvals().Get(t.Context(), settled); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a settled question: %+v, %v", q, err)
		}
		if q, err := f.Approvals().Get(t.Context(), needed); err != nil {
			t.Errorf("a question of a conversation whose prompt is in the queue: %+v, %v", q, err)
		}
		if o := outcome(t, f, "bob", waits.Prompt); o.Status != fleet.PromptWaiting {
			t.Errorf("a prompt that waits: %+v", o)
		}
		if got := ask(t, f, "ada", "more"); got != "heard tool 1, hello, more" {
			t.Errorf("answer %q", got)
		}
	})
}

// An outcome stays for as long as its prompt is in the queue: without it the
// prompt would run again.
func TestKeepWhatIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, nil, withoutCLIs)
		id := send(t, f, "ada", "hello")
		closeFleet(t, f)
		// As an older program leaves it, which died before it changed the queue.
		ended := fmt.Appendf(nil, `{"prompt":%q,"status":"answered","ended":%q}`, id, time.Now().Format(time.RFC3339))
		if _, err := store.Put(t.Context(), db, store.RecordKey{Project: "p", Kind: "outcome", Name: "c/ada/" + id}, ended, 0, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		short := func(o *fleet.Options) { o.Keep, o.Poll = 10*time.Minute, time.Minute }
		f = open(t, db, cli, func(o *fleet.Options) {
			short(o)
			o.Runs = func(string) bool { return false }
		})
		<-time.After(30 * time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("after the time: %+v", o)
		}
		closeFleet(t, f)
		f = open(t, db, cli, short)
		defer closeFleet(t, f)
		<-time.After(time.Minute)
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 0 || cli.asked("hello") != 0 {
			t.Errorf("%+v, %v, asked %d times", info, err, cli.asked("hello"))
		}
	})
}

// asked is how often the model was asked about a prompt.
func (s *scripted) asked(prompt string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.calls {
		if p == prompt {
			n++
		}
	}
	return n
}

// deferredBy sends a prompt that ends with a question.
func deferredBy(t *testing.T, f *fleet.Fleet, key, prompt string) *fleet.DeferredError {
	t.Helper()
	_, err := result(f.Run(t.Context(), key, prompt))
	waits, ok := errors.AsType[*fleet.DeferredError](err)
	if !ok || waits.Question == "" {
		t.Fatalf("the prompt: %v", err)
	}
	return waits
}

// decideOn sends such a prompt, allows what it asks for and waits for its answer.
// It returns the question.
func decideOn(t *testing.T, f *fleet.Fleet, key, prompt string) string {
	t.Helper()
	waits := deferredBy(t, f, key, prompt)
	q, err := f.Approvals().Get(t.Context(), waits.Question)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "me", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Minute)
	if o := outcome(t, f, key, waits.Prompt); o.Status != fleet.PromptAnswered {
		t.Fatalf("the prompt: %+v", o)
	}
	return q.ID
}
