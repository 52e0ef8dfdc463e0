package serve_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// unwatched is a fleet whose watchers see nothing, as if every question were
// answered before they look.
type unwatched struct{ *fleet.Fleet }

func (u unwatched) Approvals() approval.Inbox { return unwatchedInbox{u.Fleet.Approvals()} }

type unwatchedInbox struct{ approval.Inbox }

func (unwatchedInbox) Watch(ctx context.Context, _ approval.Filter) iter.Seq2[approval.Question, error] {
	return func(yield func(approval.Question, error) bool) {
		<-ctx.Done()
		yield(approval.Question{}, ctx.Err())
	}
}

// newRigOver starts a server over a fleet that is not quite as it should be.
func newRigOver(t *testing.T, odd func(*fleet.Fleet) fleet.Conversations) *rig {
	t.Helper()
	r := newRig(t, store.Memory(), nil)
	r.over(odd(r.fleet))
	return r
}

// over lets the server run on another fleet.
func (r *rig) over(odd fleet.Conversations) {
	r.t.Helper()
	if err := r.server.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.http.Close()
	var err error
	if r.server, err = serve.New(odd, r.options); err != nil {
		r.t.Fatal(err)
	}
	r.http = httptest.NewServer(r.server)
}

// A question that is answered quickly is still in the log of its conversation,
// before the turn ends.
func TestQuickDecisionIsLogged(t *testing.T) {
	t.Parallel()
	ada := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations { return unwatched{f} }).as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	approvals := 0
	for _, e := range ada.follow("/v1/conversations/"+conversation.ID+"/events?after=0", untilTurns(1)) {
		if e.event == "approval" {
			approvals++
		}
	}
	if approvals == 0 {
		t.Error("no approval in the log")
	}
}

// wantOutcomeLogged lets a call run in a fleet as the server sees it, and wants its
// outcome in the log.
func wantOutcomeLogged(t *testing.T, seen func(*fleet.Fleet) fleet.Conversations) {
	t.Helper()
	ada := newRigOver(t, seen).as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	pings := 0
	events := ada.follow("/v1/conversations/"+conversation.ID+"/events?after=0", func(e sse) bool {
		if e.event == "ping" {
			pings++
		}
		return pings == 2 || e.event == "approval" && strings.Contains(e.data, `"outcome":"ran"`)
	})
	if last := events[len(events)-1]; last.event != "approval" {
		t.Errorf("the outcome does not come: %v", events)
	}
}

// The outcome of a call is in the log, even if it ended between two looks of the
// watcher.
func TestUnseenOutcomeIsLogged(t *testing.T) {
	t.Parallel()
	wantOutcomeLogged(t, func(f *fleet.Fleet) fleet.Conversations { return unwatched{f} })
}

// late is a fleet whose questions have no outcome in a list, as if each call ended a
// moment after the list was read.
type late struct{ *fleet.Fleet }

func (l late) Approvals() approval.Inbox { return lateInbox{unwatchedInbox{l.Fleet.Approvals()}} }

type lateInbox struct{ approval.Inbox }

func (i lateInbox) List(ctx context.Context, f approval.Filter) iter.Seq2[approval.Question, error] {
	return func(yield func(approval.Question, error) bool) {
		for q, err := range i.Inbox.List(ctx, f) {
			if q.Outcome = ""; !yield(q, err) {
				return
			}
		}
	}
}

// An outcome that comes after the last look at a turn's questions is still logged.
func TestLateOutcomeIsLogged(t *testing.T) {
	t.Parallel()
	wantOutcomeLogged(t, func(f *fleet.Fleet) fleet.Conversations { return late{f} })
}

// lagging is a fleet whose answers are read only after their prompts have ended.
type lagging struct{ *fleet.Fleet }

func (l lagging) Events(ctx context.Context, key string, after fleet.Cursor) iter.Seq2[fleet.ConversationEvent, error] {
	return func(yield func(fleet.ConversationEvent, error) bool) {
		for e, err := range l.Fleet.Events(ctx, key, after) {
			if _, answer := e.Message.(*message.Assistant); answer {
				for ctx.Err() == nil {
					info, err := l.Fleet.Get(ctx, key)
					if err == nil && info.Queued == 0 {
						break
					}
					<-time.After(time.Millisecond)
				}
				<-time.After(100 * time.Millisecond) // for the server to see it, too
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// The end of a turn comes after the answer, however late the answer is read: a
// client leaves then.
func TestAnswerBeforeItsTurnEnds(t *testing.T) {
	t.Parallel()
	ada := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations { return lagging{f} }).as("ada", api.RoleOperator)
	conversation := ada.begin("hello")
	last := ""
	for _, e := range lasting(ada.follow("/v1/conversations/"+conversation.ID+"/events?after=0", untilTurns(1))) {
		if e.event == "turn" && !strings.Contains(last, `"assistant"`) {
			t.Errorf("the turn ends after %.200s", last)
		}
		last = e.data
	}
}
