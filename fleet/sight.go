package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/plan"
	"github.com/claude-agent-go/claude/history"
)

// sight is a conversation as its owner sees it: the state about which the plan decides,
// and the stored values behind it.
type sight struct {
	state     plan.State
	prompts   []*queued // as in the state
	outcomes  map[string]Ticket
	questions map[string]approval.Question
	spent     error // why nothing new may begin

	// What follows stays true while the owner changes records.
	transcript *history.Transcript // nil if there is none
	facts      plan.Facts          // of the transcript; zero: it was not read, or has changed
	noted      bool                // the owner has added a note
	held       map[string]bool     // questions whose calls turned out not to wait
	left       bool                // questions of ended turns could not be ended
	waits      bool                // a prompt was found to wait for a person
	decisions  int                 // how many were made
}

// prompt returns the first prompt of the queue with an id. It may be there twice.
func (s *sight) prompt(id string) *queued {
	return s.prompts[slices.IndexFunc(s.prompts, func(p *queued) bool { return p.ID == id })]
}

// cancelled returns the first prompt with an id and a mark, nil if none has the mark.
func (s *sight) cancelled(id string) *queued {
	i := slices.IndexFunc(s.prompts, func(p *queued) bool { return p.ID == id && !p.Cancelled.IsZero() })
	if i < 0 {
		return nil
	}
	return s.prompts[i]
}

// first returns the prompt that is next, nil if there is none.
func (s *sight) first() *queued {
	if len(s.prompts) == 0 {
		return nil
	}
	return s.prompts[0]
}

// hasBegun reports whether a CLI may have seen one of the prompts.
func (s *sight) hasBegun() bool { return len(s.prompts) > 0 && s.prompts[0].Sent }

// survey reads the records of the conversation.
func (w *waking) survey(ctx context.Context, s *sight) error {
	before := w.roster.waitingNames(w.c)
	signalled := w.c.takeMore()
	now, err := w.records.readStored(ctx, w.c.key, before)
	if err != nil {
		w.c.signalMore() // what it announced has not been read
		return err
	}
	s.state, s.prompts = plan.State{Brief: true, Outcomes: make(map[string]plan.Outcome)}, nil
	s.outcomes, s.questions, s.spent = make(map[string]Ticket), make(map[string]approval.Question), nil
	switch {
	case !now.rec.Deleted.IsZero():
		s.state.Conversation.Deleted = true
		return nil
	case now.unknown && len(now.prompts) > 0: // it was deleted while a prompt for it was accepted
		if now.rec, err = w.records.create(ctx, w.c.key); err != nil {
			return err
		}
	case now.unknown:
		now.rec = record{Key: w.c.key}
	}
	w.rec, w.queue = now.rec, make(map[string]bool)
	s.state.Conversation.Unsettled = w.rec.Unsettled != "" && w.session == nil && !s.left
	if w.rec.Stuck != nil {
		s.state.Conversation.Stuck = w.rec.Stuck.Prompt
	}
	slices.SortStableFunc(now.prompts, func(a, b *queued) int { return a.rank() - b.rank() })
	s.prompts = now.prompts
	for _, p := range s.prompts {
		now := w.planned(p)
		if now.Lost {
			p.Failure, p.Cause = leaseLost, ""
		}
		s.state.Prompts = append(s.state.Prompts, now)
		if p.Cancelled.IsZero() {
			w.queue[p.ID] = true
		}
	}
	if len(w.queue) > 1 && (signalled || slices.ContainsFunc(s.prompts, (*queued).steers)) {
		w.c.signalMore() // one of the others may steer the turn
	}
	w.roster.reset(w.c, before, s.prompts)
	return w.surveyNext(ctx, s, now.ended)
}

// planned is a prompt as the plan knows it.
func (w *waking) planned(p *queued) plan.Prompt {
	return plan.Prompt{
		ID: p.ID, Sent: p.Sent, Given: w.given(p.ID), Steer: p.Steer, Rewind: p.Rewind != nil,
		Cancelled: !p.Cancelled.IsZero(), Interrupted: !p.Interrupted.IsZero() || w.wasInterrupted(p),
		Begun: p.Begun, Resets: p.Resets, Since: p.Since, Question: p.Question,
		Lost: w.lostLease(p), Losses: p.Losses,
	}
}

// surveyNext reads what the prompts that may be next depend on: those that have begun,
// or if there are none, the first. looked has those whose outcomes were looked for.
func (w *waking) surveyNext(ctx context.Context, s *sight, looked map[string]bool) error {
	for i, p := range s.prompts {
		if ended, known := looked[p.ID]; p.Sent || i == 0 {
			if known && !ended {
				continue
			}
			if err := w.surveyOutcome(ctx, s, p.ID); err != nil {
				return err
			}
		}
	}
	if len(s.prompts) == 0 || s.prompts[0].Sent {
		return nil
	}
	if next := s.state.Prompts[0]; !next.Rewind && !next.Interrupted && !next.Cancelled && s.state.Outcomes[next.ID] == plan.Pending {
		if s.spent = w.budgets.budget(ctx, &w.rec); errors.Is(s.spent, errUncounted) {
			return s.spent
		}
		s.state.Conversation.Overspent = s.spent != nil
	}
	return nil
}

