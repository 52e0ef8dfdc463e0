package fleet

import "slices"

// Fresh marks a prompt as one whose id Send has made, so that no other sender has it.
func Fresh(p Prompt) Prompt {
	p.fresh = true
	return p
}

// Resting returns the keys of the conversations that are between two turns here.
func (f *Fleet) Resting() (keys []string) {
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	for key, c := range f.roster.active {
		if c.takesOffers() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Turn returns the prompt whose turn a conversation works on here, "" if there is none.
func (f *Fleet) Turn(key string) string {
	if t := f.roster.turnOf(key); t != nil {
		return t.prompt
	}
	return ""
}
