package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// An owner whose lease is lost makes no rule either: it would hold for the calls of its
// successor.
func TestRulesAreFenced(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		leases := r.(store.Leases)
		old, err := leases.Acquire(t.Context(), "p", "user-42", "first", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		in := approval.NewQuestions(r, "p")
		q, err := in.Ask(t.Context(), question("toolu_1"), old.Fence)
		if err != nil {
			t.Fatal(err)
		}
		always(permission.Allow(), "Bash(make)")(t, in, q)
		if err := leases.Release(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		fresh, err := leases.Acquire(t.Context(), "p", "user-42", "second", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Release(t.Context(), q.ID, old.Fence); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("released by a lost owner: %v", err)
		}
		if rules, err := in.Rules(t.Context(), "user-42"); err != nil || len(rules) != 0 {
			t.Errorf("a lost owner made the rules %+v, %v", rules, err)
		}
		if _, err := in.Release(t.Context(), q.ID, fresh.Fence); err != nil {
			t.Fatal(err)
		}
		if rules, err := in.Rules(t.Context(), "user-42"); err != nil || len(rules) != 1 {
			t.Errorf("the owner made the rules %+v, %v", rules, err)
		}
	})
}

// A decision about another input, or about none, is refused, and the question stays
// open for one about the input that it has.
func TestDecisionOfUnseenInput(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		in := approval.NewQuestions(r, "p")
		q := ask(t, in, question("toolu_1"))
		for _, digest := range []string{"", approval.Digest([]byte(`{"command":"make all"}`)), q.Digest[1:], strings.ToUpper(q.Digest)} {
			_, err := in.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: digest})
			if !errors.Is(err, approval.ErrChanged) && !errors.Is(err, approval.ErrInvalid) {
				t.Errorf("digest %q: %v", digest, err)
			}
		}
		if got, err := in.Get(t.Context(), q.ID); err != nil || got.State != approval.StateOpen {
			t.Errorf("the question is %s, %v", got.State, err)
		}
		decide(allow)(t, in, q)
	})
}

// fails is a store that refuses to note the next deferral.
type fails struct {
	*store.MemoryStore
	next atomic.Bool
}

var errDown = errors.New("the store is down")

func (f *fails) Change(ctx context.Context, fence store.Fence, c ...store.RecordChange) ([]int64, error) {
	if strings.Contains(string(c[0].Value), `"deferred":true`) && f.next.CompareAndSwap(true, false) {
		return nil, errDown
	}
	return f.MemoryStore.Change(ctx, fence, c...)
}

// A deferral that could not be stored stops only its own call: the next one is asked
// about, and runs when it is allowed.
func TestGateAfterFailedDeferral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &fails{MemoryStore: store.Memory()}
		db.next.Store(true)
		g := guard(t, db, approval.Options{Patience: time.Minute}, claudetest.UseTools(call("toolu_1")), claudetest.UseTools(shell("toolu_2", "make test")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		<-time.After(time.Minute + time.Second)
		synctest.Wait()
		if db.next.Load() {
			t.Fatal("nothing was deferred")
		}
		if id, ok := g.gate.Deferred(); ok {
			t.Errorf("%s counts as deferred", id)
		}
		for _, q := range g.open() {
			if q.ToolUseID == "toolu_2" {
				decide(allow)(t, g.inbox, q)
			}
		}
		if r := <-results; r == nil || r.Text != "Done." {
			t.Errorf("result %+v", r)
		}
		ran := make(map[string]bool)
		for _, use := range g.cli.Recording().Tools() {
			ran[use.ID] = use.Ran && use.Done
		}
		if ran["toolu_1"] || !ran["toolu_2"] {
			t.Errorf("ran: %v", ran)
		}
	})
}
