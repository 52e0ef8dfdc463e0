package serve

import (
	"context"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// acknowledging is a fleet with one inbox.
type acknowledging struct {
	fleet.Conversations
	inbox *credulous
}

func (a acknowledging) Approvals() approval.Inbox { return a.inbox }

// credulous is an inbox that believes everyone who acknowledges a question.
type credulous struct {
	approval.Inbox
	by []string
}

func (a *credulous) Acknowledge(_ context.Context, id, by string) (approval.Question, error) {
	a.by = append(a.by, id+" "+by)
	return approval.Question{}, nil
}

// Only a look of the person who decided acknowledges that the decision was not used, and
// only the first one. The looks of others write nothing.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	answer := &approval.Answer{By: "ada"}
	for name, c := range map[string]struct {
		q    approval.Question
		user string
		want bool
	}{
		"own":          {approval.Question{Unused: "the turn ended", Answer: answer}, "ada", true},
		"of another":   {approval.Question{Unused: "the turn ended", Answer: answer}, "eve", false},
		"used":         {approval.Question{Answer: answer}, "ada", false},
		"seen":         {approval.Question{Unused: "the turn ended", UnusedSeen: time.Unix(1, 0), Answer: answer}, "ada", false},
		"undecided":    {approval.Question{Unused: "the turn ended"}, "ada", false},
		"without name": {approval.Question{Unused: "the turn ended", Answer: answer}, "", false},
	} {
		f := new(credulous)
		c.q.ID = "q"
		(&answers{fleet: acknowledging{inbox: f}}).acknowledge(t.Context(), &c.q, api.User{Name: c.user, Role: api.RoleAdmin})
		if got := len(f.by) == 1 && f.by[0] == "q ada"; got != c.want || !c.want && len(f.by) > 0 {
			t.Errorf("%s: acknowledged %q", name, f.by)
		}
	}
}
