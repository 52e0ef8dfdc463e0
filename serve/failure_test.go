package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// transport is a CLI that does something before it starts.
type transport struct {
	claude.Transport
	before func(ctx context.Context) error
}

func (t transport) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	if err := t.before(ctx); err != nil {
		return nil, err
	}
	return t.Transport.Start(ctx, l)
}

// Without a CLI, the conversation, the stream and the answer to the next prompt report
// that and what to do. Once it is installed, a retry answers.
func TestCLIMissing(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "claude")
	var mended atomic.Bool
	r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) {
		usual := o.Session
		o.Attempts = 1
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			o, err := usual(ctx, key)
			if err == nil && !mended.Load() {
				o.Transport, o.CLIPath = nil, nowhere
			}
			return o, err
		}
	}, nil)
	ada := r.as("ada", api.RoleOperator)
	at := "/v1/conversations/" + ada.begin("hello").ID
	ada.follow(at+"/events?after=0", func(e sse) bool {
		var event api.Event
		if json.Unmarshal([]byte(e.data), &event) != nil || event.Prompt == nil || event.Prompt.State != "stuck" {
			return false
		}
		if p := event.Prompt; p.Problem != api.CauseCLIMissing || !strings.Contains(p.Error, "install it") {
			t.Errorf("the stream has %+v", p)
		}
		return true
	})
	c := get[api.Conversation](ada, at)
	if c.State != api.StateFailed || c.Problem != api.CauseCLIMissing || !strings.Contains(c.Reason, "is not installed on the server") || strings.Contains(c.Reason, nowhere) {
		t.Errorf("%+v", c)
	}
	p := want[api.Problem](ada, ada.do("POST", at+"/prompts", api.NewPrompt{Content: json.RawMessage(`"more"`)}), http.StatusConflict)
	if p.Type != "/problems/stuck" || !strings.Contains(p.Detail, "install it") {
		t.Errorf("%+v", p)
	}
	mended.Store(true)
	if got := ada.do("POST", at+"/retry", nil); got.status != http.StatusAccepted {
		t.Fatalf("retry: %d %s", got.status, got.body)
	}
	ada.follow(at+"/events?after=0", untilTurns(1))
	if c := get[api.Conversation](ada, at); c.State != api.StateIdle || c.Problem != "" || c.Reason != "" {
		t.Errorf("after the retry: %+v", c)
	}
}

// The feed reports when the process of a conversation is being started, and when it
// runs.
func TestStartingInFeed(t *testing.T) {
	t.Parallel()
	open, begin, hold := make(chan struct{}), make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(begin) })
	var calls atomic.Int32
	r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) {
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if calls.Add(1) > 1 { // Send has asked for the CLI's version
				<-open // the feed reports only changes
			}
			o, err := usual(ctx, key)
			if err == nil {
				o.Transport = transport{o.Transport, func(context.Context) error { <-begin; return nil }}
			}
			return o, err
		}
	}, nil)
	r.agent.hold = hold
	defer close(hold)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("hello")
	var states []api.State
	isOpen := sync.OnceFunc(func() { close(open) })
	ada.follow("/v1/conversations/"+conversation.ID+"/events?after=0&feed=1", func(e sse) bool {
		isOpen()
		var event api.Event
		if json.Unmarshal([]byte(e.data), &event) != nil || event.Hint == nil {
			return false
		}
		states = append(states, event.Hint.State)
		if event.Hint.State == api.StateStarting {
			goOn()
		}
		return event.Hint.State == api.StateRunning && slices.Contains(states, api.StateStarting)
	})
	if states[len(states)-2] != api.StateStarting {
		t.Errorf("the hints say %q", states)
	}
}

