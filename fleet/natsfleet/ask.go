package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet"
)

// askBound is how long the worker that runs a conversation may take to answer an
// instruction.
const askBound = 5 * time.Second

// answered is the worker's answer.
type answered struct {
	Error string `json:"error,omitzero"`
}

// elsewhereIn asks the worker that runs a conversation to do something. All workers
// are asked, and only the one that runs it answers.
func (s *Store) elsewhereIn(project string) func(context.Context, string, fleet.Instruction) error {
	return func(ctx context.Context, key string, op fleet.Instruction) error {
		body, err := json.Marshal(op)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, askBound)
		defer cancel()
		reply, err := s.nc.RequestWithContext(ctx, s.layout.ask(project, key), body)
		switch {
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
			return &fleet.ConversationError{Key: key, Reason: fleet.ErrElsewhere}
		case err != nil:
			return fail(key, err)
		}
		var a answered
		if err := json.Unmarshal(reply.Data, &a); err != nil {
			return fail(key, fmt.Errorf("the answer cannot be read: %w", err))
		}
		if a.Error != "" {
			return fail(key, fmt.Errorf("the worker answers: %s", a.Error))
		}
		return nil
	}
}

// answer does what others ask for, to the conversations that run here.
func (s *Store) answer(ctx context.Context, project string, f *fleet.Fleet) (stop func(), err error) {
	subject := s.layout.ask(project, "*")
	sub, err := s.nc.Subscribe(subject, func(m *nats.Msg) {
		key := untoken(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		go func() { // a slow one does not block the others
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askBound)
			defer cancel()
			var op fleet.Instruction
			if json.Unmarshal(m.Data, &op) != nil {
				return // a foreign program sent it
			}
			here, err := f.Perform(ctx, key, op)
			if !here {
				return
			}
			var a answered
			if err != nil {
				a.Error = err.Error()
			}
			body, _ := json.Marshal(a) // a text
			_ = m.Respond(body)        // the client gives up by itself
		}()
	})
	if err != nil {
		return nil, fail("subscribe", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}
