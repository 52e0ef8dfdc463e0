package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// maxAsks is how many questions of a conversation an editor is asked at once. The
// others wait at the page.
const maxAsks = 32

// maxRefused is how often an editor is asked again because the server refused the
// answer.
const maxRefused = 3

// asks puts the approvals of a conversation before its editor, each once, and
// withdraws those that are decided elsewhere.
type asks struct {
	session *remoteSession
	all     sync.WaitGroup

	mu   sync.Mutex
	open map[string]context.CancelFunc
	left map[string]asking // not asked yet, or never
}

// askOpen asks the questions that are open where the events begin, and
// withdraws the others.
func (a *asks) askOpen() {
	s := a.session
	ctx, cancel := context.WithTimeout(s.ctx, reaching)
	defer cancel()
	prompts, err := s.server.Prompts(ctx, string(s.id))
	if err != nil {
		s.log.Warn("acp: the prompts of a conversation cannot be read", "session", s.id, "error", err)
	}
	s.mu.Lock()
	s.prompts.clear()
	s.mu.Unlock()
	for _, p := range prompts {
		s.prompted(&p)
	}
	pending := make(map[string]bool)
	for q, err := range s.server.Approvals(ctx, api.ApprovalQuery{State: api.ApprovalPending, Conversation: string(s.id)}) {
		if err != nil {
			s.log.Warn("acp: the approvals of a conversation cannot be read", "session", s.id, "error", err)
			return
		}
		pending[q.ID] = true
		a.ask(q.ID)
	}
	a.keep(pending)
}

// ask asks the editor about an approval, beside everything else, if it is for this
// editor. Only the follower calls it: it goes by the events up to here.
func (a *asks) ask(id string) {
	may := a.session.may(id)
	ctx, cancel := context.WithCancel(a.session.ctx)
	a.mu.Lock()
	_, asked := a.open[id]
	if before, known := a.left[id]; known && before == askNever && may == askLater {
		may = askNever
	}
	begins := may == askEditor && !asked && len(a.open) < maxAsks
	switch {
	case begins:
		a.open[id] = cancel
		delete(a.left, id)
	case !asked && len(a.left) < maxAsks:
		a.left[id] = may
	}
	a.mu.Unlock()
	if !begins {
		cancel()
		return
	}
	a.all.Go(func() {
		defer cancel()
		defer a.withdraw(id)
		// An editor that is gone leaves its questions to others.
		if err := a.decide(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, rpc.ErrClosed) {
			a.session.log.Warn("acp: an approval was not decided", "session", a.session.id, "approval", id, "error", err)
		}
	})
}

// askLeft asks the remaining questions, now that a prompt has advanced. A question
// that was not for this editor is asked only if a prompt of its user waits for it.
func (a *asks) askLeft(p *api.Prompt) {
	a.mu.Lock()
	var ids []string
	for id, may := range a.left {
		if may != askNever || p.Approval == id {
			ids = append(ids, id)
		}
	}
	a.mu.Unlock()
	for _, id := range ids {
		a.ask(id)
	}
}

// withdraw ends a question, if it is being asked.
func (a *asks) withdraw(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.left, id)
	if cancel := a.open[id]; cancel != nil {
		cancel()
		delete(a.open, id)
	}
}

// keep withdraws all questions but those that are pending.
func (a *asks) keep(pending map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.left, func(id string, _ asking) bool { return !pending[id] })
	maps.DeleteFunc(a.open, func(id string, cancel context.CancelFunc) bool {
		if !pending[id] {
			cancel()
		}
		return !pending[id]
	})
}

// wait returns when nothing is asked any more. The session's context has ended.
func (a *asks) wait() { a.all.Wait() }

// may decides about a question.
func (s *remoteSession) may(question string) asking {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompts.may(question, len(s.own) > 0)
}

// foreign reports whether another user may have prompted in this conversation.
func (s *remoteSession) foreign() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompts.foreign
}

// decide asks the editor, if it may be asked, and tells the server. Another answer that
// came first is not an error. An answer that the server refuses is asked for again.
//
// Whose prompt has started a subagent is not known: if it may be another user's, its
// questions stay at the page.
func (a *asks) decide(ctx context.Context, id string) error {
	s := a.session
	q, err := s.server.Approval(ctx, id)
	if err != nil || q.State != api.ApprovalPending || !q.MayDecide || q.AgentID != "" && s.foreign() {
		return err
	}
	for refused := 0; ; refused++ {
		d, ok, err := s.answer(ctx, &q)
		if err != nil || !ok {
			return err
		}
		d.Digest = q.Digest
		_, err = s.server.Decide(ctx, id, d)
		p, _ := errors.AsType[*api.Problem](err)
		if p != nil && p.Approval != nil {
			return nil
		}
		if p == nil || p.Status != http.StatusBadRequest {
			return err
		}
		s.send(ctx, schema.SessionUpdate{AgentMessageChunk: &schema.ContentChunk{Content: translate.TextBlock(refusal(p, refused+1 < maxRefused))}})
		if refused+1 == maxRefused {
			return err
		}
	}
}

