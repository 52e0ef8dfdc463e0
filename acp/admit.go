package acp

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// admitted is a back-end that asks admit before it opens a session.
type admitted struct {
	backend
	admit func() (leave func(), err error)
}

// New implements [backend].
func (b *admitted) New(ctx context.Context, e *editor, req *schema.NewSessionRequest) (agentSession, error) {
	return b.open(func() (agentSession, error) { return b.backend.New(ctx, e, req) })
}

// Load implements [backend].
func (b *admitted) Load(ctx context.Context, e *editor, req *schema.LoadSessionRequest) (agentSession, error) {
	return b.open(func() (agentSession, error) { return b.backend.Load(ctx, e, req) })
}

// Resume implements [backend].
func (b *admitted) Resume(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error) {
	return b.open(func() (agentSession, error) { return b.backend.Resume(ctx, e, req) })
}

// Fork implements [backend].
func (b *admitted) Fork(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error) {
	return b.open(func() (agentSession, error) { return b.backend.Fork(ctx, e, req) })
}

// open opens a session if it is admitted. Otherwise it begins nothing.
func (b *admitted) open(do func() (agentSession, error)) (agentSession, error) {
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
	return &admittedSession{agentSession: s, leave: leave}, nil
}

// admittedSession leaves when it is closed.
type admittedSession struct {
	agentSession
	leave func()
}

// Close implements [agentSession].
func (s *admittedSession) Close() error {
	defer s.leave()
	return s.agentSession.Close()
}
