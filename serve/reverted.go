package serve

import (
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// RevertedCalls returns the ids of the tool calls whose edits are gone, because files
// were restored to an earlier state. The events are those of a conversation, the oldest
// first. Restoring the files to a later prompt again brings back the edits before it.
func RevertedCalls(events []api.Event) map[string]bool {
	t := rewound{before: make(map[string][]string), asked: make(map[string]int)}
	for i := range events {
		t.take(&events[i])
	}
	lost := make(map[string]bool)
	for _, call := range t.calls {
		lost[call] = true
	}
	for _, call := range t.standing {
		delete(lost, call)
	}
	return lost
}

// rewound tracks the calls whose edits are still in the files.
type rewound struct {
	calls    []string            // all of them
	standing []string            // those whose edits stand
	before   map[string][]string // the edits that stood when a prompt was sent, by its id
	asked    map[string]int      // how many calls there were when a rewind was asked for, by its id
}

func (t *rewound) take(e *api.Event) {
	if e.Type == api.EventNotice && e.Notice.Rewind != nil {
		t.rewind(e.Notice.Rewind)
	}
	if e.Type != api.EventMessage {
		return
	}
	m, _ := message.Decode(e.Message) // an unreadable message changes nothing
	user, ok := m.(*message.User)
	if !ok {
		return
	}
	for _, r := range user.ToolResults() {
		t.calls = append(t.calls, r.ToolUseID)
		t.standing = append(t.standing, r.ToolUseID)
	}
	if _, known := t.before[user.UUID]; !known && user.Text() != "" {
		t.before[user.UUID] = t.standing[:len(t.standing):len(t.standing)]
	}
}

// rewind takes back the edits since a prompt. The notice that it is done may come late,
// after the death of the process that did it: edits made since it was asked for stand.
func (t *rewound) rewind(n *api.RewindNote) {
	since, known := t.asked[n.ID]
	if !known {
		since = len(t.calls)
		t.asked[n.ID] = since
	}
	if n.Done && since != over {
		t.standing = append(t.before[n.Message], t.calls[since:]...)
		t.asked[n.ID] = over
	}
}

// over marks a finished rewind: a second notice changes nothing.
const over = -1
