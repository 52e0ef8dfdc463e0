package fleet

// startedAgents counts calls that may have started an agent that is not in the
// transcript, because the machine died before a line of it was stored. All others have
// transcripts of their own, which a session counts.
func startedAgents(untold []calledTool) (n int) {
	for _, c := range untold {
		if c.Tool == "Agent" || c.Tool == "Task" {
			n++
		}
	}
	return n
}
