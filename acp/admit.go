package acp

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/acp/schema"
)

// admitted is a back-end that asks admit before it opens a session.
type admitted struct {
	Backend
	admit func() (leave func(), err error)
}

// New implements [Backend].
func (b *admitted) New(ctx context.Context, e *Editor, req *schema.NewSessionRequest) (AgentSession, error) {
	return b.open(func() (AgentSession, error) { return b.Backend.New(ctx, e, req) })
}

// Load implements [Backend].
func (b *admitted) Load(ctx context.Context, e *Editor, req *schema.LoadSessionRequest) (AgentSession, error) {
	return b.open(func() (AgentSession, error) { return b.Backend.Load(ctx, e, req) })
}

// Resume implements [Backend].
func (b *admitted) Resume(ctx context.Context, e *Editor, req *schema.ResumeSessionRequest) (AgentSession, error) {
	return b.open(func() (AgentSession, error) { return b.Backend.Resume(ctx, e, req) })
}

// Fork implements [Backend].
func (b *admitted) Fork(ctx context.Context, e *Editor, req *schema.ResumeSessionRequest) (AgentSession, error) {
	return b.open(func() (AgentSession, error) { return b.Backend.Fork(ctx, e, req) })
}

// open opens a session if it is admitted. Otherwise it begins nothing.
func (b *admitted) open(do func() (AgentSession, error)) (AgentSession, error) {
	leave, err := b.admit()
	if err != nil {
		return nil, errorf(schema.ErrorCodeInvalidRequest, "%v", err)
	}
	leave = sync.OnceFunc(leave)
	opened := false
	defer func() {
		if !opened { // do failed or panicked
			leave()
		}
	}()
	s, err := do()
	if err != nil {
		return nil, err
	}
	opened = true
	return &admittedSession{AgentSession: s, leave: leave}, nil
}

// admittedSession leaves when it is closed.
type admittedSession struct {
	AgentSession
	leave func()
}

// Close implements [AgentSession].
func (s *admittedSession) Close() error {
	defer s.leave()
	return s.AgentSession.Close()
}
