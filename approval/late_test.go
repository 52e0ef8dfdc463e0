package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// end ends a question about a call that has ended without it.
func end(o approval.Outcome) step {
	return func(t *testing.T, in *approval.Questions, q approval.Question) {
		t.Helper()
		if err := in.End(t.Context(), q.ID, o, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
}

func erase(t *testing.T, in *approval.Questions, q approval.Question) {
	t.Helper()
	if err := in.Erase(t.Context(), q.Conversation, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

func expire(*testing.T, *approval.Questions, approval.Question) { <-time.After(2 * time.Hour) }

// However a question ended, a call that is repeated is denied, and the model reads why. Ada,
// who repeats her decision, learns whether it counts, and Bob, who is too late, learns who
// was first or why there is nothing to decide.
func TestLateDecisions(t *testing.T) {
	allowed := steps(decide(allow), release)
	const (
		counts = "" // the same decision again
		first  = "ada decided question"
		gone   = "can no longer be decided: "
	)
	for name, c := range map[string]struct {
		prepare  step
		outcome  approval.Outcome
		message  string // of the denial
		ada, bob string // parts of their errors
	}{
		"ran":               {steps(allowed, settle(approval.OutcomeRan)), approval.OutcomeRan, "This call ran before. It is not run a second time.", counts, first},
		"failed":            {steps(allowed, settle(approval.OutcomeFailed)), approval.OutcomeFailed, "This call ran before. It is not run a second time.", counts, first},
		"not observed":      {steps(allowed, settle(approval.OutcomeAllowed)), approval.OutcomeAllowed, "This call ran before. It is not run a second time.", counts, first},
		"unknown":           {steps(allowed, settle(approval.OutcomeUnknown)), approval.OutcomeUnknown, "This call was allowed and started before, and then interrupted. It is not known whether it ran. Check its effects before you repeat it.", counts, first},
		"denied":            {steps(decide(deny), release), approval.OutcomeDenied, "not today", first, first},
		"denied by a hook":  {steps(allowed, end(approval.OutcomeDenied)), approval.OutcomeDenied, "This call was allowed, and then denied by a hook. It did not run.", counts, first},
		"expired":           {expire, approval.OutcomeExpired, "Nobody decided about this call in time. It was not refused; ask again if it is still needed.", gone + "expired", gone + "expired"},
		"withdrawn":         {withdraw(approval.OutcomeWithdrawn), approval.OutcomeWithdrawn, "The question about this call is over (withdrawn). Ask again if it is still needed.", gone + "withdrawn", gone + "withdrawn"},
		"superseded":        {withdraw(approval.OutcomeSuperseded), approval.OutcomeSuperseded, "The question about this call is over (superseded). Ask again if it is still needed.", gone + "superseded", gone + "superseded"},
		"erased":            {erase, approval.OutcomeDeleted, "The question about this call is over (deleted). Ask again if it is still needed.", gone + "deleted", gone + "deleted"},
		"decided too early": {steps(decide(allow), withdraw(approval.OutcomeWithdrawn)), approval.OutcomeWithdrawn, "The question about this call is over (withdrawn). Ask again if it is still needed.", gone + "withdrawn", gone + "withdrawn"},
		"decided and lost":  {steps(decide(allow), end(approval.OutcomeUnknown)), approval.OutcomeWithdrawn, "The question about this call is over (withdrawn). Ask again if it is still needed.", gone + "withdrawn", gone + "withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := approval.NewQuestions(store.Memory(), "p")
				asked := question("toolu_1")
				asked.Lifetime = time.Hour
				q := ask(t, in, asked)
				c.prepare(t, in, q)
				for range 2 {
					v, err := in.Release(t.Context(), q.ID, store.Fence{})
					if err != nil || v.Decision.Behavior() != permission.BehaviorDeny || v.Decision.Message() != c.message || v.Question.Outcome != c.outcome {
						t.Errorf("%s, %s: %q, %v", v.Question.Outcome, v.Decision.Behavior(), v.Decision.Message(), err)
					}
				}
				for who, want := range map[string]string{"ada": c.ada, "bob": c.bob} {
					_, err := in.Decide(t.Context(), q.ID, allow(q, who))
					if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
						t.Errorf("%s: %v, want %q", who, err, want)
					}
					decided, isDecided := errors.AsType[*approval.DecidedError](err)
					if isDecided != (want == first) || isDecided && (decided.By != "ada" || decided.Answer.By != "ada" || decided.ID != q.ID) {
						t.Errorf("%s: %+v", who, decided)
					}
					ended, isGone := errors.AsType[*approval.GoneError](err)
					if isGone != strings.HasPrefix(want, gone) || isGone != errors.Is(err, approval.ErrGone) || isGone && ended.Outcome != c.outcome {
						t.Errorf("%s: %+v", who, ended)
					}
				}
				if got, err := in.Get(t.Context(), q.ID); err != nil || got.Outcome != c.outcome {
					t.Errorf("late decisions made the question %s %s, %v", got.State, got.Outcome, err)
				}
			})
		})
	}
}

