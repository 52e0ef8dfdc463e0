package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// The inbox as a permission callback, without hooks and deferrals.
func TestCallback(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(approval.Question, string) approval.Answer
		ran     bool
		state   approval.State
		outcome approval.Outcome
	}{
		"allowed": {allow, true, approval.StateSettled, approval.OutcomeAllowed},
		"denied":  {deny, false, approval.StateSettled, approval.OutcomeDenied},
		"nobody":  {nil, false, approval.StateGone, approval.OutcomeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &guarded{t: t, inbox: approval.NewQuestions(store.Memory(), "p"), cli: claudetest.New(claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))}
				opts := &claude.Options{Transport: g.cli, CanUseTool: g.inbox.Callback("user-42", approval.Options{Patience: time.Hour})}
				var err error
				if g.Session, err = claude.Connect(t.Context(), opts); err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				results := g.start()
				q := g.only()
				if !q.HoldsProcess || q.Deadline.IsZero() || q.Deadline.After(time.Now().Add(time.Hour)) {
					t.Errorf("the question does not say that a process waits, and until when: %+v", q)
				}
				if c.answer != nil {
					decide(c.answer)(t, g.inbox, q)
				}
				if r := <-results; r.Text != "Done." {
					t.Errorf("result %q", r.Text)
				}
				if use := g.cli.Recording().Tool(t, "Bash"); use.Ran != c.ran {
					t.Errorf("ran: %v", use.Ran)
				}
				g.want(c.state, c.outcome)
			})
		})
	}
}

// Questions of MCP servers come to the same inbox, and are waited for no longer
// than Patience.
func TestElicitations(t *testing.T) {
	form := &control.Elicitation{RequestID: "1", ServerName: "eli", Message: "Your name?", Mode: "form"}
	for name, c := range map[string]struct {
		decision permission.Decision
		want     string
		outcome  approval.Outcome
	}{
		"accepted": {permission.AllowWith(json.RawMessage(`{"name":"Ada"}`)), `{"action":"accept","content":{"name":"Ada"}}`, approval.OutcomeAllowed},
		"visited":  {permission.Allow(), `{"action":"accept"}`, approval.OutcomeAllowed},
		"declined": {permission.Deny("no"), `{"action":"decline"}`, approval.OutcomeDenied},
		"canceled": {permission.DenyAndStop("no"), `{"action":"cancel"}`, approval.OutcomeDenied},
		"nobody":   {permission.Pass(), `{"action":"decline"}`, approval.OutcomeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &guarded{t: t, inbox: approval.NewQuestions(store.Memory(), "p")}
				elicit := g.inbox.Elicitations("user-42", approval.Options{Patience: time.Hour})
				answers := make(chan control.ElicitationAnswer, 1)
				begin := time.Now()
				go func() {
					a, err := elicit(t.Context(), form)
					if err != nil {
						t.Error(err)
					}
					answers <- a
				}()
				synctest.Wait()
				q := g.only()
				if q.Tool != approval.ElicitationTool || q.Reason != form.Message || !q.HoldsProcess || q.Deadline.IsZero() {
					t.Errorf("asked %+v", q)
				}
				if c.decision.Behavior() != "" {
					if _, err := g.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: c.decision, By: "ada", Digest: q.Digest}); err != nil {
						t.Fatal(err)
					}
				}
				got, err := (<-answers).MarshalJSON()
				if err != nil || string(got) != c.want || time.Since(begin) > time.Hour+time.Minute {
					t.Errorf("after %v: %s, %v", time.Since(begin), got, err)
				}
				if q := g.only(); q.Outcome != c.outcome {
					t.Errorf("the question is %s %s", q.State, q.Outcome)
				}
			})
		})
	}
}

// A question of a session that has ended is gone: it cannot be asked again.
func TestElicitationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &guarded{t: t, inbox: approval.NewQuestions(store.Memory(), "p")}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := g.inbox.Elicitations("user-42", approval.Options{})(ctx, &control.Elicitation{RequestID: "1", Message: "?"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		g.want(approval.StateGone, approval.OutcomeWithdrawn)
	})
}

// endingStore ends a context when a record of a kind is read after a question was stored.
type endingStore struct {
	store.Records
	kind   string
	asked  bool
	cancel context.CancelFunc
}

func (s *endingStore) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	s.asked = s.asked || c[0].Key.Kind == approval.Kind
	return s.Records.Change(ctx, f, c...)
}

func (s *endingStore) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if s.asked && v.Keys[0].Kind == s.kind {
		s.cancel()
	}
	return s.Records.View(ctx, v)
}

// That holds whatever the store is doing when the session ends.
func TestElicitationEndsWhileReading(t *testing.T) {
	for _, kind := range []string{approval.Kind, "rules"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				db := store.Memory()
				in := approval.NewQuestions(&endingStore{Records: db, kind: kind, cancel: cancel}, "p")
				if _, err := in.Elicitations("user-42", approval.Options{})(ctx, &control.Elicitation{RequestID: "1", Message: "?"}); !errors.Is(err, context.Canceled) {
					t.Errorf("the error is %v", err)
				}
				g := &guarded{t: t, inbox: approval.NewQuestions(db, "p")}
				g.want(approval.StateGone, approval.OutcomeWithdrawn)
			})
		})
	}
}
