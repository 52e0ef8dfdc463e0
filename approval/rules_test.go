package approval_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// always decides with a rule.
func always(d permission.Decision, rules ...string) func(*testing.T, *approval.Questions, approval.Question) {
	return func(t *testing.T, in *approval.Questions, q approval.Question) {
		t.Helper()
		if _, err := in.Decide(t.Context(), q.ID, approval.Answer{Decision: d, By: "ada", Digest: q.Digest, Always: rules}); err != nil {
			t.Fatal(err)
		}
	}
}

func shell(id, command string) claudetest.ScriptedCall {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return claudetest.ScriptedCall{ID: id, Name: "Bash", Input: json.RawMessage(input), Output: "ok"}
}

// open returns the open questions.
func (g *guarded) open() []approval.Question {
	g.t.Helper()
	var all []approval.Question
	for q, err := range g.inbox.List(g.t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// A decision with a rule also decides later calls like it, even in another
// process, and no others. A rule that denies wins.
func TestAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		g := guard(t, db, approval.Options{}, claudetest.UseTools(shell("toolu_1", "make all")), claudetest.UseTools(shell("toolu_2", "make test")), claudetest.Say("Done."))
		results := g.start()
		if got := g.only().Suggestions; !slices.Equal(got, []string{"Bash(make all)"}) {
			t.Errorf("suggested %q", got)
		}
		always(permission.Allow(), "Bash(make:*)")(t, g.inbox, g.only())
		if r := <-results; r.Text != "Done." {
			t.Errorf("result %q", r.Text)
		}
		g.Close()

		g = guard(t, db, approval.Options{}, claudetest.UseTools(shell("toolu_3", "make clean")), claudetest.UseTools(shell("toolu_4", "git push")), claudetest.Say("Done."))
		results = g.start()
		open := g.open()
		if len(open) != 1 || open[0].ToolUseID != "toolu_4" {
			t.Fatalf("asked about %+v", open)
		}
		always(permission.Deny("never"), "Bash(git push)", "Bash(make clean)")(t, g.inbox, open[0])
		<-results
		g.Close()

		g = guard(t, db, approval.Options{}, claudetest.UseTools(shell("toolu_5", "make clean")), claudetest.Say("Done."))
		defer g.Close()
		<-g.start()
		g.cli.Recording().WantDenied(t, "Bash", "ada does not allow")

		rules, err := g.inbox.Rules(t.Context(), "user-42")
		if err != nil || len(rules) != 3 || rules[0].Rule != "Bash(make:*)" || rules[0].By != "ada" || rules[0].Behavior != permission.BehaviorAllow {
			t.Errorf("rules %+v, %v", rules, err)
		}
		for q, err := range g.inbox.List(t.Context(), approval.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			byRule := map[string]string{"toolu_2": "Bash(make:*)", "toolu_3": "Bash(make:*)", "toolu_5": "Bash(make clean)"}
			if q.Answer == nil || q.Answer.Rule != byRule[q.ToolUseID] || q.Answer.By != "ada" || q.State != approval.StateSettled {
				t.Errorf("%s: %s, answered by %+v", q.ToolUseID, q.State, q.Answer)
			}
		}
		if other, err := g.inbox.Rules(t.Context(), "user-43"); err != nil || len(other) != 0 {
			t.Errorf("another conversation has rules: %+v, %v", other, err)
		}
	})
}

// A rule that one answer makes also decides the questions that are open: those
// of subagents that ask for the same.
func TestAlwaysDecidesOpenQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "p")
		callback := in.Callback("user-42", approval.Options{Patience: time.Hour})
		type reply struct {
			d   permission.Decision
			err error
		}
		replies := make(chan reply, 2)
		for _, id := range []string{"toolu_1", "toolu_2"} {
			go func() {
				d, err := callback(t.Context(), &permission.Request{ToolName: "Bash", Input: json.RawMessage(`{"command":"make"}`), ToolUseID: id})
				replies <- reply{d, err}
			}()
		}
		synctest.Wait()
		for q, err := range in.List(t.Context(), approval.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			always(permission.Allow(), "Bash(make)")(t, in, q)
			break
		}
		for range 2 {
			if r := <-replies; r.err != nil || r.d.Behavior() != permission.BehaviorAllow {
				t.Errorf("%v, %v", r.d, r.err)
			}
		}
	})
}

