package approval_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// The contents of questions, answers and rules leave the store with their
// conversation, whatever state a question is in. The tombstone of each question
// stays.
func TestEraseLeavesNoWord(t *testing.T) {
	const secret = "swordfish"
	stores(t, func(t *testing.T, r store.Records) {
		in := approval.NewQuestions(r, "p")
		telling := func(conversation, call string) approval.Question {
			q := question(call)
			q.Conversation, q.Prompt, q.Input = conversation, secret, []byte(`{"command":"`+secret+`"}`)
			q.Cwd, q.Reason, q.Diff, q.Agent = "/"+secret, secret, "+"+secret, secret
			q.Plan, q.PlanPath, q.Suggestions = secret, "/plans/"+secret, []string{"Bash(" + secret + ")"}
			return ask(t, in, q)
		}
		refuse := func(t *testing.T, in *approval.Questions, q approval.Question) {
			always(permission.Deny(secret), "Bash("+secret+")")(t, in, q)
		}
		for call, reach := range map[string]step{
			"toolu_1": func(*testing.T, *approval.Questions, approval.Question) {},
			"toolu_2": refuse,
			"toolu_3": steps(decide(allow), release),
			"toolu_4": steps(refuse, release),
			"toolu_5": steps(decide(allow), release, settle(approval.OutcomeRan)),
			"toolu_6": steps(refuse, withdraw(approval.OutcomeWithdrawn)),
		} {
			reach(t, in, telling("user-42", call))
		}
		other := telling("user-43", "toolu_1")
		for range 2 { // it may be repeated
			if err := in.Erase(t.Context(), "user-42", store.Fence{}); err != nil {
				t.Fatal(err)
			}
		}
		left := 0
		for _, kind := range []string{approval.Kind, "rules"} {
			for rec, err := range r.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(rec.Value, []byte(secret)) && rec.Key.Name != other.ID {
					t.Errorf("the store still has %s: %s", rec.Key, rec.Value)
				}
				left++
			}
		}
		if left != 7 {
			t.Errorf("%d records are left, not those of 7 questions", left)
		}
		for q, err := range in.List(t.Context(), approval.Filter{Conversation: "user-42"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.Decide(t.Context(), q.ID, allow(q, "ada")); q.State == approval.StateGone && !errors.Is(err, approval.ErrGone) || err == nil {
				t.Errorf("question %s can be decided: %v", q.ToolUseID, err)
			}
		}
		if now, err := in.Get(t.Context(), other.ID); err != nil || now.State != approval.StateOpen || now.Reason != secret {
			t.Errorf("another conversation: %+v, %v", now, err)
		}
	})
}

// Members that a newer program has added to a question may hold its contents too: no
// tombstone keeps them.
func TestEraseUnknownMembers(t *testing.T) {
	db := store.Memory()
	in := approval.NewQuestions(db, "p")
	q := ask(t, in, question("toolu_1"))
	k := store.RecordKey{Project: "p", Kind: approval.Kind, Name: q.ID}
	r, err := store.Get(t.Context(), db, k)
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Replace(r.Value, []byte("{"), []byte(`{"future":"swordfish",`), 1)
	if _, err := store.Put(t.Context(), db, k, value, r.Revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if now, err := in.Get(t.Context(), q.ID); err != nil || now.State != approval.StateOpen {
		t.Fatalf("before: %+v, %v", now, err)
	}
	if err := in.Erase(t.Context(), q.Conversation, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if r, err = store.Get(t.Context(), db, k); err != nil || bytes.Contains(r.Value, []byte("swordfish")) {
		t.Errorf("the tombstone is %s, %v", r.Value, err)
	}
}
