package acp

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// methodSteer is the request that gives the running turn another message, an extension
// of the npm adapter.
const methodSteer = "_session/steering"

// The outcomes of a message that was to steer a turn.
const (
	steerInjected = "injected"
	steerNewTurn  = "startedNewTurn"
	steerPrompt   = "promptRequired"
)

// errNoTurn is the error of a message that was to steer a turn when none runs.
var errNoTurn = errors.New("no turn of this session is running")

// steerRequest holds the parameters of methodSteer.
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

// steer gives a message to the running turn. If no turn runs, the message is returned to
// the editor if the editor wants that; otherwise it begins a turn that no request waits
// for. The turn is chosen in the order of the requests, so that a cancel which comes
// after the message also stops it.
func (s *server) steer(params json.RawMessage) rpc.Work {
	req, err := decode[steerRequest](params)
	if err != nil {
		return refuse(err)
	}
	open, err := s.session(req.SessionID)
	if err != nil {
		return refuse(err)
	}
	if idle := req.Meta.Steering.IdleBehavior; idle != "" && idle != steerPrompt || len(req.Prompt) == 0 {
		return refuse(errorf(schema.ErrorCodeInvalidParams, "%s needs a prompt, and knows the idleBehavior %q only", methodSteer, steerPrompt))
	}
	s.mu.Lock()
	turn, cancels := open.turn, open.cancels
	s.mu.Unlock()
	if turn == nil {
		ended, end := context.WithCancel(context.Background())
		end()
		turn = ended // Steer then only checks the message
	}
	return func(ctx context.Context) (any, func(), error) {
		both, end := context.WithCancelCause(turn) // it ends together with the turn
		defer end(nil)
		defer context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })()
		switch err := open.Steer(both, req.Prompt); {
		case err == nil:
			return steerResponse{Outcome: steerInjected}, nil, nil
		case !errors.Is(err, errNoTurn):
			return nil, nil, err
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		}
		resp, err := s.steerIdle(req, open, cancels)
		return resp, nil, err
	}
}

// steerIdle handles a message that comes while no turn runs. It begins no turn if the
// editor has cancelled since it sent the message: cancels is how often it had before.
func (s *server) steerIdle(req *steerRequest, open *openSession, cancels int) (steerResponse, error) {
	if req.Meta.Steering.IdleBehavior == steerPrompt {
		return steerResponse{steerPrompt, "noRunningTurn"}, nil
	}
	if err := s.detached(&schema.PromptRequest{SessionID: req.SessionID, Prompt: req.Prompt}, open, cancels); err != nil {
		return steerResponse{}, err
	}
	return steerResponse{Outcome: steerNewTurn}, nil
}

// detached runs a turn that no request waits for, unless the editor cancelled before there
// was a turn to cancel. The turn ends with the connection or at session/cancel.
func (s *server) detached(req *schema.PromptRequest, open *openSession, cancels int) error {
	params, err := jsonx.Marshal(req)
	if err != nil {
		return err
	}
	work, reserved := s.prompt(params)
	if !reserved {
		_, _, err := work(s.editor.conn.Context()) // it says why not
		return err
	}
	s.mu.Lock()
	late := open.cancels != cancels
	if now := s.sessions[req.SessionID]; late && now != nil && now.cancel != nil {
		now.cancel(errCancelled)
	}
	s.mu.Unlock()
	if late {
		_, _, _ = work(s.editor.conn.Context()) // gives the reservation back
		return errorf(schema.ErrorCodeInvalidRequest, "the turn was cancelled before it took the message in")
	}
	s.detachedTurns.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				s.log.Error("acp: a turn that was begun by steering panicked", "session", req.SessionID, "panic", v, "stack", string(debug.Stack()))
			}
		}()
		if _, _, err := work(s.editor.conn.Context()); err != nil {
			s.log.Warn("acp: a turn that was begun by steering failed", "session", req.SessionID, "error", err)
		}
	})
	return nil
}
