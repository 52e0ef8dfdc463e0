package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// methodFork copies a session. It is not in the stable protocol, but editors know it
// from the npm adapter.
const methodFork = "session/fork"

// fork opens a copy of a session. One whose turn runs is not copied: the copy would have
// half of it.
func (s *server) fork(ctx context.Context, params json.RawMessage) (agentSession, error) {
	req, err := decode[schema.ResumeSessionRequest](params)
	if err = errors.Join(err, checkPaths(req, func() (string, []string) { return req.Cwd, req.AdditionalDirectories })); err != nil {
		return nil, err
	}
	var session agentSession
	err = s.hold(req.SessionID, func() error { // meanwhile no turn can begin
		if s.isBusy(req.SessionID) {
			return turnRuns()
		}
		session, err = s.backend.Fork(ctx, s.editor, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.add(session); err != nil {
		return nil, errors.Join(err, s.dropCopy(ctx, session.ID()))
	}
	return session, nil
}

// dropCopy deletes a copy of which the editor will not hear. It leaves alone a session
// that is open: a back-end may have returned that instead of a copy.
func (s *server) dropCopy(ctx context.Context, id schema.SessionID) error {
	if _, err := s.session(id); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	return s.backend.Delete(ctx, id)
}

// Fork copies a session on the disk, up to its end or to a call that waits for an
// answer, and starts a CLI that continues the copy.
func (l localAgent) Fork(ctx context.Context, e *editor, req *schema.ResumeSessionRequest) (agentSession, error) {
	wishes, err := l.wishes(req.Meta)
	if err != nil {
		return nil, err
	}
	id, err := l.history().Fork(ctx, string(req.SessionID), history.ForkOptions{})
	if err != nil {
		return nil, historyError(req.SessionID, err)
	}
	session, err := l.connect(ctx, e, opening{kept: l.keep(e, id), cwd: req.Cwd, dirs: req.AdditionalDirectories, servers: req.MCPServers, wishes: wishes, resumes: true})
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
		defer cancel()
		_, undo := l.history().Delete(ctx, id)
		return nil, errors.Join(err, undo)
	}
	return session, nil
}
