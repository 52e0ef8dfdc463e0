package inspect

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude/claudetest"
)

// Kind is the kind of a frame.
type Kind string

// The kinds of frames.
const (
	KindPrompt     Kind = "prompt"     // of the user
	KindAssistant  Kind = "assistant"  // what the model said
	KindTool       Kind = "tool"       // results of tools
	KindResult     Kind = "result"     // the end of a turn
	KindStream     Kind = "stream"     // pieces of an answer
	KindMirror     Kind = "mirror"     // lines of a transcript, for a store
	KindSystem     Kind = "system"     // notices of the CLI
	KindPermission Kind = "permission" // may this tool run?
	KindHook       Kind = "hook"       // calls of hooks
	KindMCP        Kind = "mcp"        // messages to and from MCP servers
	KindControl    Kind = "control"    // other requests, replies, cancels
	KindProcess    Kind = "process"    // command line, end of input, exit
	KindStderr     Kind = "stderr"     // standard error
	KindBroken     Kind = "broken"     // a line that cannot be read
)

// Kinds returns all kinds, in the order in which they are offered.
func Kinds() []Kind {
	return []Kind{KindPrompt, KindAssistant, KindTool, KindPermission, KindHook, KindMCP, KindControl, KindResult, KindStream, KindMirror, KindSystem, KindProcess, KindStderr, KindBroken}
}

// Frame is one line of a recording.
type Frame struct {
	// Line is its number in the file, counted from 1.
	Line int `json:"line"`
	// AtMS is its time in milliseconds since the start.
	AtMS float64        `json:"t_ms"`
	Dir  claudetest.Dir `json:"dir"`
	Kind Kind           `json:"kind"`
	// Type and Subtype are those of the wire; of a control frame the subtype
	// of the request.
	Type    string `json:"type,omitzero"`
	Subtype string `json:"subtype,omitzero"`
	// RequestID is the id of a control frame.
	RequestID string `json:"request_id,omitzero"`
	// Turn is the number of the turn, 0 for none.
	Turn int `json:"turn,omitzero"`
	// Size is the length of the line in the file.
	Size int `json:"size"`
	// Summary is the content of the frame in a line.
	Summary string `json:"summary,omitzero"`
	// Error is an error in the frame, or one that it reports.
	Error string `json:"error,omitzero"`
	// LatencyMS is, of a reply, the time since its request.
	LatencyMS *float64 `json:"latency_ms,omitzero"`
	// Unknown lists the members that the typed decoders do not know.
	Unknown []string `json:"unknown,omitzero"`
	// Msg is the message without secrets, nil for a line that is not JSON.
	Msg json.RawMessage `json:"msg,omitzero"`
	// Text is the beginning of a line that is not JSON.
	Text string `json:"text,omitzero"`

	entries int // of a transcript, in a frame of the mirror
}

// withoutError is the summary, without the error if it ends with that: the error is
// shown behind it.
func (f *Frame) withoutError() string {
	return strings.TrimSpace(strings.TrimSuffix(f.Summary, f.Error))
}

// Problem is something about the recording that deserves a look.
type Problem struct {
	Line int    `json:"line"`
	What string `json:"what"`
}

// Unknown is a type or member that the typed decoders do not know.
type Unknown struct {
	// Name is where it stands, for example "result.safety_stops".
	Name string `json:"name"`
	// From is the side that wrote it.
	From claudetest.Dir `json:"from"`
	// Count is how many frames have it, Line the first of them.
	Count int `json:"count"`
	Line  int `json:"line"`
}
