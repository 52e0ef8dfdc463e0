package e2e

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// moveHome moves to another machine, as far as the CLI can see: another home,
// another working directory.
func (r *real) moveHome(t *testing.T) {
	t.Helper()
	env, home := realcli.Env(t, r.model.URL())
	r.opts.Env, r.home, r.dir = append(env, r.mark), home, t.TempDir()
	r.opts.Cwd = r.dir
}

// A fork from a store has an id of its own and leaves the session as it is, and
// ResumeAt leaves out what came later. Both are stored.
func TestRealForkFromStore(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a store")
	r, mem := mirrored(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("noted") }))
	s := r.connect(t)
	id, answer := s.ID(), ""
	for _, prompt := range []string{"the first", "the second"} {
		if _, err := s.Send(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		if m := until[*message.Assistant](t, s); answer == "" {
			answer = m.UUID
		}
		until[*message.Result](t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Project: "tenant-7", Session: id}
	before := storedText(t, mem, key)
	r.moveHome(t)
	r.opts.Resume, r.opts.ResumeAt, r.opts.ForkSession = id, answer, true
	fork := r.connect(t)
	key.Session = fork.ID()
	if key.Session == id || key.Session == "" {
		t.Errorf("the id of the fork is %q", key.Session)
	}
	if res, err := fork.Ask(t.Context(), "the third"); err != nil || res.SessionID != key.Session {
		t.Errorf("Ask = %+v, %v", res, err)
	}
	calls := r.calls()
	if last := strings.Join(realstore.Said(t, calls[len(calls)-1]), "\n"); !strings.Contains(last, "the first") || strings.Contains(last, "the second") || !strings.Contains(last, "the third") {
		t.Errorf("the model heard:\n%s", last)
	}
	if err := fork.Close(); err != nil {
		t.Error(err)
	}
	if after := storedText(t, mem, store.Key{Project: "tenant-7", Session: id}); after != before {
		t.Error("the session has changed")
	}
	if text := storedText(t, mem, key); !strings.Contains(text, "the first") || !strings.Contains(text, "the third") {
		t.Errorf("the fork is stored as\n%s", text)
	}

	// The fork can be resumed, also from its middle, and then once more.
	r.opts.Resume, r.opts.ForkSession = key.Session, false
	for _, at := range []string{"", answer, ""} {
		r.moveHome(t)
		r.opts.ResumeAt = at
		if res, err := claude.Ask(t.Context(), "the fourth", r.opts); err != nil || res.SessionID != key.Session {
			t.Errorf("the fork from %q: %+v, %v", at, res, err)
		}
	}
}

func storedText(t *testing.T, s store.Transcripts, k store.Key) string {
	t.Helper()
	var text strings.Builder
	for e, err := range store.Entries(t.Context(), s, k) {
		if err != nil {
			t.Fatalf("%v: %v", k, err)
		}
		text.Write(e)
	}
	return text.String()
}
