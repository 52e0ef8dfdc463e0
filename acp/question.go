package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

const (
	// questionsProject is the project of the questions of editors in their store.
	questionsProject = "acp"
	// questionsDir is the folder of that store below the configuration directory.
	questionsDir = "claude-agent-go"
	// keepQuestions is how long a question that is over is kept.
	keepQuestions = 30 * 24 * time.Hour
	// storing limits writes that no caller waits for any more.
	storing = 10 * time.Second
	// vanishing is how long the CLI of an adapter that was killed may take to end.
	vanishing = 10 * time.Second
)

// QuestionsIn returns the inbox that a [Local] uses by default: that of a
// configuration directory, such as ~/.claude. Programs on the same machine may use it
// at the same time, for example to decide in an editor's place.
func QuestionsIn(configDir string) *approval.Questions {
	return approval.NewQuestions(store.Files(filepath.Join(configDir, questionsDir)), questionsProject)
}

// keeper keeps the questions of one session, so that they outlive the editor and this
// process. Of several answers, the first counts, wherever it comes from.
type keeper struct {
	inbox   *approval.Questions
	session string
	by      string // how answers of the editor are signed
	gone    <-chan struct{}
	written *written
	log     *slog.Logger
}

// decide stores the question about a call, asks the editor, and returns the first
// decision. Whatever does not end with a clear answer denies. No one sees a question whose
// call would be lost if this process were killed.
//
// If the editor is gone, decide returns only when the session has ended: any answer
// before that would be a refusal that nobody gave.
func (k *keeper) decide(ctx context.Context, req *permission.Request, ask func(context.Context) (permission.Decision, error)) (permission.Decision, error) {
	if req.AgentID == "" { // that of a subagent is lost in any case
		k.written.wait(ctx, req.ToolUseID)
	}
	q, err := k.inbox.Ask(ctx, approval.Question{
		Conversation: k.session, Tool: req.ToolName, ToolUseID: req.ToolUseID, Input: req.Input,
		Cwd: req.Cwd, Agent: req.AgentID, Reason: req.Reason, HoldsProcess: req.AgentID != "",
	}, store.Fence{})
	if err != nil {
		return permission.Decision{}, fmt.Errorf("the question cannot be stored: %w", err)
	}
	if q.State == approval.StateOpen {
		if err := k.await(ctx, &q, ask); err != nil {
			return permission.Decision{}, k.leave(ctx, q.ID, err)
		}
	}
	v, err := k.inbox.Release(ctx, q.ID, store.Fence{})
	switch {
	case err != nil:
		return permission.Decision{}, err
	case v.Pending():
		return permission.Decision{}, errors.New("the question is still open")
	case v.Decision.Behavior() == permission.BehaviorAllow:
		// From here on the call is not asked about again, even after a crash.
		if err := k.inbox.Settle(ctx, q.ID, approval.OutcomeAllowed, store.Fence{}); err != nil {
			return permission.Decision{}, err
		}
	}
	return v.Decision, nil
}

// await asks the editor until there is a decision. One that was made elsewhere
// withdraws the editor's question.
func (k *keeper) await(ctx context.Context, q *approval.Question, ask func(context.Context) (permission.Decision, error)) error {
	asking, withdraw := context.WithCancel(ctx)
	defer withdraw()
	type answer struct {
		permission.Decision
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		d, err := ask(asking)
		answers <- answer{d, err}
	}()
	elsewhere := make(chan error, 1)
	go func() {
		_, err := k.inbox.Await(asking, q.ID)
		elsewhere <- err
	}()
	select {
	case err := <-elsewhere:
		return err
	case a := <-answers:
		if a.err != nil {
			return a.err
		}
		_, err := k.inbox.Decide(ctx, q.ID, approval.Answer{Decision: a.Decision, By: k.by, Digest: q.Digest})
		if _, late := errors.AsType[*approval.DecidedError](err); late || errors.Is(err, approval.ErrGone) {
			return nil // the verdict is that of the other one
		}
		return err
	}
}

// leave ends the wait for a question without a decision. It stays open if the editor
// or the session is gone: it is asked again when the session is opened. A question that
// the CLI has withdrawn, that took longer than the options allow, or that the editor
// cannot answer, ends.
func (k *keeper) leave(ctx context.Context, id string, err error) error {
	select {
	case <-k.gone:
		<-ctx.Done() // the session is closed with its editor
	default:
	}
	over := errors.Is(context.Cause(ctx), peer.ErrCancelled) || errors.Is(context.Cause(ctx), claude.ErrTimeout)
	if ctx.Err() != nil && !over || errors.Is(err, rpc.ErrClosed) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	return errors.Join(err, k.inbox.Withdraw(ctx, id, approval.OutcomeWithdrawn, "", store.Fence{}))
}

// again guards the calls of a session that is resumed and was asked about before. The
// CLI makes a deferred call again whenever the session is resumed, and would run it by
// its rules alone: one that waits for a person is put before them in any mode, and one
// that was decided does not run a second time.
func (k *keeper) again(known map[string]string) hook.Hook {
	return hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		id, ok := known[in.ToolUseID]
		if !ok {
			return nil, nil
		}
		q, err := k.inbox.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if q.State == approval.StateOpen || q.State == approval.StateDecided {
			return hook.AskTool(""), nil
		}
		v, err := k.inbox.Release(ctx, id, store.Fence{})
		if err != nil {
			return nil, err
		}
		return hook.DenyTool(v.Decision.Message()), nil
	}).FailClosed().At(hook.StageGate)
}

// takeUp prepares a session that is opened again: it defers the call whose question is
// open, so that the CLI asks about it, and withdraws the others. It returns the
// questions of the session by their calls.
func (k *keeper) takeUp(ctx context.Context, h *history.History) (known map[string]string, err error) {
	known = make(map[string]string)
	var open []approval.Question
	for q, err := range k.inbox.List(ctx, approval.Filter{Conversation: k.session}) {
		if err != nil {
			return nil, err
		}
		known[q.ToolUseID] = q.ID
		if q.State == approval.StateOpen || q.State == approval.StateDecided {
			open = append(open, q)
		}
	}
	if len(open) == 0 {
		return known, nil
	}
	if err := k.ended(ctx, h); err != nil {
		return nil, err
	}
	for _, q := range open {
		err := history.ErrNotWaiting
		if !q.HoldsProcess {
			err = h.Defer(ctx, k.session, q.ToolUseID)
		}
		if errors.Is(err, history.ErrNotWaiting) {
			k.log.Info("acp: a question is withdrawn, because the conversation has moved on", "session", k.session, "tool", q.Tool)
			err = k.inbox.Withdraw(ctx, q.ID, approval.OutcomeWithdrawn, "", store.Fence{})
		}
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// ended returns when no CLI has the session open. That of an adapter that was killed
// ends by itself; one that does not belongs to another program, which still waits for
// the answer.
func (k *keeper) ended(ctx context.Context, h *history.History) error {
	deadline := time.NewTimer(vanishing)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		pids, err := h.Processes(ctx, k.session)
		if err != nil || len(pids) == 0 {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			return fmt.Errorf("another program has this session open, and waits for the answer to a question: answer it there, or close the session there (process %d)", pids[0])
		}
	}
}
