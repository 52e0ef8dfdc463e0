package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// toy is a session whose turns are functions.
type toy struct {
	agentSession
	prompt func(context.Context) (*schema.PromptResponse, error)
	steer  func(context.Context) error
}

func (toy) ID() schema.SessionID { return "toy" }

func (s toy) Prompt(ctx context.Context, _ *schema.PromptRequest) (*schema.PromptResponse, error) {
	return s.prompt(ctx)
}

func (s toy) Steer(ctx context.Context, _ []schema.ContentBlock) error { return s.steer(ctx) }

// steerable is a back-end that offers steering, and nothing else.
type steerable struct{ backend }

func (steerable) Extensions() extensions { return extensions{Steering: true} }

// toyServer is a connection with one open session.
func toyServer(t *testing.T, session toy, log *slog.Logger) *server {
	return &server{
		backend: steerable{}, editor: deaf(t), log: log, initialized: true, held: make(map[schema.SessionID]bool),
		sessions: map[schema.SessionID]*openSession{"toy": {agentSession: session}},
	}
}

// outcome is the answer of work, or its error.
func outcome(t *testing.T, work rpc.Work) string {
	t.Helper()
	resp, _, err := work(t.Context())
	return fmt.Sprint(resp, err)
}

var toySays = json.RawMessage(`{"sessionId":"toy","prompt":[{"type":"text","text":"x"}]}`)

// TestSteerThenCancel cancels between the request that steers and its work: neither the
// turn nor a new one gets the message.
func TestSteerThenCancel(t *testing.T) {
	cancel := func(s *server) { s.Notify(schema.MethodAgentSessionCancel, json.RawMessage(`{"sessionId":"toy"}`)) }
	for name, idle := range map[string]bool{"a turn": false, "no turn": true} {
		t.Run(name, func(t *testing.T) {
			var begun atomic.Int32
			s := toyServer(t, toy{
				prompt: func(ctx context.Context) (*schema.PromptResponse, error) {
					if ctx.Err() == nil {
						begun.Add(1)
					}
					return &schema.PromptResponse{StopReason: schema.StopReasonCancelled}, nil
				},
				steer: func(ctx context.Context) error {
					if ctx.Err() == nil {
						t.Error("the message was given after the cancel")
					}
					return errNoTurn
				},
			}, slog.New(slog.DiscardHandler))
			var turn rpc.Work
			if !idle {
				turn = s.Request(schema.MethodAgentSessionPrompt, toySays)
			}
			work := s.Request(methodSteer, toySays)
			cancel(s)
			if turn != nil {
				outcome(t, turn)
			}
			if got := outcome(t, work); !strings.Contains(got, "cancelled before") {
				t.Errorf("answered %s", got)
			}
			if s.detachedTurns.Wait(); begun.Load() > 0 || s.isBusy("toy") {
				t.Errorf("%d turns began; one still runs: %t", begun.Load(), s.isBusy("toy"))
			}
		})
	}
}

// TestSteerAfterTurn steers a turn that ends meanwhile: the message begins the next.
func TestSteerAfterTurn(t *testing.T) {
	var begun atomic.Int32
	s := toyServer(t, toy{
		prompt: func(context.Context) (*schema.PromptResponse, error) {
			begun.Add(1)
			return &schema.PromptResponse{StopReason: schema.StopReasonEndTurn}, nil
		},
		steer: func(ctx context.Context) error { <-ctx.Done(); return errNoTurn },
	}, slog.New(slog.DiscardHandler))
	turn := s.Request(schema.MethodAgentSessionPrompt, toySays)
	work := s.Request(methodSteer, toySays)
	outcome(t, turn)
	if got := outcome(t, work); !strings.Contains(got, steerNewTurn) {
		t.Errorf("answered %s", got)
	}
	if s.detachedTurns.Wait(); begun.Load() != 2 {
		t.Errorf("%d turns began", begun.Load())
	}
}

// TestDetachedPanics logs a turn that panics. No request has it, so nothing else would
// keep the program alive.
func TestDetachedPanics(t *testing.T) {
	var log bytes.Buffer
	s := toyServer(t, toy{
		prompt: func(context.Context) (*schema.PromptResponse, error) { panic("boom") },
		steer:  func(context.Context) error { return errNoTurn },
	}, slog.New(slog.NewTextHandler(&log, nil)))
	if got := outcome(t, s.Request(methodSteer, toySays)); !strings.Contains(got, steerNewTurn) {
		t.Errorf("answered %s", got)
	}
	if s.detachedTurns.Wait(); !strings.Contains(log.String(), "boom") || s.isBusy("toy") {
		t.Errorf("a turn runs: %t; logged %s", s.isBusy("toy"), log.String())
	}
}

// A message that cannot be taken is refused as such, with a turn and without.
func TestSteerRefused(t *testing.T) {
	odd := errors.New("odd")
	s := toyServer(t, toy{steer: func(context.Context) error { return odd }}, slog.New(slog.DiscardHandler))
	if _, _, err := s.Request(methodSteer, toySays)(t.Context()); !errors.Is(err, odd) {
		t.Errorf("without a turn: %v", err)
	}
}
