package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// journal records in the logs of conversations who did what to them, and the state of
// their approvals.
type journal struct {
	fleet  fleet.Conversations
	logs   *logs
	logger *slog.Logger
	notify func(api.Approval)
}

// notice records who did what to a conversation.
func (j *journal) notice(ctx context.Context, u api.User, key, what string) error {
	return j.writeNotice(ctx, u, key, api.Notice{Text: what})
}

func (j *journal) writeNotice(ctx context.Context, u api.User, key string, n api.Notice) error {
	l, release, err := j.logs.use(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	j.logger.Info("serve: "+n.Text, "conversation", key, "user", u.Name, "address", u.Address)
	n.User, n.Address = u.Name, u.Address
	return l.Record(ctx, api.Event{Type: api.EventNotice, Notice: &n})
}

// noticeRewind records a step of a rewind, even if the client has left.
func (j *journal) noticeRewind(ctx context.Context, u api.User, key, what string, step api.RewindNote) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	return j.writeNotice(ctx, u, key, api.Notice{Text: what, Rewind: &step})
}

// logApproval records the state of an approval once its call is in the log, or at a
// deadline. If that fails, the approval is still in the inbox.
func (j *journal) logApproval(ctx context.Context, q *approval.Question, by time.Time) {
	if err := j.noteApproval(ctx, q, by); err != nil && ctx.Err() == nil && !overWith(err) {
		j.logger.Warn("an approval is not in the log of its conversation", "approval", q.ID, "error", err)
	}
}

// noteApproval records the state of an approval in its conversation.
func (j *journal) noteApproval(ctx context.Context, q *approval.Question, by time.Time) error {
	l, release, err := j.logs.use(ctx, q.Conversation)
	if err != nil {
		return err
	}
	defer release()
	if err := l.RecallApproval(ctx, q.ID, q.Asked); err != nil {
		return err
	}
	if q.Agent == "" && kindOf(q.Tool) != api.KindElicitation { // otherwise its call never comes
		l.AwaitCall(ctx, q.ID, q.ToolUseID, by)
	}
	return l.NoteApproval(ctx, noteOf(q))
}

// watchApprovals records the state of all approvals in the logs of their conversations,
// and notifies people of new ones, until ctx ends.
func (j *journal) watchApprovals(ctx context.Context) {
	notified := make(map[string]bool)
	for attempt := 0; ctx.Err() == nil; attempt++ {
		for q, err := range j.fleet.Approvals().Watch(ctx, approval.Filter{States: approval.Waiting()}) {
			if err != nil {
				if ctx.Err() == nil {
					j.logger.Warn("approvals cannot be watched", "error", err)
				}
				break
			}
			attempt = 0
			by := time.Now().Add(eventlog.CallBound) // one deadline for all approvals that wait together
			j.logs.later(ctx, q.Conversation, func() { j.logApproval(ctx, &q, by) })
			if j.notify != nil && q.State == approval.StateOpen && !notified[q.ID] {
				notified[q.ID] = true
				j.notify(approvalOf(&q, api.User{}))
			} else if q.State != approval.StateOpen {
				delete(notified, q.ID)
			}
		}
		waitTurn(ctx, nil, backoff(attempt))
	}
}

// warn logs a failure, unless the server is closing.
func (j *journal) warn(ctx context.Context, what, key string, err error) {
	if ctx.Err() == nil {
		j.logger.Warn(what, "conversation", key, "error", err)
	}
}
