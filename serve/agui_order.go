package serve

import (
	"slices"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// answerOrder holds back the live text of an answer until the transcript has the
// previous answer and the results of its calls. The CLI writes these lines a moment
// after the next answer has begun to stream; a result in the midst of that text would
// be a message within a message. If what it waits for never comes, the text is shown
// once it is in the transcript itself. The zero value is ready.
type answerOrder struct {
	before  map[string]string // the answer before each one that was seen live
	last    string            // the answer of the model's last line
	over    string            // the answer that a line of the user followed
	calls   map[string]string // calls without a result, and the answers they belong to
	waiting []api.Block
}

// expect notes which answer comes before one that is being written.
func (o *answerOrder) expect(e *eventlog.Event) {
	answer := ""
	switch {
	case e.Before == "":
		return
	case e.Delta != nil:
		answer = e.Delta.Message
	case len(e.Partial) > 0:
		answer = e.Partial[0].Message
	}
	if o.before[answer] == "" {
		o.before = map[string]string{answer: e.Before} // only one is being written
	}
}

// heard takes a line of the transcript.
func (o *answerOrder) heard(m message.Message) {
	switch m := m.(type) {
	case *message.Assistant:
		o.last = m.ID
		for _, block := range m.Content {
			if call, ok := block.(*message.ToolUseBlock); ok {
				if o.calls == nil {
					o.calls = make(map[string]string)
				}
				o.calls[call.ID] = m.ID
			}
		}
	case *message.User:
		o.over = o.last
		for _, r := range m.ToolResults() {
			delete(o.calls, r.ToolUseID)
		}
	}
}

// hold keeps a block for later if its answer is not ready, and reports whether it did.
func (o *answerOrder) hold(b api.Block) bool {
	if o.ready(b.Message) {
		return false
	}
	if held := o.held(b.Message, b.Block); held != nil {
		*held = b
	} else {
		o.waiting = append(o.waiting, b)
	}
	return true
}

// held returns a block that is held back, nil if it is not.
func (o *answerOrder) held(answer string, block int) *api.Block {
	i := slices.IndexFunc(o.waiting, func(b api.Block) bool { return b.Message == answer && b.Block == block })
	if i < 0 {
		return nil
	}
	return &o.waiting[i]
}

// ready reports whether everything that precedes an answer is there.
func (o *answerOrder) ready(answer string) bool {
	before := o.before[answer]
	if before == "" || o.last == answer {
		return true
	}
	for _, of := range o.calls {
		if of == before {
			return false
		}
	}
	return o.over == before
}

// release returns the blocks that need not wait any longer.
func (o *answerOrder) release() []api.Block {
	var free []api.Block
	o.waiting = slices.DeleteFunc(o.waiting, func(b api.Block) bool {
		ready := o.ready(b.Message)
		if ready {
			free = append(free, b)
		}
		return ready
	})
	return free
}