func TestRevoke(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	for i, rule := range []string{"Bash(a)", "Bash(b)", "Bash(a)", "Bash(c)"} {
		q := ask(t, in, question("toolu_"+string(rune('1'+i))))
		always(permission.Allow(), rule)(t, in, q)
		release(t, in, q)
	}
	for _, c := range []struct {
		revoke []string
		left   int
	}{{[]string{"Bash(x)"}, 3}, {[]string{"Bash(a)"}, 2}, {nil, 0}, {nil, 0}} {
		if err := in.Revoke(t.Context(), "user-42", c.revoke...); err != nil {
			t.Fatal(err)
		}
		if rules, err := in.Rules(t.Context(), "user-42"); err != nil || len(rules) != c.left {
			t.Errorf("after revoking %q there are %+v, %v", c.revoke, rules, err)
		}
	}
}

// One text may be allowed and then denied: both rules are kept, and the denial wins. The
// same answer again adds nothing.
func TestDenyOfAllowedRule(t *testing.T) {
	db := store.Memory()
	in := approval.NewQuestions(db, "p")
	for i, d := range []permission.Decision{permission.Allow(), permission.Deny("no"), permission.Allow()} {
		q := ask(t, in, question("toolu_"+string(rune('1'+i))))
		always(d, "Bash(make all)")(t, in, q)
		release(t, in, q)
	}
	rules, err := in.Rules(t.Context(), "user-42")
	if err != nil || len(rules) != 2 || rules[0].Behavior != permission.BehaviorAllow || rules[1].Behavior != permission.BehaviorDeny {
		t.Errorf("rules %+v, %v", rules, err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, db, approval.Options{}, claudetest.UseTools(shell("toolu_4", "make all")), claudetest.Say("Done."))
		defer g.Close()
		<-g.start()
		g.cli.Recording().WantDenied(t, "Bash", "ada does not allow")
	})
}

// A rule that allows more than a person can have seen is refused.
func TestAlwaysIsNarrow(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q := ask(t, in, question("toolu_1"))
	for rule, valid := range map[string][2]bool{ // when allowing, when denying
		"Bash(make:*)": {true, true}, "mcp__docs__get": {true, true}, "Edit(/src/**)": {true, true}, "WebFetch(domain:go.dev)": {true, true}, "WebSearch": {true, true},
		"Bash": {false, true}, "Bash(*)": {false, true}, "Bash(**)": {false, true}, "Bash(* *)": {false, true}, "Edit": {false, true}, "Edit(//**)": {false, true}, "Edit(~/**)": {false, true},
		"Read(**)": {false, true}, "WebFetch(domain:*)": {false, true}, "mcp__docs": {false, true}, "mcp__docs__*": {false, true}, "*": {false, true},
		"ExitPlanMode": {false, true}, "AskUserQuestion": {false, true},
		"Bash(": {false, false}, "Write(/src/**)": {false, false}, "Bash(:*)": {false, false}, "": {false, false},
	} {
		for i, d := range []permission.Decision{permission.Allow(), permission.Deny("no")} {
			// The digest is wrong: nothing is decided, but the rule is checked first.
			_, err := in.Decide(t.Context(), q.ID, approval.Answer{Decision: d, By: "ada", Digest: "other", Always: []string{rule}})
			if errors.Is(err, approval.ErrInvalid) == valid[i] {
				t.Errorf("%s, %s: %v", d.Behavior(), rule, err)
			}
		}
	}
}
