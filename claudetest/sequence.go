package claudetest

import (
	"slices"
	"strings"
	"sync"
)

// sequence is a script of replies, one for each call of a conversation.
type sequence struct {
	mu      sync.Mutex
	replies []Reply
	rest    Reply // when they are used up
}

func newSequence(replies []Reply) *sequence {
	return &sequence{replies: slices.Clone(replies), rest: Say(DefaultText)}
}

func (s *sequence) next() Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.replies) == 0 || s.rest.forever {
		return s.rest
	}
	reply := s.replies[0]
	s.replies = s.replies[1:]
	if reply.forever {
		s.rest = reply
	}
	return reply
}

func (s *sequence) add(replies []Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

func (s *sequence) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.replies)
}

// firstPrompt returns the prompt that began a conversation or started a subagent.
func firstPrompt(c *ModelCall) string {
	for _, m := range c.Messages {
		if m.Role == "user" {
			return strings.TrimSpace(reminder.ReplaceAllString(m.Text, ""))
		}
	}
	return ""
}
