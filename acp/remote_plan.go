package acp

import (
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// remotePlanModes are the modes that may follow a plan on a server: those that the
// server offers this user.
func remotePlanModes(q *api.Approval) (modes []permission.Mode) {
	for _, m := range q.Modes {
		modes = append(modes, permission.Mode(m))
	}
	return modes
}

// planDecision is the decision that an answer to a plan means.
func planDecision(q *api.Approval, id schema.PermissionOptionID) (api.Decision, bool) {
	mode, ok := planMode(remotePlanModes(q), id)
	return api.Decision{Decision: api.DecideAllow, Mode: string(mode)}, ok
}

// modeOf shows the mode that the conversation is in, if the editor shows another. The CLI
// changes it by itself, such as when a plan is approved.
func (s *remoteSession) modeOf(mode string) []schema.SessionUpdate {
	shown := s.chosen()
	if shown.current(mode, s.preset.Mode) == shown.current(shown.mode, s.preset.Mode) {
		return nil
	}
	s.mu.Lock()
	now := api.Changed{Title: s.title, Mode: mode, Model: s.model}
	s.mu.Unlock()
	return s.changed(&now)
}

// planned shows the mode that was chosen with a plan, once it is approved.
func (s *remoteSession) planned(q *api.ApprovalNote) []schema.SessionUpdate {
	if q.Mode == "" || q.State != api.ApprovalAllowed || q.Outcome != "" && q.Outcome != api.OutcomeRan {
		return nil
	}
	return s.modeOf(q.Mode)
}
