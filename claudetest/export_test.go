package claudetest

// HoldAgents makes the subagents of a script wait with their first answer.
func (s *Script) HoldAgents(release <-chan struct{}) {
	for _, r := range s.Replies {
		for _, b := range r.blocks {
			if len(b.replies) > 0 {
				b.replies[0] = b.replies[0].Hold(release)
			}
		}
	}
}
