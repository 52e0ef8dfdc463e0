package claude

import (
	"fmt"

	"github.com/claude-agent-go/claude/message"
)

// noteRetry keeps what the CLI last said of a call of the API that it repeats,
// until the call gets through. It belongs to the reader of the stream.
func (s *Session) noteRetry(m message.Message) {
	switch m := m.(type) {
	case *message.APIRetry:
		s.retrying = m
	case *message.Assistant, *message.StreamEvent, *message.Result, *message.Init:
		s.retrying = nil
	}
}

// tried adds to what ended the wait for an answer what the CLI was waiting for,
// if that was the API.
func (s *Session) tried(err error) error {
	r := s.retrying
	if r == nil {
		return err
	}
	why := string(r.Error)
	switch {
	case r.ErrorStatus != 0:
		why = fmt.Sprintf("%s, status %d", why, r.ErrorStatus)
	case r.Error == message.AssistantErrorUnknown:
		why = "no answer"
	}
	return fmt.Errorf("%w: the API has failed %d times (%s)", err, r.Attempt, why)
}
