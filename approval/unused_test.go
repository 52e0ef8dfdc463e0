package approval_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/store"
)

// A decision that never reached its call is kept, with the reason, until the person who
// made it has seen that. One that was used carries no such note.
func TestUnusedDecision(t *testing.T) {
	for name, end := range map[string]func(*approval.Questions, string) error{
		"lost": func(in *approval.Questions, id string) error {
			return in.End(t.Context(), id, approval.OutcomeUnknown, store.Fence{})
		},
		"ended": func(in *approval.Questions, id string) error {
			return in.End(t.Context(), id, approval.OutcomeFailed, store.Fence{})
		},
		"withdrawn": func(in *approval.Questions, id string) error {
			return in.Withdraw(t.Context(), id, approval.OutcomeWithdrawn, "", store.Fence{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, r store.Records) {
				in := approval.NewQuestions(r, "p")
				q, open := ask(t, in, question("toolu_1")), ask(t, in, question("toolu_2"))
				if _, err := in.Decide(t.Context(), q.ID, allow(q, "ada")); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(end(in, q.ID), end(in, open.ID)); err != nil {
					t.Fatal(err)
				}
				now, err := in.Get(t.Context(), q.ID)
				if err != nil || now.State != approval.StateGone || now.Unused == "" || now.Answer == nil || now.Answer.By != "ada" {
					t.Errorf("the question: %+v, %v", now, err)
				}
				if other, err := in.Get(t.Context(), open.ID); err != nil || other.Unused != "" {
					t.Errorf("nobody decided: %+v, %v", other, err)
				}
				if _, err := in.Decide(t.Context(), q.ID, deny(q, "bob")); !errors.Is(err, approval.ErrGone) {
					t.Errorf("decided too late: %v", err)
				}
				unseen := func(by string) (ids []string) {
					for q, err := range in.List(t.Context(), approval.Filter{Unused: by}) {
						if err != nil {
							t.Fatal(err)
						}
						ids = append(ids, q.ID)
					}
					return ids
				}
				if got := unseen("ada"); !slices.Equal(got, []string{q.ID}) || len(unseen("bob")) != 0 {
					t.Errorf("ada has not seen %q, bob %q", got, unseen("bob"))
				}
				forget := func() int {
					n, err := in.Forget(t.Context(), time.Now().Add(time.Hour), nil)
					if err != nil {
						t.Fatal(err)
					}
					return n
				}
				for _, by := range []string{"bob", "ada"} {
					if n := forget(); by == "bob" && n != 1 || by == "ada" && n != 0 {
						t.Errorf("%d questions were forgotten", n)
					}
					if _, err := in.Acknowledge(t.Context(), q.ID, by); err != nil {
						t.Fatal(err)
					}
				}
				if n := forget(); n != 1 || len(unseen("ada")) != 0 {
					t.Errorf("%d questions were forgotten when it was seen", n)
				}
			})
		})
	}
}

// A decision that was used is not reported.
func TestUsedDecision(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	for i, a := range []func(approval.Question, string) approval.Answer{allow, deny} {
		q := ask(t, in, question([]string{"toolu_1", "toolu_2"}[i]))
		if _, err := in.Decide(t.Context(), q.ID, a(q, "ada")); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Release(t.Context(), q.ID, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		if err := in.End(t.Context(), q.ID, approval.OutcomeUnknown, store.Fence{}); err != nil {
			t.Fatal(err)
		}
		if now, err := in.Get(t.Context(), q.ID); err != nil || now.Unused != "" || now.State != approval.StateSettled {
			t.Errorf("%+v, %v", now, err)
		}
	}
}

// A decision that its person never looks at is kept for thirty days longer than others,
// but not for ever.
func TestUnusedDecisionIsForgotten(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		in := approval.NewQuestions(r, "p")
		steps(decide(allow), withdraw(approval.OutcomeWithdrawn))(t, in, ask(t, in, question("toolu_1")))
		now, err := r.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, days := range []int{1, 29, 31} {
			n, err := in.Forget(t.Context(), now.AddDate(0, 0, days), nil)
			if want := i / 2; err != nil || n != want {
				t.Errorf("after %d days %d questions are forgotten, %v, want %d", days, n, err, want)
			}
		}
	})
}
