package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/plan"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// Shadow lets [plan.Next] decide beside the fleet, on the same stored values. It calls looked
// after each decision of both, with the difference if there is one. The store is that of the
// options without faults, and is only read.
func Shadow(o *Options, db store.Fleet, looked func(difference string)) {
	o.looks = func(d decider) (step, *queued, error) {
		w := d.(*waking)
		read := w.opts
		read.Store, read.Trace = db, nil
		x := &shadow{w: w, raw: assemble(w.ctx, read)}
		before, known := x.decide()
		s, p, err := w.next(w.ctx)
		if err != nil || !known || w.over() {
			return s, p, err
		}
		did := decided{step: planned[s]}
		if p != nil && s != sleep {
			did.prompt, did.begun = p.ID, p.Begun
		}
		if s == await {
			did.begun = 0
		}
		difference := ""
		if did != before.decided {
			difference = x.difference(did, before)
		}
		looked(difference)
		return s, p, err
	}
}

// planned has the steps of the plan.
var planned = map[step]plan.Step{sleep: plan.Sleep, send: plan.Send, finish: plan.Finish, resume: plan.Resume, await: plan.Await, rewind: plan.Rewind}

// decided is a step, its prompt, and how often that will have begun.
type decided struct {
	step   plan.Step
	prompt string
	begun  int
}

// foreseen is the final decision of the plan, and the changes before it.
type foreseen struct {
	decided
	state plan.State
	way   []plan.Decision
}

// shadow decides beside a conversation.
type shadow struct {
	w   *waking
	raw *Fleet // reads the store, without faults
}

// difference describes a decision that was not foreseen. It is empty if people or other
// processes have changed something meanwhile, after which it is right.
func (x *shadow) difference(did decided, before foreseen) string {
	after, known := x.decide()
	if !known || did == after.decided && disturbed(&before.state, &after.state) {
		return ""
	}
	return fmt.Sprintf("conversation %s: %+v, planned %+v of %+v by %+v, then %+v of %+v",
		x.w.c.key, did, before.decided, before.state, before.way, after.decided, after.state)
}

// disturbed reports whether others than the owner have changed something: they send, mark and
// free prompts, decide about questions, and delete. A CLI that works stores lines.
func disturbed(before, after *plan.State) bool {
	was := make(map[string]plan.Prompt)
	for _, p := range before.Prompts {
		was[p.ID] = p
	}
	for _, p := range after.Prompts {
		old, known := was[p.ID]
		delete(was, p.ID)
		freed := before.Conversation.Stuck == p.ID && after.Conversation.Stuck == ""
		turn, now := before.Transcript.Turns[p.ID], after.Transcript.Turns[p.ID]
		works := turn.Standing != now.Standing && now.Standing != plan.Deferred || turn.Last != now.Last
		if !known || freed || works || old.Cancelled != p.Cancelled || old.Interrupted != p.Interrupted || old.Given != p.Given {
			return true
		}
	}
	for id, p := range was { // one who cancels a prompt that has not begun also ends it
		if !p.Sent && !p.Cancelled && after.Outcomes[id] == plan.Pending {
			return true
		}
	}
	asked := make(map[string]plan.Question)
	for _, q := range before.Questions {
		asked[q.ID] = q
	}
	for _, q := range after.Questions {
		old, known := asked[q.ID]
		if !known || old.Stage != q.Stage && q.Stage == plan.Decided || old.Overdue != q.Overdue {
			return true
		}
	}
	return before.Conversation.Deleted != after.Conversation.Deleted
}

// decide follows the plan until it comes to a step. It reports false if the store
// cannot be read.
func (x *shadow) decide() (foreseen, bool) {
	s, err := x.state(context.WithoutCancel(x.w.ctx))
	if err != nil {
		return foreseen{}, false
	}
	seen := foreseen{state: clone(s)}
	for range 100 {
		d := plan.Next(s, plan.Rules{Attempts: x.w.opts.Attempts, Resets: x.w.opts.Resets, Losses: maxLosses})
		if d.Line == nil && d.Changes == nil {
			seen.decided = decided{step: d.Step, prompt: d.Prompt.ID}
			switch d.Step {
			case plan.Erase, plan.Sleep:
				seen.decided = decided{}
			case plan.Send, plan.Finish, plan.Resume, plan.Rewind:
				seen.begun = d.Prompt.Begun
			}
			return seen, true
		}
		seen.way = append(seen.way, d)
		follow(&s, d)
	}
	seen.prompt = "the plan never comes to a step"
	return seen, true
}

