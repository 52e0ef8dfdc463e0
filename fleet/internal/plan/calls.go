package plan

import "slices"

// A call is known before it begins: its line is in the transcript, or it is on record,
// or it has a question that was released. If a call is not in the transcript, the model
// must learn about it before it can make it again.

// lost returns the calls that were let go and that the model cannot read about.
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

// keepLost puts lost calls on record that only their questions have. The model may read
// about them with a later prompt, and the questions end before that. While a CLI of
// this owner works on a turn, its calls are not lost.
func (s *State) keepLost() (Decision, bool) {
	if slices.ContainsFunc(s.Prompts, func(p Prompt) bool { return p.Given }) {
		return Decision{}, false
	}
	lost := slices.DeleteFunc(s.lost(), func(id string) bool { return slices.Contains(s.Calls, id) })
	return changes(Keep{lost}), len(lost) > 0
}

// settle ends the questions about calls that a process which is gone has let go or
// asked about. Calls whose results are in the transcript end as it shows. The outcome
// of any other call that was let go is unknown. A call that is not in the transcript
// was lost with the process. A deferred call is made again, and the gate settles it.
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

// endQuestions ends all questions: they will not be asked again.
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

// known is the final result of a call: Lost if the transcript has none.
func known(r Result) Result {
	if r == None {
		return Lost
	}
	return r
}
