package egress

import (
	"bytes"
	"encoding/json"
	"mime"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/price"
	"github.com/claude-agent-go/claude/message"
)

const (
	// maxEvent is how long a line of a stream may be that is looked into. Lines with
	// counts are short; those with the results of a search are not.
	maxEvent = 1 << 20
	// maxWhole is how long an answer may be that is not a stream.
	maxWhole = 16 << 20
	// bytesPerToken is the least size of an average token, for answers whose count the
	// API did not send.
	bytesPerToken = 4
	// mostTokens is more than any answer has. A larger count is not believed.
	mostTokens = 1 << 30
)

// meter reads the counts of an answer as it passes. It keeps one line at most.
type meter struct {
	stream bool // server-sent events, else one JSON object
	model  string
	usage  message.Usage
	// began: the input is known. ended: all of it is.
	began, ended bool
	// lost: something that has counts could not be read.
	lost bool
	// written is how many bytes of events were not counts. It bounds the output of an
	// answer that was cut.
	written int

	line []byte
	long bool // the line is longer than what is kept of it
}

// newMeter returns the meter for an answer with these headers.
func newMeter(contentType, contentEncoding string) *meter {
	kind, _, err := mime.ParseMediaType(contentType)
	m := &meter{stream: kind == "text/event-stream"}
	m.lost = err != nil || contentEncoding != "" && contentEncoding != "identity" || !m.stream && kind != "application/json"
	return m
}

// take reads the next piece of the answer.
func (m *meter) take(piece []byte) {
	if !m.stream {
		m.keep(piece, maxWhole)
		return
	}
	for {
		line, rest, whole := bytes.Cut(piece, []byte{'\n'})
		m.keep(line, maxEvent)
		if !whole {
			return
		}
		m.endLine()
		piece = rest
	}
}

func (m *meter) keep(piece []byte, most int) {
	if room := most - len(m.line); len(piece) > room {
		m.long = true
		m.written += len(piece) - room
		piece = piece[:room]
	}
	m.line = append(m.line, piece...)
}

// end is called when the answer has ended.
func (m *meter) end() {
	if m.stream {
		m.endLine()
		return
	}
	var whole struct {
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	}
	if m.long || jsonx.Unmarshal(m.line, &whole) != nil || !jsonx.Present(whole.Usage) {
		m.lost = true
		return
	}
	m.began, m.ended, m.model = true, true, whole.Model
	m.count(whole.Usage)
}

// endLine looks at a whole line of a stream.
func (m *meter) endLine() {
	line, long := m.line, m.long
	m.line, m.long = m.line[:0], false
	data, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("data:"))
	if !ok {
		return
	}
	if !bytes.Contains(data, []byte(`"usage"`)) && !bytes.Contains(data, []byte("message_stop")) {
		m.written += len(data)
		return
	}
	if long {
		head := data[:min(len(data), 200)]
		m.lost = m.lost || bytes.Contains(head, []byte("message_start")) || bytes.Contains(head, []byte("message_delta"))
		m.written += len(data)
		return
	}
	var event struct {
		Type    string `json:"type"`
		Message struct {
			Model string          `json:"model"`
			Usage json.RawMessage `json:"usage"`
		} `json:"message"`
		Usage json.RawMessage `json:"usage"`
	}
	if err := jsonx.Unmarshal(bytes.TrimSpace(data), &event); err != nil {
		m.lost = true
		return
	}
	switch event.Type {
	case "message_start":
		m.began, m.model = true, event.Message.Model
		m.lost = m.lost || !jsonx.Present(event.Message.Usage)
		m.count(event.Message.Usage)
	case "message_delta":
		m.count(event.Usage)
	case "message_stop":
		m.ended = true
	default: // a text that speaks of usage
		m.written += len(data)
	}
}

