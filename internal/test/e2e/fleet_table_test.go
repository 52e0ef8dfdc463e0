package e2e

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// says runs a prompt and wants an answer.
func says(t *testing.T, f *fleet.Fleet, key, prompt, want string) {
	t.Helper()
	if text, err := lastText(f.Run(t.Context(), key, prompt)); err != nil || text != want {
		t.Errorf("%s: %q: %q, %v, want %q", key, prompt, text, err, want)
	}
}

// A reset of the conversation moves it to another session, which the lease
// covers as well: it wakes with what was said since, and all of it can be read.
func TestRealFleetCleared(t *testing.T) {
	t.Parallel()
	f := machine(t).fleet(t, store.Files(t.TempDir()), fleet.Options{MaxLive: 1})
	defer closeFleet(t, f)
	says(t, f, "ada", "mark-ada-0", "mark-ada-0")
	before, err := f.Get(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lastText(f.Run(t.Context(), "ada", "/clear")); err != nil {
		t.Fatal(err)
	}
	says(t, f, "ada", "mark-ada-1", "mark-ada-1")
	says(t, f, "bob", "mark-bob-0", "mark-bob-0") // Ada's sleeps
	says(t, f, "ada", "mark-ada-2", "mark-ada-1 mark-ada-2")
	after, err := f.Get(t.Context(), "ada")
	if err != nil || after.Session == before.Session || after.Stuck != "" || after.Queued != 0 {
		t.Errorf("after the reset: %+v, %v; before: %+v", after, err, before)
	}
	var said []string
	for e, err := range f.Events(t.Context(), "ada", "") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Message.(*message.Assistant); ok && m.Text() != "" {
			said = append(said, m.Text())
		}
		if len(said) > 0 && said[len(said)-1] == "mark-ada-1 mark-ada-2" {
			break
		}
	}
	if got := strings.Join(said, "; "); got != "mark-ada-0; mark-ada-1; mark-ada-1 mark-ada-2" {
		t.Errorf("said %q", got)
	}
}

// A conversation wakes in the mode and with the model that were chosen for it,
// although the CLI forgets the mode.
func TestRealFleetChosen(t *testing.T) {
	t.Parallel()
	f := machine(t).fleet(t, store.Files(t.TempDir()), fleet.Options{MaxLive: 1})
	defer closeFleet(t, f)
	says(t, f, "ada", "mark-ada-0", "mark-ada-0")
	if err := f.SetPermissionMode(t.Context(), "ada", permission.ModePlan); err != nil {
		t.Fatal(err)
	}
	says(t, f, "bob", "mark-bob-0", "mark-bob-0") // Ada's sleeps
	var mode permission.Mode
	for m, err := range f.Run(t.Context(), "ada", "mark-ada-1") {
		if err != nil {
			t.Fatal(err)
		}
		if begin, ok := m.(*message.Init); ok {
			mode = begin.PermissionMode
		}
	}
	if mode != permission.ModePlan {
		t.Errorf("it woke in the mode %q", mode)
	}
}

