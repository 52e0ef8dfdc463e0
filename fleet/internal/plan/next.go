package plan

import "slices"

// Next decides the next action of the owner of a conversation.
func Next(s State, r Rules) Decision {
	if s.Conversation.Deleted {
		return Decision{Step: Erase}
	}
	if s.isStuck() && !slices.ContainsFunc(s.Prompts, Prompt.isCancelled) {
		return Decision{Step: Sleep}
	}
	if s.Brief && s.needsTurns() {
		return Decision{Step: Read}
	}
	if d, ok := s.keepLost(); ok { // before the questions about them end
		return d
	}
	if slices.ContainsFunc(s.Prompts, Prompt.isCancelled) { // it was decided before anything else
		return s.endCancelled()
	}
	if s.Conversation.Stuck != "" { // at a prompt that is gone, or about to end
		return changes(Free{})
	}
	begun := func(p Prompt) bool { return p.Sent }
	if s.Conversation.Unsettled && !slices.ContainsFunc(s.Prompts, begun) {
		return changes(append(s.endQuestions(), Settled{})...)
	}
	return s.choose(r)
}

// isStuck reports whether the conversation was given up at a prompt that is still to
// be answered.
func (s *State) isStuck() bool {
	return slices.ContainsFunc(s.Prompts, func(p Prompt) bool { return p.ID == s.Conversation.Stuck && !p.Interrupted })
}

// needsTurns reports whether the records alone are not enough: a process that is gone
// may have begun something.
func (s *State) needsTurns() bool {
	left := func(p Prompt) bool { return p.Sent && !p.Rewind && (!p.Given || p.Cancelled) }
	return s.Conversation.Unsettled || slices.ContainsFunc(s.Prompts, left)
}

// choose finds the prompt that comes next. One that a CLI has begun is ended before
// another is sent: after a crash that may be one that was to steer a turn, while an
// older one has never reached its CLI.
func (s *State) choose(r Rules) Decision {
	var unseen *Decision
	for _, p := range s.ordered() {
		if unseen != nil && !p.Sent {
			break
		}
		d := s.stand(p, r)
		if p.Sent && d.Step == Send {
			if unseen == nil {
				unseen = &d
			}
			continue
		}
		return s.begin(d, r)
	}
	if unseen != nil {
		return s.begin(*unseen, r)
	}
	return Decision{Step: Sleep}
}

// ordered returns the queue: first prompts that a CLI may have seen, then those that
// steer, then the others as they came.
func (s *State) ordered() []Prompt {
	rank := func(p Prompt) int {
		switch {
		case p.Sent:
			return 0
		case p.Steer:
			return 1
		}
		return 2
	}
	all := slices.Clone(s.Prompts)
	slices.SortStableFunc(all, func(a, b Prompt) int { return rank(a) - rank(b) })
	return all
}

// begin gives up a conversation whose prompt has begun too often. Otherwise the attempt
// is counted before it begins, so that a prompt which kills its process is eventually
// given up.
func (s *State) begin(d Decision, r Rules) Decision {
	if d.Line != nil || d.Changes != nil {
		return d
	}
	switch d.Step {
	case Send, Finish, Resume, Rewind:
		if d.Prompt.Begun >= r.Attempts {
			return changes(Stick{d.Prompt.ID})
		}
		d.Prompt.Begun++
		d.Prompt.Sent, d.Prompt.Question = true, ""
	}
	return d
}

// stand decides about one prompt.
func (s *State) stand(p Prompt, r Rules) Decision {
	if _, ended := s.Outcomes[p.ID]; ended {
		return changes(End{Prompt: p.ID, As: s.Outcomes[p.ID]})
	}
	p = p.forgiven(r)
	switch {
	case p.Rewind && p.Begun >= r.Attempts:
		return changes(End{Prompt: p.ID, As: Failed})
	case p.Rewind:
		return Decision{Step: Rewind, Prompt: p}
	case !p.Sent && p.Interrupted:
		return s.end(p, Interrupted, "")
	case !p.Sent && s.Conversation.Overspent:
		return Decision{Step: Sleep, Prompt: p}
	case !p.Sent:
		return Decision{Step: Send, Prompt: p, Tell: s.lost()}
	case p.Given:
		return Decision{Step: Await, Prompt: p}
	}
	turn := s.Transcript.Turns[p.ID]
	if lost := s.lost(); turn.Standing == Cut && (len(lost) > 0 || turn.Continued) { // even when it was interrupted, for those after it
		return Decision{Line: Note{lost}}
	}
	if p.Interrupted && turn.Standing != Done {
		return s.end(p, Interrupted, "")
	}
	if of := s.Outcomes[turn.Of]; turn.Of != p.ID && of.stops() {
		return changes(End{Prompt: p.ID, As: of, Of: turn.Of})
	}
	if c := s.settle(turn); c != nil {
		return changes(c...)
	}
	p = p.progressed(turn, r)
	switch turn.Standing {
	case Done:
		return changes(End{Prompt: p.ID, As: Answered, Of: turn.Of})
	case Deferred:
		return s.deferred(p, turn)
	case Cut:
		return s.cut(p, turn)
	}
	return Decision{Step: Send, Prompt: p, Tell: s.lost()}
}

