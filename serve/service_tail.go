package serve

import (
	"context"

	"github.com/claude-agent-go/claude/serve/api"
)

// Tail is the end of what is kept of a conversation, or of the part before an event.
// It costs the same however long the conversation is.
type Tail struct {
	Events []api.Event // the oldest first
	Last   int64       // the number of the last event of all; Follow continues there
	More   bool        // older events are kept
}

// Tail returns the last events of a conversation whose numbers are less than before, or
// the last of all if before is 0: at most limit of them. It may be called by several
// goroutines.
func (s *Service) Tail(ctx context.Context, u api.User, id string, before int64, limit int) (Tail, error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return Tail{}, problemOf(err)
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return Tail{}, problemOf(err)
	}
	defer release()
	return l.tail(before, limit), nil
}

func (l *eventLog) tail(before int64, limit int) Tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Tail{Last: l.first + int64(len(l.events)) - 1}
	end := len(l.events)
	if before > 0 {
		end = int(min(max(0, before-l.first), int64(end)))
	}
	begin := max(0, end-max(0, limit))
	t.More = begin > 0
	t.Events = make([]api.Event, 0, end-begin)
	for i := begin; i < end; i++ {
		t.Events = append(t.Events, l.events[i].Event)
	}
	return t
}
