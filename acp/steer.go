package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/claude-agent-go/claude/acp/internal/rpc"
	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// methodSteer gives the turn that runs another message. It is an extension of the npm
// adapter.
const methodSteer = "_session/steering"

// The outcomes of a message that was to steer a turn.
const (
	steerInjected = "injected"
	steerNewTurn  = "startedNewTurn"
	steerPrompt   = "promptRequired"
)

// Steerer is an [AgentSession] whose turns take in more while they run. An editor is
// offered it if the answer of Initialize has {"steering": {"supported": true}} below
// "_meta", as that of Local has.
type Steerer interface {
	// Steer gives the turn that runs another message. Prompt then returns when that is
	// answered too. It returns [ErrNoTurn] if no turn runs. It may be called from any
	// goroutine.
	Steer(ctx context.Context, prompt []schema.ContentBlock) error
}

// ErrNoTurn is the error of a message that was to steer a turn when none runs.
var ErrNoTurn = errors.New("no turn of this session is running")

// steerRequest are the parameters of methodSteer.
type steerRequest struct {
	SessionID schema.SessionID      `json:"sessionId"`
	Prompt    []schema.ContentBlock `json:"prompt"`
	Meta      struct {
		Steering struct {
			IdleBehavior string `json:"idleBehavior"`
		} `json:"steering"`
	} `json:"_meta"`
}

// steerResponse is the result of methodSteer.
type steerResponse struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitzero"`
}

// steer gives the turn that runs a message. If none runs, the message is returned to the
// editor if it wants that, and else begins a turn that nobody waits for.
func (s *server) steer(params json.RawMessage) rpc.Work {
	return do(params, func(ctx context.Context, req *steerRequest) (any, error) {
		open, err := s.session(req.SessionID)
		if err != nil {
			return nil, err
		}
		idle := req.Meta.Steering.IdleBehavior
		if idle != "" && idle != steerPrompt || len(req.Prompt) == 0 {
			return nil, errorf(schema.ErrorCodeInvalidParams, "%s needs a prompt, and knows the idleBehavior %q only", methodSteer, steerPrompt)
		}
		steerer, ok := open.AgentSession.(Steerer)
		if !ok {
			return nil, unknownMethod(methodSteer)
		}
		switch err := steerer.Steer(ctx, req.Prompt); {
		case err == nil:
			return steerResponse{Outcome: steerInjected}, nil
		case !errors.Is(err, ErrNoTurn):
			return nil, err
		case idle == steerPrompt:
			return steerResponse{steerPrompt, "noRunningTurn"}, nil
		}
		return steerResponse{Outcome: steerNewTurn}, s.detached(&schema.PromptRequest{SessionID: req.SessionID, Prompt: req.Prompt})
	})
}

// detached runs a turn that no request waits for. It ends with the connection, and with
// session/cancel.
func (s *server) detached(req *schema.PromptRequest) error {
	params, err := jsonx.Marshal(req)
	if err != nil {
		return err
	}
	work, reserved := s.prompt(params)
	if !reserved {
		_, _, err := work(s.editor.conn.Context()) // why not
		return err
	}
	s.detachedTurns.Go(func() {
		if _, _, err := work(s.editor.conn.Context()); err != nil {
			s.log.Warn("acp: a turn that was begun by steering failed", "session", req.SessionID, "error", err)
		}
	})
	return nil
}

// steering are the messages that were given to a turn while it ran, and are not answered
// yet. Its zero value has no turn. It is a plain value.
type steering struct {
	open bool
	left map[string]bool
}

// begin opens it for a turn.
func (s *steering) begin() { *s = steering{open: true} }

// give notes a message, and reports whether there is a turn to give it to.
func (s *steering) give(id string) bool {
	if !s.open {
		return false
	}
	if s.left == nil {
		s.left = make(map[string]bool)
	}
	s.left[id] = true
	return true
}

// takeBack forgets a message that was not sent.
func (s *steering) takeBack(id string) { delete(s.left, id) }

// answered notes the prompts that a result answers. It reports whether the turn has
// ended, after which nothing can be given to it.
func (s *steering) answered(prompts []string) bool {
	for _, id := range prompts {
		delete(s.left, id)
	}
	s.open = s.open && len(s.left) > 0
	return !s.open
}

// end closes it: what is left is not waited for.
func (s *steering) end() { *s = steering{} }

// Steer gives the turn that runs another message. The CLI takes it in when it has the
// result of a tool, and else begins with it when it has answered: nothing is cut off.
func (s *localSession) Steer(ctx context.Context, prompt []schema.ContentBlock) error {
	blocks, err := contentOf(prompt)
	if err != nil {
		return err
	}
	m := message.NewUser(blocks...)
	m.UUID = uuid.New()
	s.mu.Lock()
	runs := s.steering.give(m.UUID)
	s.mu.Unlock()
	if !runs {
		return ErrNoTurn
	}
	// Prompt waits for the answer from now on, so an editor that withdraws the request
	// comes too late.
	if _, err := s.cli.SendMessage(context.WithoutCancel(ctx), m); err != nil {
		s.mu.Lock()
		s.steering.takeBack(m.UUID)
		s.mu.Unlock()
		return err
	}
	return nil
}
