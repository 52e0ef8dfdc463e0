package acp_test

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// scriptedServer is a server of one conversation, whose events a test writes. Ada uses
// it. What a test does not expect is not implemented.
type scriptedServer struct {
	acp.RemoteServer
	shared  bool
	state   api.State
	create  func(n api.NewConversation) error
	send    func(ctx context.Context, p api.NewPrompt) error
	cancel  func(prompt string) error
	decide  func(d api.Decision) error
	stopped func()       // is called when the turn is interrupted
	cut     func() error // why nothing can be read

	mu          sync.Mutex
	commands    map[string][]api.Command // by conversation
	changed     chan struct{}
	events      []api.Event // the first has number 1
	forgotten   int64       // places before it are not kept
	gone        bool        // no place is known
	prompts     []api.Prompt
	outcomes    map[string]api.Prompt
	approvals   []api.Approval
	decisions   []api.Decision
	interrupted int
}

func newScripted() *scriptedServer { return &scriptedServer{changed: make(chan struct{})} }

// happens changes the state of the server and adds events.
func (s *scriptedServer) happens(change func(), events ...api.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if change != nil {
		change()
	}
	for _, e := range events {
		e.Seq = int64(len(s.events) + 1)
		s.events = append(s.events, e)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func prompt(id, by string, state api.PromptState) api.Event {
	return api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: id, By: by, State: state}}
}

func turn(id string) api.Event {
	return api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: id, State: api.PromptAnswered}}
}

// asks is the event of a new approval.
func (s *scriptedServer) asks(q api.Approval) {
	q.State, q.MayDecide = api.ApprovalPending, true
	s.happens(func() { s.approvals = append(s.approvals, q) },
		api.Event{Type: api.EventApproval, Approval: &api.ApprovalNote{ID: q.ID, Kind: q.Kind, State: q.State}})
}

func (s *scriptedServer) Info(context.Context) (api.ServerInfo, error) {
	return api.ServerInfo{User: api.User{Name: "ada", Role: api.RoleOperator}, Presets: []api.PresetInfo{{Name: "p", Roots: []string{"/"}}}}, nil
}

func (s *scriptedServer) Create(_ context.Context, n api.NewConversation) (api.Conversation, error) {
	if s.create != nil {
		return api.Conversation{ID: "copy", Owner: "ada", Preset: n.Preset, Dir: "/"}, s.create(n)
	}
	return api.Conversation{ID: "c", Owner: "ada", Preset: "p", Dir: "/", Shared: s.shared}, nil
}

func (s *scriptedServer) Conversation(context.Context, string) (api.Conversation, error) {
	if s.cut != nil {
		if err := s.cut(); err != nil {
			return api.Conversation{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return api.Conversation{ID: "c", Owner: "ada", Preset: "p", Dir: "/", Shared: s.shared, State: s.state, LastSeq: int64(len(s.events))}, nil
}

func (s *scriptedServer) Messages(_ context.Context, _ string, q api.MessageQuery) (list api.List[api.Message], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == api.EventMessage && e.Seq < q.Before {
			list.Items = append(list.Items, api.Message{Seq: e.Seq, Message: e.Message})
		}
	}
	return list, nil
}

func (s *scriptedServer) Commands(_ context.Context, id string) ([]api.Command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands[id], nil
}

func (s *scriptedServer) Send(ctx context.Context, _ string, p api.NewPrompt) (api.Prompt, error) {
	return api.Prompt{ID: p.ID, State: api.PromptQueued}, s.send(ctx, p)
}

func (s *scriptedServer) Prompts(context.Context, string) ([]api.Prompt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts), nil
}

func (s *scriptedServer) CancelPrompt(_ context.Context, _, id string) error { return s.cancel(id) }

func (s *scriptedServer) Interrupt(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted++
	if s.stopped != nil {
		s.stopped()
	}
	return nil
}

func (s *scriptedServer) Prompt(_ context.Context, _, id string) (api.Prompt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.outcomes[id]; ok {
		return p, nil
	}
	return api.Prompt{}, &api.Problem{Type: "/problems/not-found", Title: "It does not exist", Status: http.StatusNotFound}
}

func (s *scriptedServer) Follow(ctx context.Context, _ string, after int64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if s.cut != nil {
			if err := s.cut(); err != nil {
				yield(api.Event{}, err)
				return
			}
		}
		for synced := false; ; {
			s.mu.Lock()
			events, next, lost := s.events, s.changed, after < s.forgotten || s.gone
			s.mu.Unlock()
			if lost {
				return
			}
			for ; after < int64(len(events)); after++ {
				if !yield(events[after], nil) {
					return
				}
			}
			if !synced && !yield(api.Event{Type: api.EventSynced}, nil) {
				return
			}
			synced = true
			select {
			case <-next:
			case <-ctx.Done():
				yield(api.Event{}, ctx.Err())
				return
			}
		}
	}
}

func (s *scriptedServer) Approval(_ context.Context, id string) (api.Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approvals[slices.IndexFunc(s.approvals, func(q api.Approval) bool { return q.ID == id })], nil
}

func (s *scriptedServer) Approvals(context.Context, api.ApprovalQuery) iter.Seq2[api.Approval, error] {
	return func(yield func(api.Approval, error) bool) {
		s.mu.Lock()
		all := slices.Clone(s.approvals)
		s.mu.Unlock()
		for _, q := range all {
			if q.State == api.ApprovalPending && !yield(q, nil) {
				return
			}
		}
	}
}

func (s *scriptedServer) Decide(_ context.Context, id string, d api.Decision) (api.Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions = append(s.decisions, d)
	if s.decide != nil {
		if err := s.decide(d); err != nil {
			return api.Approval{}, err
		}
	}
	q := &s.approvals[slices.IndexFunc(s.approvals, func(q api.Approval) bool { return q.ID == id })]
	q.State = "decided"
	return *q, nil
}

func (s *scriptedServer) decided() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.decisions)
}

// approving starts an editor that allows everything by itself. It follows the
// conversation when approving returns.
func approving(t *testing.T, s *scriptedServer) (*drive.Driver, schema.SessionID) {
	d := drive.Start(t, &acp.Remote{Server: s}, drive.Setup{
		Capabilities: schema.ClientCapabilities{Elicitation: &schema.ElicitationCapabilities{Form: new(schema.ElicitationFormCapabilities)}},
		Permission:   func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID { return "allow-once" },
		Elicitation: func(context.Context, *schema.CreateElicitationRequest) *schema.CreateElicitationResponse {
			return &schema.CreateElicitationResponse{Action: "accept"}
		},
	})
	id := d.New(t, "/")
	synctest.Wait()
	return d, id
}