// A conversation that is interrupted while its CLI starts ends its turn as soon as
// that begins: the model, which never stops by itself, is not waited for. The next
// prompt is answered.
func TestRealFleetInterruptedAtStart(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if strings.Contains(c.Prompt, "more") {
			return claudetest.Say("more")
		}
		return claudetest.Say("on and on").Hold(nil)
	}))
	var f *fleet.Fleet
	var once sync.Once
	f, err := fleet.Open(t.Context(), fleet.Options{
		Store: store.Files(t.TempDir()), Project: "p", Journal: t.TempDir(), Logger: harness.Logger(t),
		Session: func(ctx context.Context, key string) (*claude.Options, error) {
			var err error
			if info, unknown := f.Get(ctx, key); unknown == nil && info.Queued > 0 { // it is not only asked which CLI it is
				once.Do(func() { err = f.Interrupt(ctx, key) })
			}
			opts := *r.opts
			return &opts, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFleet(t, f)
	_, err = lastText(f.Run(t.Context(), "ada", "count"))
	if failed, ok := errors.AsType[*fleet.FailedError](err); !ok || failed.Ticket.Result == nil || !failed.Ticket.Result.Interrupted() {
		t.Errorf("the turn ended with %v", err)
	}
	says(t, f, "ada", "more", "more")
}

// A conversation whose deferred call was allowed is interrupted before the CLI
// reports that the turn has begun: while it starts, and when it asks about the
// call. The call is not made, the prompt ends as interrupted, and the next one is
// answered.
func TestRealFleetInterruptedBeforeDeferredCall(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	for _, when := range []string{"while it starts", "when it asks"} {
		t.Run(when, func(t *testing.T) {
			r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
				switch {
				case strings.Contains(c.Prompt, "more"):
					return claudetest.Say("more")
				case len(c.ToolResults) > 0:
					return claudetest.Say("on and on").Hold(nil) // until it is interrupted
				}
				return bash("echo one >> log")
			}))
			var f *fleet.Fleet
			var armed atomic.Bool
			var once sync.Once
			interrupt := func(ctx context.Context, now string) {
				if now == when && armed.Load() {
					once.Do(func() {
						if err := f.Interrupt(ctx, "ada"); err != nil {
							t.Errorf("interrupted: %v", err)
						}
					})
				}
			}
			f, err := fleet.Open(t.Context(), fleet.Options{
				Store: store.Files(t.TempDir()), Project: "p", Journal: t.TempDir(), Logger: harness.Logger(t),
				Session: func(ctx context.Context, _ string) (*claude.Options, error) {
					interrupt(ctx, "while it starts")
					opts := *r.opts
					return &opts, nil
				},
				Gate: &approval.Options{Patience: 100 * time.Millisecond, Needs: func(ctx context.Context, _ *hook.PreToolUseInput) (string, bool) {
					interrupt(context.WithoutCancel(ctx), "when it asks") // which ends the question
					return "", true
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer closeFleet(t, f)
			_, err = lastText(f.Run(t.Context(), "ada", "make a note"))
			waits, ok := errors.AsType[*fleet.DeferredError](err)
			if !ok {
				t.Fatalf("not deferred: %v", err)
			}
			q, err := f.Approvals().Get(t.Context(), waits.Question)
			if err != nil {
				t.Fatal(err)
			}
			armed.Store(true)
			if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil {
				t.Fatal(err)
			}
			_, err = lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: waits.Prompt, Text: "make a note"}))
			if failed, ok := errors.AsType[*fleet.FailedError](err); !ok || failed.Ticket.Result == nil || !failed.Ticket.Result.Interrupted() {
				t.Errorf("the turn ended with %v", err)
			}
			if q, err := f.Approvals().Get(t.Context(), q.ID); err != nil || q.State != approval.StateGone || r.noted() != "" {
				t.Errorf("the question is %s %s, %v; the tool wrote %q", q.State, q.Outcome, err, r.noted())
			}
			says(t, f, "ada", "more", "more")
			if r.noted() != "" {
				t.Errorf("the tool wrote %q", r.noted())
			}
		})
	}
}

// What a CLI uses is seen while it runs. One that uses more than it may is ended
// after its turn, and the conversation continues with a fresh one.
func TestRealFleetUsage(t *testing.T) {
	t.Parallel()
	need.Processes.Test(t)
	var limit atomic.Int64
	limit.Store(10 << 30)
	f := machine(t).fleet(t, store.Files(t.TempDir()), fleet.Options{
		IdleAfter: time.Hour,
		LimitsOf:  func(string) fleet.ConversationLimits { return fleet.ConversationLimits{MaxMemory: limit.Load()} },
	})
	defer closeFleet(t, f)
	says(t, f, "ada", "mark-ada-0", "mark-ada-0")
	info, err := f.Get(t.Context(), "ada")
	if err != nil || info.State != fleet.StateAwake || info.Usage.Processes < 1 || info.Usage.Memory < 50<<20 || info.Usage.Memory > 2<<30 {
		t.Errorf("%+v, %v", info, err)
	}
	limit.Store(1 << 20)
	says(t, f, "ada", "mark-ada-1", "mark-ada-0 mark-ada-1")
	eventually(t, "the CLI ends", func() bool {
		info, err := f.Get(t.Context(), "ada")
		return err == nil && info.State == fleet.StateAsleep
	})
	says(t, f, "ada", "mark-ada-2", "mark-ada-0 mark-ada-1 mark-ada-2")
}

