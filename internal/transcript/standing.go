package transcript

// Standing is how far a prompt got, as far as the transcript shows.
type Standing int

// The standings of a prompt.
const (
	Unseen   Standing = iota // there is no trace of it
	Answered                 // its turn came to an end
	Deferred                 // a hook put off a call, which waits for a decision
	Cut                      // its turn broke off
)

// Of returns how far a prompt got, and the calls of its turn that have no
// result. A prompt is found by its own id, even if it was sent in mid-turn.
func Of(conversation []*Entry, prompt string) (s Standing, open []string) {
	i := len(conversation) - 1
	for i >= 0 && conversation[i].UUID != prompt && conversation[i].Queued != prompt {
		i--
	}
	if i < 0 || prompt == "" {
		return Unseen, nil
	}
	turn := conversation[i+1:]
	deferred := ""
	var last *Entry
	answered := make(map[string]bool)
	for j := range turn {
		e := turn[j]
		if e.Kind == User && len(e.Results) == 0 && e.Visible() && !e.Summary {
			turn = turn[:j] // the next prompt
			break
		}
		for _, id := range e.Results {
			answered[id] = true
		}
	}
	for j := range turn {
		e := turn[j]
		for _, id := range e.Calls {
			if !answered[id] {
				open = append(open, id)
			}
		}
		if e.Deferred != "" && !answered[e.Deferred] {
			deferred = e.Deferred
		}
		if e.Kind == User || e.Kind == Assistant {
			last = e
		}
	}
	switch {
	case deferred != "":
		return Deferred, open
	case len(open) > 0:
		return Cut, open
	case last != nil && last.Kind == Assistant && last.Final:
		return Answered, nil
	}
	return Cut, nil
}