// Whatever a question is about, and from wherever it comes, only a decision about its own input
// counts.
func TestEveryKindHasItsDigest(t *testing.T) {
	for _, tool := range []string{"Bash", "Edit", "Agent", "AskUserQuestion", "ExitPlanMode", "StructuredOutput", "mcp__files__read", approval.ElicitationTool} {
		for _, c := range []struct {
			agent string
			holds bool
		}{{}, {holds: true}, {agent: "a1", holds: true}} {
			in := approval.NewQuestions(store.Memory(), "p")
			asked := approval.Question{Conversation: "user-42", Tool: tool, ToolUseID: "toolu_1", Input: json.RawMessage(`{"a":1}`), Agent: c.agent, HoldsProcess: c.holds, Plan: "the plan"}
			q := ask(t, in, asked)
			stale := q
			stale.Digest = approval.Digest(json.RawMessage(`{"a":2}`))
			for _, answer := range []approval.Answer{allow(stale, "ada"), deny(stale, "ada")} {
				if _, err := in.Decide(t.Context(), q.ID, answer); !errors.Is(err, approval.ErrChanged) {
					t.Errorf("%s, %+v: a decision about another input: %v", tool, c, err)
				}
			}
			asked.Input = json.RawMessage(`{"a":2}`)
			if _, err := in.Ask(t.Context(), asked, store.Fence{}); !errors.Is(err, approval.ErrChanged) {
				t.Errorf("%s, %+v: asked with another input: %v", tool, c, err)
			}
			if got, err := in.Decide(t.Context(), q.ID, allow(q, "ada")); err != nil || got.State != approval.StateDecided {
				t.Errorf("%s, %+v: %s, %v", tool, c, got.State, err)
			}
		}
	}
}

// A gate whose process has lost its lease leaves the question to the next owner, whether it
// runs out of patience or the CLI withdraws the call.
func TestLostGateLeavesQuestion(t *testing.T) {
	for name, cause := range map[string]error{"patience": nil, "withdrawn": peer.ErrCancelled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hookUp(t, approval.Options{Patience: time.Minute})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				out := h.async(ctx, "toolu_1")
				if err := h.db.Release(t.Context(), store.Lease{Fence: h.fence, Owner: "me"}); err != nil {
					t.Fatal(err)
				}
				if _, err := h.db.Acquire(t.Context(), "p", "user-42", "next", time.Hour); err != nil {
					t.Fatal(err)
				}
				if cause != nil {
					cancel(cause)
				}
				if got := <-out; !strings.Contains(got, store.ErrLeaseLost.Error()) {
					t.Errorf("the CLI reads %s", got)
				}
				h.want("toolu_1", approval.StateOpen, "")
			})
		})
	}
}

// A call that only the CLI's own rules put before a person is never deferred, so its
// question cannot be recovered, even if the transcript ends with the call.
func TestRecoverNotWhatHeldAProcess(t *testing.T) {
	db := store.Memory()
	in, q, key := brokenOff(t, db, db)
	held := approval.Question{Conversation: "user-43", Tool: q.Tool, ToolUseID: q.ToolUseID, Input: q.Input, HoldsProcess: true}
	held = ask(t, in, held)
	before := len(linesOf(t, db, key))
	if _, err := in.Recover(t.Context(), db, key, held.ID, store.Fence{}); !errors.Is(err, approval.ErrNotWaiting) {
		t.Errorf("recovered: %v", err)
	}
	if after := linesOf(t, db, key); len(after) != before {
		t.Errorf("the transcript has %q", after)
	}
}

// The hook allows an input that a person has changed; when the CLI asks for permission as
// well, that input is the one that was allowed, and the model's own is not.
func TestGateAllowsTheChangedInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Minute})
		h.before(makeCall, func(q approval.Question, by string) approval.Answer {
			return approval.Answer{Decision: permission.AllowWith(map[string]string{"command": "make -n"}), By: by, Digest: q.Digest}
		})
		for input, want := range map[string]permission.Behavior{`{"command":"make -n"}`: permission.BehaviorAllow, `{"command":"make"}`: permission.BehaviorDeny} {
			d, err := h.opts.CanUseTool(t.Context(), &permission.Request{ToolName: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(input)})
			if err == nil && d.Behavior() != want || err != nil && want == permission.BehaviorAllow {
				t.Errorf("%s: %s %q, %v", input, d.Behavior(), d.Message(), err)
			}
		}
	})
}
