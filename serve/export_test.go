package serve

import (
	"context"
	"iter"

	"github.com/claude-agent-go/claude/serve/api"
)

// EditorApprovals are the approvals as an editor of the user lists them.
func (s *Service) EditorApprovals(ctx context.Context, u api.User, q api.ApprovalQuery) iter.Seq2[api.Approval, error] {
	return (&userServer{s, func() (api.User, error) { return u, nil }}).Approvals(ctx, q)
}

// Touch lets the feed know that a conversation has changed.
func (s *Service) Touch(id string) { s.feed.touch(keyOf(id)) }

// LogsInUse returns how many logs are in use.
func (s *Server) LogsInUse() int {
	logs := s.service.logs
	logs.mu.Lock()
	defer logs.mu.Unlock()
	return len(logs.open)
}