// endCancelled ends all prompts that are marked.
func (s *State) endCancelled() Decision {
	var questions, free, all []Change
	for _, p := range s.Prompts {
		if !p.Cancelled {
			continue
		}
		if p.Sent && questions == nil {
			questions = s.endQuestions()
		}
		if s.Conversation.Stuck == p.ID {
			free = []Change{Free{}}
		}
		all = append(all, End{Prompt: p.ID, As: Cancelled})
	}
	return Decision{Changes: slices.Concat(questions, free, all)}
}

// end ends a prompt before its turn does, and with it the questions of the turn, which
// will not be asked again. A conversation that is stuck at it is free.
func (s *State) end(p Prompt, as Outcome, question string) Decision {
	var all []Change
	if p.Sent {
		all = append(all, s.endQuestions()...)
	}
	if s.Conversation.Stuck == p.ID {
		all = append(all, Free{})
	}
	return changes(append(all, End{Prompt: p.ID, As: as, Question: question})...)
}

// forgiven uncounts an attempt that has lost its lease, but only so many times: it may be the
// prompt that keeps its machine too busy to renew a lease.
func (p Prompt) forgiven(r Rules) Prompt {
	if p.Lost && p.Begun > 0 && p.Losses < r.Losses {
		p.Begun, p.Losses = p.Begun-1, p.Losses+1
	}
	p.Lost = false
	return p
}

// progressed restarts the count if the turn has made progress since the last look, but
// only so many times: otherwise a turn that produces one sentence and dies would be
// paid for without end.
func (p Prompt) progressed(turn Turn, r Rules) Prompt {
	if turn.Last == "" || turn.Last == p.Since {
		return p
	}
	p.Since = turn.Last
	if p.Begun > 0 && p.Resets < r.Resets {
		p.Begun, p.Resets = 0, p.Resets+1
	}
	return p
}

// deferred decides about a turn that waits at a call.
func (s *State) deferred(p Prompt, turn Turn) Decision {
	q := s.about(turn.Open)
	var others []Change
	for _, other := range s.Questions {
		if other.waits() && (q == nil || other.ID != q.ID) {
			others = append(others, Withdraw{other.ID})
		}
	}
	switch {
	case others != nil:
		return changes(others...)
	case q != nil && q.Stage == Over && q.Overdue:
		return s.end(p, Expired, q.ID)
	case q == nil:
		return Decision{Step: Finish, Prompt: p}
	case q.Stage != Open:
		return Decision{Step: Finish, Prompt: p, Question: q.ID}
	case p.Question != q.ID || p.Begun != 0:
		return changes(Wait{p.ID, q.ID})
	}
	return Decision{Step: Sleep, Prompt: p}
}

// cut decides about a turn that broke off. If a person was being asked about a call
// that never began, and no other call lacks a result, the call becomes a deferred one.
// Otherwise the CLI continues the turn, and shows the model that the outcome of each
// such call is unknown: a deferral would make it forget the others, some of which may
// have run, and any note that follows them.
func (s *State) cut(p Prompt, turn Turn) Decision {
	if q := s.about(turn.Open); q != nil && q.waits() && !q.Holds && len(turn.Open) == 1 && !turn.Noted {
		return Decision{Line: Defer{q.ID}}
	}
	var all []Change
	for _, q := range s.Questions {
		if q.waits() {
			all = append(all, Withdraw{q.ID})
		}
	}
	if all != nil {
		return changes(all...)
	}
	return Decision{Step: Resume, Prompt: p}
}

// about returns the question about one of the calls, nil if no person was asked.
func (s *State) about(calls []string) (found *Question) {
	for i, q := range s.Questions {
		if slices.Contains(calls, q.Call) && (found == nil || q.waits()) {
			found = &s.Questions[i]
		}
	}
	return found
}

func changes(all ...Change) Decision { return Decision{Changes: all} }