// count takes in counts. They count the whole answer so far, so they only grow.
func (m *meter) count(counts []byte) {
	var u message.Usage
	if !jsonx.Present(counts) {
		return
	}
	if err := jsonx.Unmarshal(counts, &u); err != nil {
		m.lost = true
	}
	for _, n := range [...]struct {
		sum  *int
		more int
	}{
		{&m.usage.InputTokens, u.InputTokens},
		{&m.usage.OutputTokens, u.OutputTokens},
		{&m.usage.CacheCreationInputTokens, u.CacheCreationInputTokens},
		{&m.usage.CacheReadInputTokens, u.CacheReadInputTokens},
		{&m.usage.CacheCreation.Ephemeral1hInputTokens, u.CacheCreation.Ephemeral1hInputTokens},
		{&m.usage.CacheCreation.Ephemeral5mInputTokens, u.CacheCreation.Ephemeral5mInputTokens},
		{&m.usage.ServerToolUse.WebSearchRequests, u.ServerToolUse.WebSearchRequests},
	} {
		if n.more < 0 || n.more > mostTokens {
			m.lost = true
			continue
		}
		*n.sum = max(*n.sum, n.more)
	}
	if u.Speed != "" {
		m.usage.Speed = u.Speed
	}
	if u.InferenceGeo != "" {
		m.usage.InferenceGeo = u.InferenceGeo
	}
}

// spent returns the usage of the answer. It is not known if the counts could not be read.
func (m *meter) spent() (u message.Usage, known bool) {
	if m.lost || !m.began {
		return message.Usage{}, false
	}
	u = m.usage
	if !m.ended { // what was written is paid for, though nothing has said how much it was
		u.OutputTokens = max(u.OutputTokens, m.written/bytesPerToken)
	}
	return u, true
}

// ask holds the members of a request that decide about its cost.
type ask struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Speed     string `json:"speed"`
	Stream    bool   `json:"stream"`

	input int // tokens, estimated
}

// readAsk reads the body of a request for an answer. It refuses one that two readers could
// understand differently: the model that is paid for must be the model that was counted.
func readAsk(body []byte) (a ask, err error) {
	members, err := jsonx.Walk(body)
	if err != nil {
		return ask{}, err
	}
	seen := make(map[string]bool)
	for {
		name, value, err := members.Next()
		if err != nil {
			return ask{}, err
		}
		if name == nil {
			break
		}
		var into any
		switch string(name) {
		case "model":
			into = &a.Model
		case "max_tokens":
			into = &a.MaxTokens
		case "speed":
			into = &a.Speed
		case "stream":
			into = &a.Stream
		default:
			continue
		}
		if seen[string(name)] {
			return ask{}, errTwice
		}
		seen[string(name)] = true
		if err := json.Unmarshal(value, into); err != nil {
			return ask{}, err
		}
	}
	a.MaxTokens = min(max(a.MaxTokens, 0), mostTokens)
	a.input = len(body) / bytesPerToken
	return a, nil
}

// usage returns the most that an answer is expected to use.
func (a ask) usage() message.Usage {
	return message.Usage{CacheCreationInputTokens: a.input, OutputTokens: a.MaxTokens, Speed: a.Speed}
}

// taken returns the price if the answer had not begun. A stream begins with its first token,
// but an answer that comes whole is written before it begins, and may be paid for in full.
func (a ask) taken() message.Usage {
	if !a.Stream {
		return a.usage()
	}
	return message.Usage{CacheCreationInputTokens: a.input, Speed: a.Speed}
}

// Price returns the cost of a model's answer in US dollars, or false if it is unknown.
type Price func(model string, u message.Usage) (usd float64, known bool)

// amount returns the cost of an answer. A model that neither p nor the table of this
// module knows costs as much as the dearest one there.
func (p Price) amount(model string, u message.Usage) Amount {
	a := Amount{Tokens: int64(u.InputTokens) + int64(u.OutputTokens) + int64(u.CacheCreationInputTokens) + int64(u.CacheReadInputTokens)}
	if p != nil {
		if usd, known := p(model, u); known {
			a.USD = usd
			return a
		}
	}
	usd, known := price.Of(model, u, message.ModelUsage{})
	if !known {
		for _, other := range price.Models() {
			dear, _ := price.Of(other, u, message.ModelUsage{})
			usd = max(usd, dear)
		}
	}
	a.USD = usd
	return a
}