// clone copies what follow changes.
func clone(s plan.State) plan.State {
	s.Prompts, s.Questions = slices.Clone(s.Prompts), slices.Clone(s.Questions)
	return s
}

// follow makes the changes of a decision.
func follow(s *plan.State, d plan.Decision) {
	switch l := d.Line.(type) {
	case plan.Defer:
		for id, turn := range s.Transcript.Turns {
			for _, q := range s.Questions {
				if q.ID == l.Question && slices.Contains(turn.Open, q.Call) {
					turn.Standing, turn.Open = plan.Deferred, []string{q.Call}
					s.Transcript.Turns[id] = turn
				}
			}
		}
	case plan.Note:
		for _, id := range l.Calls {
			s.Transcript.Noted[id] = true
		}
		for id, turn := range s.Transcript.Turns {
			turn.Noted = turn.Noted || len(turn.Open) > 0
			s.Transcript.Turns[id] = turn
		}
	}
	for _, c := range d.Changes {
		switch c := c.(type) {
		case plan.End:
			s.Prompts = slices.DeleteFunc(s.Prompts, func(p plan.Prompt) bool { return p.ID == c.Prompt })
			s.Outcomes[c.Prompt] = c.As
		case plan.Settle:
			over(s, c.Question)
		case plan.Withdraw:
			over(s, c.Question)
		case plan.Wait:
			for i := range s.Prompts {
				if p := &s.Prompts[i]; p.ID == c.Prompt {
					p.Question, p.Begun, p.Resets = c.Question, 0, 0
				}
			}
		case plan.Stick:
			s.Conversation.Stuck = c.Prompt
		case plan.Free:
			s.Conversation.Stuck = ""
		case plan.Settled:
			s.Conversation.Unsettled = false
		case plan.Keep:
			s.Calls = append(s.Calls, c.Calls...)
		}
	}
}

func over(s *plan.State, question string) {
	for i := range s.Questions {
		if s.Questions[i].ID == question {
			s.Questions[i].Stage = plan.Over
		}
	}
}

// state reads all that is stored of the conversation.
func (x *shadow) state(ctx context.Context) (s plan.State, err error) {
	key := x.w.c.key
	rec, err := x.raw.records.read(ctx, key)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return s, err
	}
	s.Conversation = plan.Conversation{Deleted: !rec.Deleted.IsZero(), Unsettled: rec.Unsettled != "" && x.w.session == nil}
	if rec.Stuck != nil {
		s.Conversation.Stuck = rec.Stuck.Prompt
	}
	spent := x.w.budgets.budget(ctx, &rec)
	if errors.Is(spent, errUncounted) { // the sums of the day are read from the store with faults
		return s, spent
	}
	s.Conversation.Overspent = spent != nil
	if s.Questions, err = x.questions(ctx); err != nil {
		return s, err
	}
	t, err := x.raw.asked.transcript(ctx, rec.Session)
	if err != nil {
		return s, err
	}
	s.Outcomes = make(map[string]plan.Outcome)
	s.Transcript = plan.Facts{Turns: make(map[string]plan.Turn), Noted: make(map[string]bool)}
	if s.Transcript.Calls, err = results(ctx, t); err != nil {
		return s, err
	}
	for p, err := range x.raw.records.pending(ctx, key) {
		if err != nil {
			return s, err
		}
		s.Prompts = append(s.Prompts, plan.Prompt{
			ID: p.ID, Sent: p.Sent, Given: x.w.given(p.ID), Steer: p.Steer, Rewind: p.Rewind != nil,
			Cancelled: !p.Cancelled.IsZero(), Interrupted: !p.Interrupted.IsZero() || x.w.wasInterrupted(p),
			Begun: p.Begun, Resets: p.Resets, Since: p.Since, Question: p.Question,
			Lost: x.w.lostLease(p), Losses: p.Losses,
		})
		turn := plan.Turn{Of: p.ID}
		if t != nil && p.Sent {
			if turn, err = x.turn(ctx, t, p.ID); err != nil {
				return s, err
			}
			s.Transcript.Turns[p.ID] = turn
		}
		for _, id := range []string{p.ID, turn.Of} {
			if err := x.outcome(ctx, id, s.Outcomes); err != nil {
				return s, err
			}
		}
	}
	return s, x.calls(ctx, &rec, &s)
}

