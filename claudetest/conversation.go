package claudetest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// conversations holds the messages of each conversation that a CLI can resume, by its
// id. What was said is never changed, so all share it; it has no room behind its end,
// so that adding to it makes a copy.
type conversations struct {
	mu  sync.Mutex
	all map[string][]ModelMessage
}

func newConversations(ids []string) *conversations {
	c := &conversations{all: make(map[string][]ModelMessage)}
	for _, id := range ids {
		c.all[id] = nil
	}
	return c
}

// find returns the messages of a conversation.
func (c *conversations) find(id string) (said []ModelMessage, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said, ok = c.all[id]
	return said, ok
}

func (c *conversations) keep(id string, said []ModelMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[id] = slices.Clip(said)
}

// refuse ends a CLI that is to resume a conversation it does not know: with a
// result instead of the reply to initialize, and the same on stderr.
func refuse(p *process, id string) int {
	text := "No conversation found with session ID: " + id
	fmt.Fprintln(p.stderr, text)
	line, err := jsonx.Marshal(&message.Result{
		Header:  message.Header{Subtype: message.ResultErrorExecution, SessionID: id},
		IsError: true, Errors: []string{text}, ResultIndex: new(0),
	})
	if err == nil {
		// The client writes before it reads; a CLI that has ended takes that.
		go io.Copy(io.Discard, p.stdin)
		_, _ = p.stdout.Write(append(line, '\n'))
	}
	return 1
}

// said adds a message to the conversation, as the API would see it.
func (a *agent) said(t *host.Turn, role string, content any) {
	raw, err := jsonx.Marshal(content)
	if err != nil {
		raw = json.RawMessage("[]")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages = append(a.messages, ModelMessage{Role: role, Text: textOf(raw), Content: raw})
	if a.conversations != nil {
		a.conversations.keep(t.SessionID(), a.messages)
	}
}

// contentOf is an answer of the model as the API sees it again.
func contentOf(r Reply, calls []host.Call) message.Content {
	var content message.Content
	for _, b := range r.blocks {
		switch b.kind {
		case kindText:
			content = append(content, message.Text(b.text))
		case kindThinking:
			content = append(content, &message.ThinkingBlock{Thinking: b.text})
		case kindToolUse:
			use := &message.ToolUseBlock{Name: b.name, Input: b.input}
			if len(calls) > 0 {
				use.ID, calls = calls[0].ID, calls[1:]
			}
			content = append(content, use)
		}
	}
	return content
}
