package e2e

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A turn whose deferred call has run breaks off before the model answers, when the CLI has
// just stored the line by which it continues. The next program continues the turn.
func TestRealFleetContinuesTwice(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	for name, killed := range map[string]bool{"closed": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			if killed {
				need.Signals.Test(t)
			}
			var read atomic.Int32 // requests with the result of the tool
			r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
				switch {
				case len(c.ToolResults) == 0:
					return bash("echo one >> log")
				case read.Add(1) == 1:
					return claudetest.Say("cut off").Hold(nil)
				}
				return claudetest.Say("finally")
			}))
			r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
			dir := t.TempDir()
			inbox := &approvals{r, approval.NewQuestions(store.Files(dir), "p")}
			o := fleet.Options{Attempts: 2, Grace: 10 * time.Millisecond, Gate: &approval.Options{Patience: 100 * time.Millisecond}}
			cutOff := func() {
				eventually(t, "the call is not deferred", func() bool { return inbox.asked(t).Deferred })
				inbox.decide(t, inbox.asked(t), permission.Allow())
				eventually(t, "the model does not read the result", func() bool { return read.Load() == 1 })
				stored(t, store.Files(dir), "p", `"content":"Continue from where you left off."},"isMeta":true`)
			}
			if killed {
				r.killed(t, dir, "make a note", 100*time.Millisecond, func(*os.Process) { cutOff() })
			} else {
				f := r.fleet(t, store.Files(dir), o)
				if _, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "make a note"}); err != nil {
					t.Fatal(err)
				}
				cutOff()
				closeFleet(t, f)
			}
			f := r.fleet(t, store.Files(dir), o)
			defer closeFleet(t, f)
			ticket, err := f.Wait(t.Context(), "ada", notedPrompt)
			if err != nil || ticket.Text != "finally" || r.noted() != "one\n" {
				t.Errorf("%+v, %v; the tool wrote %q", ticket, err, r.noted())
			}
		})
	}
}

// A process dies between the answer of a turn that was deferred before and the note of the
// CLI about the last line. The next one shows the model the answer nevertheless.
func TestRealAnswerBehindDeferral(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) == 0 {
			return bash("echo one >> log")
		}
		return claudetest.Say("the answer behind it")
	}))
	r.opts.PermissionMode, r.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
	dir := t.TempDir()
	inbox := &approvals{r, approval.NewQuestions(store.Files(dir), "p")}
	f := r.fleet(t, store.Files(dir), fleet.Options{Gate: &approval.Options{Patience: 100 * time.Millisecond}})
	id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "make a note"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the call is not deferred", func() bool { return inbox.asked(t).Deferred })
	inbox.decide(t, inbox.asked(t), permission.Allow())
	ticket, err := f.Wait(t.Context(), "ada", id)
	if err != nil || ticket.Text != "the answer behind it" {
		t.Fatalf("%+v, %v", ticket, err)
	}
	closeFleet(t, f)
	db, lines, deferred, notes := store.Memory(), []store.Entry(nil), false, 0
	for e, err := range store.Entries(t.Context(), store.Files(dir), store.Key{Project: "p", Session: ticket.Session}) {
		if err != nil {
			t.Fatal(err)
		}
		deferred = deferred || strings.Contains(string(e), `"tool_result"`)
		isNote := strings.Contains(string(e), `"type":"last-prompt"`)
		if isNote && deferred {
			continue // it came too late
		}
		if isNote {
			notes++
		}
		lines = append(lines, e)
	}
	if notes == 0 {
		t.Fatal("the CLI notes nothing when a call is deferred")
	}
	if err := db.Append(t.Context(), store.Key{Project: "p", Session: ticket.Session}, store.Batch{ID: "copy", Entries: lines}); err != nil {
		t.Fatal(err)
	}
	o := *r.opts
	o.Resume, o.Store = ticket.Session, &claude.StoreOptions{Store: db, Project: "p", Journal: t.TempDir()}
	s, err := claude.Connect(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := lastText(s.Run(t.Context(), "And then?")); err != nil {
		t.Fatal(err)
	}
	if heard := string(r.calls()[len(r.calls())-1].Raw); !strings.Contains(heard, "the answer behind it") || !strings.Contains(heard, "And then?") {
		t.Errorf("the model heard %s", heard)
	}
}