// surveyOutcome reads the outcome of a prompt, if it has one.
func (w *waking) surveyOutcome(ctx context.Context, s *sight, id string) error {
	o, ended, err := w.records.outcome(ctx, w.c.key, id)
	if err != nil || !ended {
		return err
	}
	s.outcomes[id] = o
	s.state.Outcomes[id] = map[PromptStatus]plan.Outcome{PromptAnswered: plan.Answered, PromptFailed: plan.Failed, PromptCancelled: plan.Cancelled, PromptExpired: plan.Expired}[o.Status]
	if o.Interrupted {
		s.state.Outcomes[id] = plan.Interrupted
	}
	return nil
}

// read reads the rest: the questions, and from the transcript the progress of the
// prompts that a CLI may have seen.
func (w *waking) read(ctx context.Context, s *sight) error {
	var released []calledTool
	for q, err := range w.inbox.List(ctx, approval.Filter{Conversation: w.c.key}) {
		if err != nil {
			return err
		}
		s.questions[q.ID] = q
		now := plannedQuestion(&q)
		now.Holds = now.Holds || s.held[q.ID]
		if now.Stage == plan.Released && !now.Aside {
			released = append(released, calledTool{ID: q.ToolUseID, Tool: q.Tool, Digest: q.Digest, Agent: q.Agent})
		}
		s.state.Questions = append(s.state.Questions, now)
	}
	if err := w.findLost(ctx, released); err != nil {
		return err
	}
	if s.facts.Turns == nil {
		if err := w.readTurns(ctx, s); err != nil {
			return err
		}
	}
	s.facts.Noted = make(map[string]bool)
	for _, c := range released {
		s.facts.Noted[c.ID] = true
	}
	for _, c := range w.going.untold() {
		delete(s.facts.Noted, c.ID)
		if !w.going.unkept[c.ID] {
			s.state.Calls = append(s.state.Calls, c.ID)
		}
	}
	s.state.Transcript, s.state.Brief = s.facts, false
	for id, turn := range s.facts.Turns {
		if s.noted {
			turn.Noted, turn.Continued = true, false
			s.facts.Turns[id] = turn
		}
		if turn.Of == id {
			continue
		}
		if err := w.surveyOutcome(ctx, s, turn.Of); err != nil {
			return err
		}
	}
	return nil
}

// plannedQuestion is a question as the plan knows it.
func plannedQuestion(q *approval.Question) plan.Question {
	stage, waits := map[approval.State]plan.Stage{approval.StateOpen: plan.Open, approval.StateDecided: plan.Decided, approval.StateReleased: plan.Released}[q.State]
	if !waits {
		stage = plan.Over
	}
	return plan.Question{
		ID: q.ID, Call: q.ToolUseID, Stage: stage, Overdue: q.State == approval.StateGone && q.Outcome == approval.OutcomeExpired,
		Aside: q.Tool == approval.ElicitationTool, Holds: q.HoldsProcess,
	}
}

// readTurns reads the transcript. Answers that no result has counted are counted now,
// before their prompts end.
func (w *waking) readTurns(ctx context.Context, s *sight) (err error) {
	s.facts = plan.Facts{Turns: make(map[string]plan.Turn), Calls: make(map[string]plan.Result)}
	if s.transcript, err = w.asked.transcript(ctx, w.rec.Session); err != nil || s.transcript == nil {
		return err
	}
	calls, err := callsIn(ctx, func() (*history.Transcript, error) { return s.transcript, nil })
	if err != nil {
		return err
	}
	for id, o := range calls {
		s.facts.Calls[id] = map[approval.Outcome]plan.Result{approval.OutcomeRan: plan.Ran, approval.OutcomeFailed: plan.Refused}[o]
	}
	for _, p := range s.state.Prompts {
		if !p.Sent || p.Given || p.Cancelled || p.Rewind {
			continue
		}
		if s.facts.Turns[p.ID], err = turnIn(ctx, s.transcript, p.ID); err != nil {
			return err
		}
		if err := w.countLost(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// turnIn returns the progress of a prompt in a transcript.
func turnIn(ctx context.Context, t *history.Transcript, id string) (turn plan.Turn, err error) {
	state, open := t.PromptState(id)
	turn = plan.Turn{Of: id, Open: open, Standing: map[history.PromptState]plan.Standing{
		history.PromptUnseen: plan.Unseen, history.PromptCut: plan.Cut, history.PromptDeferred: plan.Deferred, history.PromptAnswered: plan.Done,
	}[state]}
	if turn.Standing == plan.Unseen {
		return turn, nil
	}
	if turn.Of, err = turnOfPrompt(ctx, t, id); err != nil {
		return turn, err
	}
	if turn.Last, err = lastProgress(ctx, t, id); err != nil || turn.Standing != plan.Cut {
		return turn, err
	}
	if turn.Noted, err = isBehindNote(t.Entries(ctx), open); err != nil {
		return turn, err
	}
	turn.Continued, err = endsWithContinuation(t.Entries(ctx))
	return turn, err
}
