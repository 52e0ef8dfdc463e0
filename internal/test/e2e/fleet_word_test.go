package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

var ends = flag.Int("ends", 3, "how many deploys, or kills, a turn goes through in TestRealFleetDeploys and TestRealFleetKilledAgain")

// Orderly deploys during one turn do not strand it, although a prompt has only one
// attempt: it is answered once, and no call that was cut off is made again by itself.
func TestRealFleetDeploys(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	deploys := *ends
	for name, tools := range map[string]bool{"before the first answer": false, "while tools run": true} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply {
				switch n := int(asked.Add(1)); {
				case n > deploys:
					return claudetest.Say("finally")
				case tools:
					return bash("echo one >> log; sleep 60")
				}
				return claudetest.Say("cut off").Hold(nil)
			}))
			r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
			db, options := store.Files(t.TempDir()), fleet.Options{Attempts: 1, Grace: 10 * time.Millisecond}
			id := ""
			for n := range deploys {
				f := r.fleet(t, db, options)
				if id == "" {
					var err error
					if id, err = f.Send(t.Context(), "ada", fleet.Prompt{Text: "work"}); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, "the turn stands still", func() bool {
					return int(asked.Load()) == n+1 && (!tools || r.noted() == strings.Repeat("one\n", n+1))
				})
				closeFleet(t, f)
			}
			f := r.fleet(t, db, options)
			defer closeFleet(t, f)
			ticket, err := f.Wait(t.Context(), "ada", id)
			if err != nil || ticket.Status != fleet.PromptAnswered || ticket.Text != "finally" {
				t.Fatalf("%+v, %v", ticket, err)
			}
			want := ""
			if tools {
				want = strings.Repeat("one\n", deploys)
			}
			if got := r.noted(); got != want || int(asked.Load()) != deploys+1 {
				t.Errorf("the tool wrote %q, the model was asked %d times", got, asked.Load())
			}
			if n := saidTimes(t, db, ticket.Session, "finally"); n != 1 {
				t.Errorf("answered %d times", n)
			}
		})
	}
}

// A turn whose program is killed again and again, and makes progress in between, is not
// stranded either, with the usual attempts. No call is made twice.
func TestRealFleetKilledAgain(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	realcli.Needs(t, "2.1.325", "sessions in a store")
	var asked atomic.Int32
	call := func(n int) string { return fmt.Sprintf("echo call-%d >> log; sleep 60", n) }
	r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply {
		if n := int(asked.Add(1)); n <= *ends {
			return bash(call(n))
		}
		return claudetest.Say("finally")
	}))
	r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	dir, want := t.TempDir(), ""
	for n := range *ends {
		want += fmt.Sprintf("call-%d\n", n+1)
		r.killed(t, dir, "work", 0, func(*os.Process) {
			eventually(t, "the turn stands still", func() bool { return r.noted() == want })
			stored(t, store.Files(dir), "p", call(n+1)) // progress
		})
	}
	f := r.fleet(t, store.Files(dir), fleet.Options{})
	defer closeFleet(t, f)
	ticket, err := f.Wait(t.Context(), "ada", notedPrompt)
	if err != nil || ticket.Status != fleet.PromptAnswered || ticket.Text != "finally" {
		t.Fatalf("%+v, %v", ticket, err)
	}
	if got := r.noted(); got != want || int(asked.Load()) != *ends+1 {
		t.Errorf("the tool wrote %q, the model was asked %d times", got, asked.Load())
	}
	if n := saidTimes(t, store.Files(dir), ticket.Session, "finally"); n != 1 {
		t.Errorf("answered %d times", n)
	}
}

// saidTimes counts the answers of a session with a text.
func saidTimes(t *testing.T, db store.Transcripts, session, text string) (n int) {
	t.Helper()
	tr, err := history.In(db, "p").Read(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := m.Message.(*message.Assistant); ok && a.Text() == text {
			n++
		}
	}
	return n
}

// A deferred question that is not decided ends its prompt when its time is over, in
// the process that has asked: without a restart, without a CLI and without the
// call. The next prompt is answered.
func TestRealFleetExpired(t *testing.T) {
	t.Parallel()
	r := machine(t)
	f := r.fleet(t, store.Files(t.TempDir()), fleet.Options{Gate: &approval.Options{Patience: 100 * time.Millisecond, Lifetime: 10 * time.Second}})
	defer closeFleet(t, f)
	_, err := lastText(f.Run(t.Context(), "ada", "make a note"))
	waits, ok := errors.AsType[*fleet.DeferredError](err)
	if !ok {
		t.Fatalf("not deferred: %v", err)
	}
	q, err := f.Approvals().Get(t.Context(), waits.Question)
	if err != nil {
		t.Fatal(err)
	}
	asked := len(r.calls())
	ticket, err := f.Wait(t.Context(), "ada", waits.Prompt)
	if _, failed := errors.AsType[*fleet.FailedError](err); !failed || ticket.Status != fleet.PromptExpired || ticket.Question != q.ID || ticket.Ended.Before(q.Deadline) {
		t.Fatalf("%+v, %v", ticket, err)
	}
	t.Logf("ended %v after the deadline", ticket.Ended.Sub(q.Deadline))
	if late := ticket.Ended.Sub(q.Deadline); late > 30*time.Second || len(r.calls()) != asked {
		t.Errorf("ended %v after the deadline; the model was asked %d times more", late, len(r.calls())-asked)
	}
	text, err := lastText(f.Run(t.Context(), "ada", "mark-ada-1"))
	if err != nil || !strings.Contains(text, "mark-ada-1") || r.noted() != "" {
		t.Errorf("the next prompt: %q, %v; the tool wrote %q", text, err, r.noted())
	}
}

// A turn is interrupted while the program that runs it is suspended, and then dies. The
// program that takes over ends the prompt: the turn does not continue, and no call begins.
func TestRealFleetInterruptOutlivesOwner(t *testing.T) {
	t.Parallel()
	need.Processes.Test(t)
	dir, first := t.TempDir(), machine(t)
	first.killed(t, dir, "make a note and rest", 0, func(host *os.Process) {
		stored(t, store.Files(dir), "p", "echo one >> log; sleep 60")
		eventually(t, "the tool did not run", func() bool { return first.noted() != "" })
		suspendOutsideOfWrites(t, host, store.Files(dir))
		by := first.fleet(t, store.Files(dir), fleet.Options{MaxLive: fleet.NoCLIs})
		defer closeFleet(t, by)
		if err := by.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatalf("interrupted: %v", err)
		}
	})
	second := machine(t)
	second.opts.PermissionMode, second.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	f := second.fleet(t, store.Files(dir), fleet.Options{})
	defer closeFleet(t, f)
	ticket, err := f.Wait(t.Context(), "ada", notedPrompt)
	if _, failed := errors.AsType[*fleet.FailedError](err); !failed || !ticket.Interrupted || ticket.Status != fleet.PromptFailed {
		t.Fatalf("%+v, %v", ticket, err)
	}
	if n := len(second.calls()); n != 0 || second.noted() != "" || first.noted() != "one\n" {
		t.Errorf("the model was asked %d times, the tool wrote %q, then %q", n, first.noted(), second.noted())
	}
	if _, err := lastText(f.Run(t.Context(), "ada", "mark-ada-1")); err != nil || second.noted() != "" {
		t.Errorf("the next prompt: %v; the tool wrote %q", err, second.noted())
	}
}
