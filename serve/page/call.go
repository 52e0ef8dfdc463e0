package page

import (
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// call shows all of a tool call, whose row has room for only a part of its input and
// output. It is plain text, so nothing in it is active, and invisible characters are
// made visible.
func (p *page) call(q *request) error {
	events, _, err := p.service.Log(q.Context(), q.user, q.PathValue("id"))
	if err != nil {
		return err
	}
	text, ok := wholeCall(events, q.PathValue("use"))
	if !ok {
		return p.nothing(q)
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = q.w.Write([]byte(terminal.Clean(text))) // the reader has gone
	return nil
}

// wholeCall returns the input and the output of a call, false if there is no such call.
func wholeCall(events []api.Event, id string) (string, bool) {
	var out strings.Builder
	for i := range events {
		if events[i].Type != api.EventMessage || !strings.Contains(string(events[i].Message), id) {
			continue
		}
		m, _ := message.Decode(events[i].Message) // an unreadable message is not shown
		switch m := m.(type) {
		case *message.Assistant:
			for _, block := range m.Content {
				if use, ok := block.(*message.ToolUseBlock); ok && use.ID == id {
					fmt.Fprintf(&out, "%s\n\n%s\n", use.Name, pretty(use.Input))
				}
			}
		case *message.User:
			for _, r := range m.ToolResults() {
				if r.ToolUseID == id {
					fmt.Fprintf(&out, "\n----------\n\n%s\n", r.Content.Text())
				}
			}
		}
	}
	return out.String(), out.Len() > 0
}
