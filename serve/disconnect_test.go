package serve_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// operator is a user of the service itself.
var operator = api.User{Name: "ada", Role: api.RoleOperator}

// sending is a fleet that does something of its own with each prompt.
type sending struct {
	*fleet.Fleet
	send func(ctx context.Context, key string, p fleet.Prompt) (string, error)
}

func (s sending) Send(ctx context.Context, key string, p fleet.Prompt) (string, error) {
	return s.send(ctx, key, p)
}

// A new conversation stays if its first prompt may have been accepted, or if that
// of another run was.
func TestNewConversationStays(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*fleet.Fleet) func(context.Context, string, fleet.Prompt) (string, error){
		"nobody knows": func(*fleet.Fleet) func(context.Context, string, fleet.Prompt) (string, error) {
			return func(context.Context, string, fleet.Prompt) (string, error) {
				return "", errors.New("the store does not answer") // the write may land later
			}
		},
		"another run's prompt": func(f *fleet.Fleet) func(context.Context, string, fleet.Prompt) (string, error) {
			return func(ctx context.Context, key string, _ fleet.Prompt) (string, error) {
				if _, err := f.Send(ctx, key, fleet.Prompt{ID: uuid.New(), Text: "other"}); err != nil {
					return "", err
				}
				return "", &fleet.OverloadedError{Key: key, Queued: 1}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations { return sending{f, send(f)} })
			if _, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")}); err == nil {
				t.Error("no error")
			}
			list, err := r.server.Service().Conversations(t.Context(), operator, api.ConversationQuery{})
			if err != nil || len(list.Items) != 1 || list.Items[0].Preset != "shop" {
				t.Errorf("there are %+v (%v)", list.Items, err)
			}
		})
	}
}

// between is a fleet that reads what a conversation has cost before its prompt has
// ended, and its queue afterwards: once, when it is first asked.
type between struct {
	sending
	asked *atomic.Bool
}

func (b between) Get(ctx context.Context, key string) (fleet.ConversationInfo, error) {
	info, err := b.sending.Get(ctx, key)
	if !b.asked.Swap(true) {
		info.Queued, info.Cost = 0, fleet.Ledger{}
	}
	return info, err
}

// A new conversation stays if the prompt of another run ends during the check whether
// it has one.
func TestNewConversationStaysWhenAPromptEnds(t *testing.T) {
	t.Parallel()
	r := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations {
		return between{sending{f, func(ctx context.Context, key string, _ fleet.Prompt) (string, error) {
			for _, err := range f.Run(ctx, key, "other") {
				if err != nil {
					return "", err
				}
			}
			return "", &fleet.OverloadedError{Key: key, Queued: 1}
		}}, new(atomic.Bool)}
	})
	if _, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")}); err == nil {
		t.Error("no error")
	}
	if list, err := r.server.Service().Conversations(t.Context(), operator, api.ConversationQuery{}); err != nil || len(list.Items) != 1 {
		t.Errorf("there are %+v (%v), want the conversation", list.Items, err)
	}
}

// A prompt whose client leaves while it is sent is accepted and recorded, so that its
// cost is booked.
func TestPromptOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	r := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations {
		return sending{f, func(ctx context.Context, key string, p fleet.Prompt) (string, error) {
			leave()
			if err := ctx.Err(); err != nil {
				return "", err
			}
			return f.Send(ctx, key, p)
		}}
	})
	_, _ = r.server.Service().Create(ctx, operator, api.NewConversation{Preset: "shop", Content: api.Text("hello")}) // the client has left
	list, err := r.server.Service().Conversations(t.Context(), operator, api.ConversationQuery{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("there are %+v (%v)", list.Items, err)
	}
	ada := r.as("ada", api.RoleOperator)
	ada.agrees(list.Items[0].ID, ada.turnsOf(list.Items[0].ID, 1), 1)
}

// deciding is a fleet that does something before each decision.
type deciding struct {
	*fleet.Fleet
	before func()
}

func (d deciding) Approvals() approval.Inbox { return decidingInbox{d.Fleet.Approvals(), d.before} }

type decidingInbox struct {
	approval.Inbox
	before func()
}

func (i decidingInbox) Decide(ctx context.Context, id string, a approval.Answer) (approval.Question, error) {
	i.before()
	if err := ctx.Err(); err != nil {
		return approval.Question{}, err
	}
	return i.Inbox.Decide(ctx, id, a)
}

// A decision does not wait until the log has the earlier messages, and counts even if
// its client leaves.
func TestDecisionOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := &lateStore{store.Memory(), "toolu_late", make(chan struct{})}
		r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{Patience: time.Hour} }, nil)
		defer close(db.goOn)
		ctx, leave := context.WithCancel(t.Context())
		var reached time.Time
		if err := r.server.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if r.server, err = serve.New(deciding{r.fleet, func() { reached = time.Now(); leave() }}, r.options); err != nil {
			t.Fatal(err)
		}
		if _, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("tool late")}); err != nil {
			t.Fatal(err)
		}
		var asked approval.Question
		for q, err := range r.fleet.Approvals().Watch(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
			if err != nil {
				t.Fatal(err)
			}
			asked = q
			break
		}
		begun := time.Now()
		decided, err := r.server.Service().Decide(ctx, operator, asked.ID, api.Decision{Decision: "allow", Digest: asked.Digest})
		if err != nil || decided.State != api.ApprovalAllowed {
			t.Fatalf("%+v, %v", decided, err)
		}
		// The log waits for the call, and the clock stands while something is done.
		if took := reached.Sub(begun); took > 0 {
			t.Errorf("the decision waited for %v", took)
		}
		if took := time.Since(reached); took > 0 {
			t.Errorf("the answer waited for %v", took)
		}
	})
}

// interrupting is a fleet that does something of its own with each interrupt.
type interrupting struct {
	*fleet.Fleet
	interrupt func(ctx context.Context, key string) error
}

func (i interrupting) Interrupt(ctx context.Context, key string) error { return i.interrupt(ctx, key) }

// An interrupt whose client leaves once it has begun is finished and recorded.
func TestInterruptOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	r := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations {
		return interrupting{f, func(ctx context.Context, key string) error {
			leave()
			if err := ctx.Err(); err != nil {
				return err
			}
			return f.Interrupt(ctx, key)
		}}
	})
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	ada.pending(1)
	if err := r.server.Service().Interrupt(ctx, operator, own.ID); err != nil {
		t.Errorf("it failed: %v", err)
	}
	ada.follow("/v1/conversations/"+own.ID+"/events", func(e sse) bool { return e.event == "notice" })
}
