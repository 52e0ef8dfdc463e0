package plan

import "slices"

// A call is known before it begins: its line is in the transcript, or it is on record, or
// it has a question that was released. Of a call that the transcript does not have, the
// model must learn before it can make it again.

// lost returns the calls that were let go and that the model cannot read of.
func (s *State) lost() []string {
	lost := slices.Clone(s.Calls)
	for _, q := range s.Questions {
		if q.Stage == Released && !q.Aside && !slices.Contains(lost, q.Call) {
			lost = append(lost, q.Call)
		}
	}
	return slices.DeleteFunc(lost, func(id string) bool {
		_, made := s.Transcript.Calls[id]
		return made || s.Transcript.Noted[id]
	})
}

// unrecorded returns the lost calls that only their questions have.
func (s *State) unrecorded() []string {
	lost := s.lost()
	lost = slices.DeleteFunc(lost, func(id string) bool { return slices.Contains(s.Calls, id) })
	if len(lost) == 0 {
		return nil
	}
	return lost
}

// keepLost lets the lost calls of a turn be told: by a note if the turn will be continued.
// Otherwise they come with the next prompt, and until then must be on record: their
// questions end before that.
func (s *State) keepLost(turn Turn) (Decision, bool) {
	if lost := s.lost(); turn.Standing == Cut && len(lost) > 0 {
		return Decision{Line: Note{lost}}, true
	}
	if lost := s.unrecorded(); lost != nil {
		return changes(Keep{lost}), true
	}
	return Decision{}, false
}

// settle ends the questions about calls that a process which is gone has let go or asked
// about. The transcript shows how those ended whose results it has. Of others that were
// let go nobody knows it. A call that the transcript does not have was lost with the
// process. One that is deferred is made again, and the gate settles it.
func (s *State) settle(turn Turn) (all []Change) {
	for _, q := range s.Questions {
		if q.Stage == Over {
			continue
		}
		result, made := s.Transcript.Calls[q.Call]
		switch {
		case result == None && made && (turn.Standing == Deferred || q.waits()):
		case q.waits():
			all = append(all, Withdraw{q.ID})
		default:
			all = append(all, Settle{q.ID, known(result)})
		}
	}
	return all
}

// endQuestions ends all questions: nobody will ask them again.
func (s *State) endQuestions() (all []Change) {
	for _, q := range s.Questions {
		switch {
		case q.waits():
			all = append(all, Withdraw{q.ID})
		case q.Stage == Released:
			all = append(all, Settle{q.ID, known(s.Transcript.Calls[q.Call])})
		}
	}
	return all
}

// known is what is known of a call that nobody can ask about any more.
func known(r Result) Result {
	if r == None {
		return Lost
	}
	return r
}