// An archived conversation shows that it has ended, and takes no prompts until it is
// reopened. One that is working cannot be archived.
func TestEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	at := "/v1/conversations/" + conversation.ID
	asked := ada.pending(1)[0]
	archive := func(yes string) api.Conversation {
		return want[api.Conversation](ada, ada.do("PATCH", at, `{"archived":`+yes+`}`), http.StatusOK)
	}
	atWork := func() {
		t.Helper()
		p := want[api.Problem](ada, ada.do("PATCH", at, `{"title":"new","archived":true}`), http.StatusConflict)
		if p.Type != "/problems/busy" || !strings.Contains(p.Detail, "interrupt") {
			t.Errorf("%+v", p)
		}
		if c := get[api.Conversation](ada, at); c.State == api.StateEnded || c.Archived || c.Title == "new" {
			t.Errorf("%+v", c)
		}
	}
	atWork()
	const id = "11111111-1111-4111-8111-111111111111"
	more := api.NewPrompt{ID: id, Content: json.RawMessage(`"more"`)}
	refused := func(body any) {
		t.Helper()
		p := want[api.Problem](ada, ada.do("POST", at+"/prompts", body), http.StatusConflict)
		if p.Type != "/problems/ended" || !strings.Contains(p.Detail, `"archived": false`) {
			t.Errorf("%+v", p)
		}
	}
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	ada.follow(at+"/events?after=0", untilTurns(1))
	for range 2 {
		if c := archive("true"); c.State != api.StateEnded {
			t.Errorf("done and archived, it is %q", c.State)
		}
	}
	refused(more)
	refused(api.NewPrompt{Content: json.RawMessage(`"more"`), Delivery: api.DeliverySteer})
	for query, n := range map[string]int{"": 0, "?state=ended": 1, "?state=idle&archived=1": 0, "?archived=1": 1} {
		if list := get[api.List[api.Conversation]](ada, "/v1/conversations"+query); len(list.Items) != n {
			t.Errorf("%q lists %+v", query, list.Items)
		}
	}
	if c := archive("false"); c.State != api.StateIdle {
		t.Errorf("reopened, it is %q", c.State)
	}
	want[api.Prompt](ada, ada.do("POST", at+"/prompts", more), http.StatusAccepted)
	ada.follow(at+"/events?after=0", untilTurns(2))
	archive("true")
	want[api.Prompt](ada, ada.do("POST", at+"/prompts", more), http.StatusAccepted) // it was accepted before
}

// If a prompt is sent while its conversation is archived, one of the two is refused,
// however late the fleet gets the prompt.
func TestSentWhileArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	slow, begun, goOn := slowSend(r.fleet)
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	r.over(slow)
	ada := r.as("ada", api.RoleOperator)
	own := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop"}`), http.StatusCreated)
	at := "/v1/conversations/" + own.ID
	sent := make(chan reply, 1)
	go func() { sent <- ada.do("POST", at+"/prompts", `{"content":"one"}`) }()
	<-begun
	p := want[api.Problem](ada, ada.do("PATCH", at, `{"archived":true}`), http.StatusConflict)
	if p.Type != "/problems/busy" {
		t.Errorf("%+v", p)
	}
	release()
	want[api.Prompt](ada, <-sent, http.StatusAccepted)
	ada.turnsOf(own.ID, 1)
	want[api.Conversation](ada, ada.do("PATCH", at, `{"archived":true}`), http.StatusOK)
}

// A change that is refused because a prompt came while it was made changes nothing,
// not even the title.
func TestRefusedWhileArchiving(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := &heldStore{Fleet: store.Memory(), held: make(chan struct{}), goOn: make(chan struct{})}
		db.when = func(k store.RecordKey, value []byte, _ int64) bool {
			return k.Kind == "serve-conversation" && strings.Contains(string(value), `"archived":true`)
		}
		r := newService(t, db, root, func(o *fleet.Options) { o.Gate = &approval.Options{} }, nil)
		r.agent.hold = make(chan struct{})
		defer close(r.agent.hold)
		s := r.server.Service()
		own, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			title, yes := "other", true
			_, err := s.Change(t.Context(), operator, own.ID, api.Change{Title: &title, Archived: &yes}, serve.ETag(&own))
			done <- err
		}()
		<-db.held
		if _, err := s.Send(t.Context(), operator, own.ID, api.NewPrompt{Content: []byte(`"one"`)}); err != nil {
			t.Fatal(err)
		}
		close(db.goOn)
		if err := <-done; !problemIs(err, "busy") {
			t.Errorf("changed: %v", err)
		}
		if now, err := s.Conversation(t.Context(), operator, own.ID); err != nil || now.Archived || now.Title != own.Title {
			t.Errorf("it is %+v, %v", now, err)
		}
	})
}
