package serve_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// listing is a fleet that does something after each list of approvals.
type listing struct {
	*fleet.Fleet
	after func()
}

func (l *listing) Approvals() approval.Inbox { return listingInbox{l.Fleet.Approvals(), l} }

type listingInbox struct {
	approval.Inbox
	of *listing
}

func (i listingInbox) List(ctx context.Context, f approval.Filter) iter.Seq2[approval.Question, error] {
	return func(yield func(approval.Question, error) bool) {
		for q, err := range i.Inbox.List(ctx, f) {
			if !yield(q, err) {
				return
			}
		}
		if i.of.after != nil {
			i.of.after()
		}
	}
}

// What changes after a feed has read the pending approvals, and before it has returned,
// is hinted at.
func TestFeedMissesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, store.Memory(), root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		odd := &listing{Fleet: r.fleet}
		r.onto(odd)
		s := r.server.Service()
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute) // everything is quiet
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		odd.after = func() {
			odd.after = nil
			s.Touch(c.ID)
		}
		events, err := s.Feed(ctx, operator)
		if err != nil {
			t.Fatal(err)
		}
		if odd.after != nil {
			t.Fatal("the approvals were not listed")
		}
		hinted := false
		for e := range events {
			if hinted = e.Type == api.EventHint && e.Hint.Conversation == c.ID; hinted {
				break
			}
		}
		if !hinted {
			t.Error("there is no hint")
		}
	})
}
