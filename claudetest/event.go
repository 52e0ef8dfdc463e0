package claudetest

import "encoding/json"

// The shapes of the Messages API that the CLI reads.

type apiMessage struct {
	ID           string     `json:"id"`
	Type         string     `json:"type"`
	Role         string     `json:"role"`
	Model        string     `json:"model"`
	Content      []any      `json:"content"`
	StopReason   *string    `json:"stop_reason"`
	StopSequence *string    `json:"stop_sequence"`
	Usage        ReplyUsage `json:"usage"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type toolUseBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// event is one server-sent event. Its name repeats the type in its data.
type event interface{ name() string }

type messageStart struct {
	Type    string      `json:"type"`
	Message *apiMessage `json:"message"`
}

type blockStart struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Block any    `json:"content_block"`
}

type blockDelta struct {
	Type  string            `json:"type"`
	Index int               `json:"index"`
	Delta map[string]string `json:"delta"`
}

type blockStop struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type messageDelta struct {
	Type  string `json:"type"`
	Delta struct {
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	} `json:"delta"`
	Usage ReplyUsage `json:"usage"`
}

type bareEvent struct {
	Type string `json:"type"`
}

type errorBody struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func newErrorBody(f *failure) errorBody {
	e := errorBody{Type: "error"}
	e.Error.Type, e.Error.Message = f.kind, f.message
	return e
}

func (e messageStart) name() string { return e.Type }
func (e blockStart) name() string   { return e.Type }
func (e blockDelta) name() string   { return e.Type }
func (e blockStop) name() string    { return e.Type }
func (e messageDelta) name() string { return e.Type }
func (e bareEvent) name() string    { return e.Type }
func (e errorBody) name() string    { return e.Type }