// A program that is suspended while a person is asked loses its conversation to
// another one, which makes the decided call. Continued, the first one ends its CLI
// and makes no call.
func TestRealFleetSuspended(t *testing.T) {
	t.Parallel()
	need.Processes.Test(t)
	dir, first := t.TempDir(), machine(t)
	inbox := &approvals{first, approval.NewQuestions(store.Files(dir), "p")}
	first.killed(t, dir, "make a note", time.Minute, func(host *os.Process) {
		q := inbox.asked(t)
		stored(t, store.Files(dir), "p", q.ToolUseID)
		suspendOutsideOfWrites(t, host, store.Files(dir))
		inbox.decide(t, q, permission.Allow())
		free(t, store.Files(dir), "p", "fleet/c/ada")
		second, text, err := takeOver(t, dir, "make a note", &approval.Options{Patience: time.Minute})
		if err != nil || !strings.Contains(text, "It says:") {
			t.Errorf("the answer: %q, %v", text, err)
		}
		if err := resume(host); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the CLI of the first program still runs", func() bool {
			left, err := proc.Measure(host.Pid)
			return err == nil && left.Processes == 1
		})
		if first.noted() != "" || second.noted() != "one\n" {
			t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
		}
		if q := inbox.question(t, q.ID); q.State != approval.StateSettled || q.Outcome != approval.OutcomeRan {
			t.Errorf("the question is %s %s", q.State, q.Outcome)
		}
	})
}

// suspendOutsideOfWrites suspends a program when it does not hold the file lock
// of its lease: otherwise no other process could take the lease over.
func suspendOutsideOfWrites(t *testing.T, host *os.Process, db *store.FileStore) {
	t.Helper()
	for {
		if err := suspend(host); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // real time: what is late is tried again
		l, err := db.Acquire(ctx, "p", "fleet/c/ada", "a test", time.Millisecond)
		cancel()
		if err == nil {
			err = db.Release(t.Context(), l)
		}
		if err == nil || errors.Is(err, store.ErrLeased) {
			return
		}
		if err := resume(host); err != nil {
			t.Fatal(err)
		}
	}
}

// Text is seen while the real CLI writes it, and the stored answer takes its
// place: the live pieces of a block are the beginning of what is stored of it, and
// none comes after it.
func TestRealFleetLive(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	const answer = "one two three four five six seven eight nine ten"
	seen := make(chan struct{}) // closed when a piece of it was
	r := startReal(t, claudetest.NewModel(claudetest.Say("hello"), claudetest.Say(answer).Chunks(4, 0).Hold(seen)))
	r.opts.PartialMessages = true
	f := r.fleet(t, store.Files(t.TempDir()), fleet.Options{})
	defer closeFleet(t, f)
	says(t, f, "ada", "begin", "hello")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var live, stored string // of the second answer
	sent, results := false, 0
	for e, err := range f.Events(ctx, "ada", "") {
		if err != nil {
			t.Fatal(err)
		}
		switch m := e.Message.(type) {
		case *message.StreamEvent:
			if stored != "" {
				t.Errorf("live text after the answer is stored: %+v", m)
			}
			if m.Delta != nil {
				if e.Offset != len(live) {
					t.Errorf("a piece at %d behind %d bytes", e.Offset, len(live))
				}
				if live == "" {
					close(seen)
				}
				live += m.Delta.Text
			}
		case *message.Assistant:
			if sent {
				stored = m.Text()
			} else { // the history is read, and what comes now is live
				sent = true
				if _, err := f.Send(ctx, "ada", fleet.Prompt{Text: "count"}); err != nil {
					t.Fatal(err)
				}
			}
		case *message.Result:
			results++
		}
		if stored != "" && results > 0 {
			break
		}
	}
	if live == "" || !strings.HasPrefix(stored, live) || stored != answer {
		t.Errorf("live %q, stored %q", live, stored)
	}
}
