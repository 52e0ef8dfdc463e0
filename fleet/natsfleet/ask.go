package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
)

// askBound is how long the worker that runs a conversation may take to answer an
// instruction.
const askBound = 5 * time.Second

// answered is the worker's answer.
type answered struct {
	Error string `json:"error,omitzero"`
	// Option is the choice that the CLI refused: the client must not keep it. A worker of
	// an older version leaves it out.
	Option *refusedOption `json:"option,omitzero"`
}

// refusedOption is a [claude.OptionError] on its way to the client.
type refusedOption struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// answerOf is the answer for an error; nil is success.
func answerOf(err error) (a answered) {
	if err == nil {
		return a
	}
	a.Error = err.Error()
	if refused, ok := errors.AsType[*claude.OptionError](err); ok {
		a.Option = &refusedOption{refused.Field, refused.Problem}
	}
	return a
}

// err is the error that the worker had; nil if it had none.
func (a *answered) err() error {
	switch {
	case a.Option != nil:
		return fmt.Errorf("the worker answers: %w", &claude.OptionError{Field: a.Option.Field, Problem: a.Option.Problem})
	case a.Error != "":
		return fmt.Errorf("the worker answers: %s", a.Error)
	}
	return nil
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
		return fail(key, a.err())
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
			body, _ := json.Marshal(answerOf(err)) // texts always encode
			_ = m.Respond(body)                    // the client gives up by itself
		}()
	})
	if err != nil {
		return nil, fail("subscribe", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}
