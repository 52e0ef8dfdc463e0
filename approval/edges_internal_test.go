package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// Rules are about paths below the directory in which the CLI was started, and below the one
// in which it works now.
func TestProjectDirs(t *testing.T) {
	for _, c := range []struct {
		project, cwd string
		want         []string
	}{
		{"/p", "/p/sub", []string{"/p", "/p/sub"}},
		{"/p", "/p", []string{"/p"}},
		{"/p", "", []string{"/p"}},
		{"", "/p", []string{"/p"}},
		{"", "", []string{"."}},
	} {
		ctx := context.WithValue(t.Context(), projectKey{}, c.project)
		in := new(hook.PreToolUseInput)
		in.Cwd = c.cwd
		if got := projectDirs(ctx, in); !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %q, want %q", c.project, c.cwd, got, c.want)
		}
	}
}

// A question has no more of a plan than a record can hold.
func TestLongPlan(t *testing.T) {
	config := t.TempDir()
	transcript := filepath.Join(config, "projects", "-work", "session.jsonl")
	if err := restorePlan(transcript, "plan.md", strings.Repeat("x", maxPlan+1)); err != nil {
		t.Fatal(err)
	}
	text, path := newestPlan(transcript)
	if len(text) != maxPlan || filepath.Base(path) != "plan.md" {
		t.Errorf("%d bytes of %s", len(text), path)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A call whose question was erased is over as well, and does not keep others from ending.
func TestSettleRestOfErased(t *testing.T) {
	g := NewGate(NewQuestions(store.Memory(), "p"), "ada", store.Fence{}, Options{})
	for _, call := range []string{"toolu_1", "toolu_2"} {
		g.follow(&Question{Tool: "Bash", ToolUseID: call})
	}
	err := g.SettleRest(t.Context(), func() (map[string]Outcome, error) {
		return map[string]Outcome{"toolu_1": OutcomeRan, "toolu_2": OutcomeRan}, nil
	})
	if left := g.rest(); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A question that the store refuses cannot arrive late, so its turn ends without it.
func TestSettleRestOfRefusedQuestion(t *testing.T) {
	qs := NewQuestions(store.Memory(), "p")
	g := NewGate(qs, "ada", store.Fence{}, Options{})
	large := fmt.Appendf(nil, "%q", strings.Repeat("x", store.MaxRecord))
	if _, err := g.ask(t.Context(), Question{Conversation: "ada", Tool: "Bash", ToolUseID: "toolu_1", Input: large}, true); !errors.Is(err, store.ErrInvalid) {
		t.Fatal(err)
	}
	err := g.SettleRest(t.Context(), func() (map[string]Outcome, error) { return map[string]Outcome{"toolu_1": OutcomeFailed}, nil })
	if left := g.rest(); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// The same for a call that the CLI withdraws while its question is written.
func TestLeaveLateQuestion(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	first := true
	db := storefault.Wrap(store.Memory(), func(c storefault.Call) storefault.Kind {
		if c.Method != "Change" || !first {
			return storefault.None
		}
		first = false
		cancel(peer.ErrCancelled)
		return storefault.Later
	})
	qs := NewQuestions(db, "p")
	g := NewGate(qs, "ada", store.Fence{}, Options{})
	if _, err := g.ask(ctx, Question{Conversation: "ada", Tool: "Bash", ToolUseID: "toolu_1", Input: []byte(`{}`)}, true); !errors.Is(err, peer.ErrCancelled) {
		t.Fatal(err)
	}
	for range 20 { // a late write follows the tenth call
		_, _ = qs.Get(t.Context(), "q")
	}
	if q, err := qs.Get(t.Context(), idOf("ada", "toolu_1")); err != nil || q.State != StateGone || q.Outcome != OutcomeWithdrawn {
		t.Errorf("%+v, %v", q, err)
	}
}

// A question whose write has failed is over when its turn has ended, even if the store gets
// the write late: no person is asked about a call that the model was denied long ago.
func TestSettleRestOfLateQuestion(t *testing.T) {
	for name, fault := range map[string]storefault.Kind{"never": storefault.Fail, "before its turn ends": storefault.LostReply, "after its turn has ended": storefault.Later} {
		t.Run(name, func(t *testing.T) {
			db := storefault.Wrap(store.Memory(), func(c storefault.Call) storefault.Kind {
				if c.Method == "Change" {
					now := fault
					fault = storefault.None
					return now
				}
				return storefault.None
			})
			qs := NewQuestions(db, "p")
			g := NewGate(qs, "ada", store.Fence{}, Options{})
			if _, err := g.ask(t.Context(), Question{Conversation: "ada", Tool: "Bash", ToolUseID: "toolu_1", Input: []byte(`{}`)}, true); err == nil {
				t.Fatal("the store did not fail")
			}
			err := g.SettleRest(t.Context(), func() (map[string]Outcome, error) { return map[string]Outcome{"toolu_1": OutcomeFailed}, nil })
			if left := g.rest(); err != nil || len(left) != 0 {
				t.Errorf("%v are left, %v", left, err)
			}
			for range 20 { // a late write follows the tenth call
				_, _ = qs.Get(t.Context(), "q")
			}
			if q, err := qs.Get(t.Context(), idOf("ada", "toolu_1")); err != nil || q.State != StateGone || q.Outcome != OutcomeWithdrawn || q.Ended.IsZero() {
				t.Errorf("%+v, %v", q, err)
			}
		})
	}
}