// outcome adds the outcome of a prompt, if it has one.
func (x *shadow) outcome(ctx context.Context, id string, all map[string]plan.Outcome) error {
	o, ended, err := x.raw.records.outcome(ctx, x.w.c.key, id)
	if err != nil || !ended {
		return err
	}
	all[id] = map[PromptStatus]plan.Outcome{PromptAnswered: plan.Answered, PromptFailed: plan.Failed, PromptCancelled: plan.Cancelled, PromptExpired: plan.Expired}[o.Status]
	if o.Interrupted {
		all[id] = plan.Interrupted
	}
	return nil
}

func (x *shadow) questions(ctx context.Context) (all []plan.Question, err error) {
	for q, err := range x.raw.inbox.List(ctx, approval.Filter{Conversation: x.w.c.key}) {
		if err != nil {
			return nil, err
		}
		stage, waits := map[approval.State]plan.Stage{approval.StateOpen: plan.Open, approval.StateDecided: plan.Decided, approval.StateReleased: plan.Released}[q.State]
		if !waits {
			stage = plan.Over
		}
		all = append(all, plan.Question{
			ID: q.ID, Call: q.ToolUseID, Stage: stage,
			Overdue: q.State == approval.StateGone && q.Outcome == approval.OutcomeExpired, Aside: q.Tool == approval.ElicitationTool, Holds: q.HoldsProcess,
		})
	}
	return all, nil
}

// turn is how far the transcript has come with a prompt.
func (x *shadow) turn(ctx context.Context, t *history.Transcript, id string) (turn plan.Turn, err error) {
	state, open := t.PromptState(id)
	turn.Standing = map[history.PromptState]plan.Standing{
		history.PromptUnseen: plan.Unseen, history.PromptCut: plan.Cut, history.PromptDeferred: plan.Deferred, history.PromptAnswered: plan.Done,
	}[state]
	turn.Open = open
	if turn.Of, err = turnOfPrompt(ctx, t, id); err != nil {
		return turn, err
	}
	if turn.Last, err = lastProgress(ctx, t, id); err != nil {
		return turn, err
	}
	turn.Noted, err = isBehindNote(t.Entries(ctx), open)
	return turn, err
}

// results returns the calls of a transcript, and how they ended.
func results(ctx context.Context, t *history.Transcript) (map[string]plan.Result, error) {
	all, err := callsIn(ctx, func() (*history.Transcript, error) { return t, nil })
	made := make(map[string]plan.Result, len(all))
	for id, o := range all {
		made[id] = map[approval.Outcome]plan.Result{approval.OutcomeRan: plan.Ran, approval.OutcomeFailed: plan.Refused}[o]
	}
	return made, err
}

// calls adds the calls that were let go, and those of them that the model can read
// about.
func (x *shadow) calls(ctx context.Context, rec *record, s *plan.State) error {
	all, err := x.raw.records.readCalls(ctx, x.w.c.key, new(calls))
	if err != nil {
		return err
	}
	for _, c := range all {
		s.Calls = append(s.Calls, c.ID)
	}
	for _, q := range s.Questions {
		if q.Stage == plan.Released && !q.Aside && !slices.Contains(s.Calls, q.Call) {
			all = append(all, calledTool{ID: q.Call})
		}
	}
	lost := all
	sessions := rec.sessions()
	for _, session := range sessions[max(0, len(sessions)-2):] {
		k := store.Key{Project: x.raw.opts.Project, Session: session}
		if lost, err = unknownIn(store.Entries(ctx, x.raw.store, k), lost); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	for _, c := range all {
		if !slices.ContainsFunc(lost, func(l calledTool) bool { return l.ID == c.ID }) {
			s.Transcript.Noted[c.ID] = true
		}
	}
	return nil
}
