package intake

import (
	"slices"

	"github.com/claude-agent-go/claude/message"
)

// State describes the prompts that a CLI was given. P is the fleet's own record of a prompt. The
// zero value is for a CLI that was given nothing and may be given prompts. Its methods must not run
// at the same time.
type State[P any] struct {
	shut  bool         // nothing more may be given
	given map[string]P // by id, without an outcome
	taken []string     // of them, those that a turn answers
	used  map[string]bool
}

// Open lets a turn be steered.
func (s *State[P]) Open() { s.shut = false }

// Shut keeps the CLI from getting more: a call is about to be deferred, which a prompt
// would make it give up.
func (s *State[P]) Shut() { s.shut = true }

// HasRoom reports whether the CLI may get another prompt now.
func (s *State[P]) HasRoom() bool { return !s.shut && len(s.given) == len(s.taken) }

// Use reserves an id, before the prompt is recorded as sent. It returns false if this CLI
// has had it.
func (s *State[P]) Use(id string) bool {
	if s.used[id] {
		return false
	}
	if s.used == nil {
		s.used = make(map[string]bool)
	}
	s.used[id] = true
	return true
}

// Used reports whether this CLI must not be given an id again.
func (s *State[P]) Used(id string) bool { return s.used[id] }

// Give notes a prompt that is about to be written to the CLI, whose frames may name it
// before the write returns.
func (s *State[P]) Give(id string, p P) {
	if s.given == nil {
		s.given = make(map[string]P)
	}
	s.given[id] = p
}

// On takes in a frame of the CLI. It reports whether there is room again.
func (s *State[P]) On(m message.Message) (room bool) {
	l, ok := m.(*message.CommandLifecycle)
	if !ok || l.State != message.CommandStarted || !s.Has(l.CommandUUID) || slices.Contains(s.taken, l.CommandUUID) {
		return false
	}
	s.taken = append(s.taken, l.CommandUUID)
	return true
}

// Forget removes a prompt that has its outcome, or was taken back.
func (s *State[P]) Forget(id string) {
	delete(s.given, id)
	s.taken = slices.DeleteFunc(s.taken, func(other string) bool { return other == id })
}

// Has reports whether the CLI was given a prompt that has no outcome.
func (s *State[P]) Has(id string) bool {
	_, ok := s.given[id]
	return ok
}

// HasAny reports whether the CLI was given any such prompt.
func (s *State[P]) HasAny() bool { return len(s.given) > 0 }

// Prompt returns a prompt that the CLI was given.
func (s *State[P]) Prompt(id string) (p P, ok bool) {
	p, ok = s.given[id]
	return p, ok
}

// Given returns the ids of all prompts without an outcome, in order.
func (s *State[P]) Given() []string {
	ids := make([]string, 0, len(s.given))
	for id := range s.given {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Taken returns the prompts that a turn answers, in the order in which it took them.
func (s *State[P]) Taken() []string { return slices.Clone(s.taken) }

// Turn returns the prompt whose turn a result ends, if it is one that the CLI was given:
// the first of those that it names.
func (s *State[P]) Turn(r *message.Result) string {
	if i := slices.IndexFunc(r.Prompts, s.Has); i >= 0 {
		return r.Prompts[i]
	}
	return ""
}

// Answered returns the given prompts that a result answers, except one.
func (s *State[P]) Answered(r *message.Result, but string) (ids []string) {
	for _, id := range r.Prompts {
		if id != but && s.Has(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
