package eventlog

import (
	"strconv"
	"sync"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
)

// Event is an event with what the log knows about it and clients do not see.
type Event struct {
	api.Event
	cursor string // where the message is in the transcript
	frame  *frame // shared by all readers of a new event, nil otherwise
	Before string // of live text: the model's previous message
}

// place identifies the message of an event in the transcript.
func (e *Event) place() string { return fleet.Cursor(e.cursor).ID() }

// frame is an encoded event. It is made once, however many clients read the
// conversation.
type frame struct {
	once sync.Once
	text []byte
	err  error
}

// Encode returns the event as it is sent. Only durable events have an id, because a
// browser resumes after the last id that it saw.
func (e *Event) Encode() ([]byte, error) {
	if e.frame == nil {
		return appendEvent(nil, &e.Event)
	}
	e.frame.once.Do(func() { e.frame.text, e.frame.err = appendEvent(nil, &e.Event) })
	return e.frame.text, e.frame.err
}

// WithHTML returns the event with its message as HTML, for one reader.
func (e *Event) WithHTML(html string) *Event {
	own := *e
	own.HTML, own.frame = html, nil
	return &own
}

// appendEvent appends an event as a stream writes it.
func appendEvent(b []byte, e *api.Event) ([]byte, error) {
	data, err := jsonx.Marshal(e)
	if err != nil {
		return nil, err
	}
	b = append(b, "event: "+string(e.Type)+"\n"...)
	if e.Seq > 0 {
		b = append(b, "id: "+formatSeq(e.Seq)+"\n"...)
	}
	b = append(b, "data: "...)
	b = append(b, data...) // one line: JSON escapes line breaks
	return append(b, "\n\n"...), nil
}

func formatSeq(n int64) string { return strconv.FormatInt(n, 10) }
