package transcript

// PromptState is how far a prompt got, as far as the transcript shows.
type PromptState int

// The states of a prompt.
const (
	Unseen   PromptState = iota // not in the transcript
	Answered                    // its turn came to an end
	Deferred                    // a hook put off a call, which waits for a decision
	Cut                         // its turn broke off
)

// PromptState returns how far a prompt of a conversation got, and the calls of its
// turn that have no result. A prompt is found by its own id, even if it was sent
// in mid-turn.
func (x *Index) PromptState(conversation []*Entry, prompt string) (s PromptState, open []string) {
	if x.hash == nil {
		return Unseen, nil
	}
	id := x.hash.key([]byte(prompt))
	i := len(conversation) - 1
	for i >= 0 && !x.says(conversation[i], id) {
		i--
	}
	if i < 0 {
		whole := x.Whole(conversation)
		if len(whole) == len(conversation) {
			return Unseen, nil
		}
		return x.PromptState(whole, prompt) // its turn may have been compacted
	}
	turn := conversation[i+1:]
	answered := make(map[mark]bool)
	for j, e := range turn {
		if e.Kind == User && !e.Results() && e.Visible() && !e.Summary() {
			turn = turn[:j] // the next prompt
			break
		}
		for _, r := range x.results(e) {
			answered[r.mark] = true
		}
	}
	deferred := false
	var last *Entry
	for _, e := range turn {
		for _, c := range x.calls(e) {
			if !answered[c.mark] {
				open = append(open, x.text(c))
			}
		}
		if d := x.rests[e.rest].deferred; d != 0 && !answered[d] {
			deferred = true
		}
		if e.Kind == User || e.Kind == Assistant {
			last = e
		}
	}
	switch {
	case deferred:
		return Deferred, open
	case len(open) > 0:
		return Cut, open
	case last != nil && last.has(final|closing): // a structured answer is the result of a tool
		return Answered, nil
	}
	return Cut, nil
}