// refusal explains to a person why their answer does not count.
func refusal(p *api.Problem, again bool) string {
	text := "The server did not take this answer: " + cmp.Or(p.Detail, p.Title)
	for _, f := range p.Errors {
		text += "\n- " + strings.TrimPrefix(f.Pointer+": "+f.Detail, ": ")
	}
	if again {
		return text + "\nYou are asked again.\n"
	}
	return text + "\nThe question stays open on the server's page.\n"
}

// answer asks the person at the editor. Without ok there is no answer, and the question
// stays open for others.
func (s *remoteSession) answer(ctx context.Context, q *api.Approval) (d api.Decision, ok bool, err error) {
	person := asker{editor: s.editor, session: s.id, shown: s.machine.Shown}
	req := &permission.Request{ToolName: q.Tool, Input: q.Input, ToolUseID: q.ToolUseID, AgentID: q.AgentID, Cwd: q.Dir}
	switch q.Kind {
	case api.KindElicitation:
		return s.form(ctx, q)
	case api.KindQuestion:
		answered, err := person.questions(ctx, req)
		if err != nil {
			return d, false, err
		}
		return decisionFor(answered)
	}
	outcome, err := s.editor.RequestPermission(ctx, &schema.RequestPermissionRequest{
		SessionID: s.id, ToolCall: person.call(req), Options: approvalOptions(q),
	})
	if err != nil {
		return d, false, err
	}
	d, ok = approvalDecision(q, outcome)
	return d, ok, nil
}

// approvalOptions are the answers to an approval. Each of its suggestions can be
// remembered.
func approvalOptions(q *api.Approval) []schema.PermissionOption {
	if q.Kind == api.KindPlan {
		return planOptions(remotePlanModes(q))
	}
	options := []schema.PermissionOption{{OptionID: optionOnce, Name: "Yes", Kind: schema.PermissionOptionKindAllowOnce}}
	if q.Kind == api.KindTool {
		for i, rule := range q.Suggestions {
			options = append(options, schema.PermissionOption{
				OptionID: schema.PermissionOptionID(fmt.Sprintf("%s-%d", optionAlways, i)), Name: "Yes, and don't ask again for " + rule + " in this conversation",
				Kind: schema.PermissionOptionKindAllowAlways,
			})
		}
	}
	return append(options, schema.PermissionOption{OptionID: optionReject, Name: "No", Kind: schema.PermissionOptionKindRejectOnce})
}

// approvalDecision is the decision that an answer means. A question that the editor
// has cancelled stays open: the turn continues without this editor.
func approvalDecision(q *api.Approval, outcome schema.RequestPermissionOutcome) (api.Decision, bool) {
	if outcome.Selected == nil {
		return api.Decision{}, false
	}
	if d, ok := planDecision(q, outcome.Selected.OptionID); ok {
		return d, true
	}
	var i int
	switch id := string(outcome.Selected.OptionID); {
	case id == optionOnce:
		return api.Decision{Decision: api.DecideAllow}, true
	case id == optionReject:
		return api.Decision{Decision: api.DecideDeny}, true
	default:
		if n, err := fmt.Sscanf(id, optionAlways+"-%d", &i); n == 1 && err == nil && id == fmt.Sprintf("%s-%d", optionAlways, i) {
			return api.Decision{Decision: api.DecideAllow, Remember: []int{i}}, true
		}
	}
	return api.Decision{Decision: api.DecideDeny, Message: "The editor chose an answer that was not offered."}, true
}

// decisionFor is a decision about questions in the words of the server.
func decisionFor(p permission.Decision) (api.Decision, bool, error) {
	if p.Interrupts() {
		return api.Decision{}, false, nil // cancelled in this editor
	}
	if p.Behavior() != permission.BehaviorAllow {
		return api.Decision{Decision: api.DecideDeny, Message: p.Message()}, true, nil
	}
	input, _ := p.Input()
	data, err := jsonx.MarshalUser(input)
	return api.Decision{Decision: api.DecideAnswer, Input: data}, err == nil, err
}

// form asks what an MCP server wants to know. An editor without forms leaves it to the
// page.
func (s *remoteSession) form(ctx context.Context, q *api.Approval) (d api.Decision, ok bool, err error) {
	if !elicits(s.editor) || q.Form == nil || q.Form.URL != "" {
		return d, false, nil
	}
	req := &schema.CreateElicitationRequest{Mode: "form", SessionID: s.id, Message: jsonx.Text(jsonx.Member(q.Input, "message"))}
	if req.RequestedSchema, err = formOf(jsonx.Member(q.Input, "requested_schema")); err != nil {
		return d, false, err
	}
	resp, err := s.editor.Elicit(ctx, req)
	if err != nil {
		return d, false, err
	}
	switch resp.Action {
	case "accept":
		data, err := jsonx.Marshal(resp.Content)
		return api.Decision{Decision: api.DecideAnswer, Input: data}, err == nil, err
	case "decline":
		return api.Decision{Decision: api.DecideDeny}, true, nil
	}
	return d, false, nil
}
