package claudetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/permission"
)

// Reply is the answer of a [Model] to one call. Make it with [Say], [Think],
// [UseTool], [UseTools] or [Fail] and refine it with its methods, each of
// which returns a changed copy:
//
//	claudetest.Say("one moment").With(claudetest.UseTool("Bash", input)).Chunks(8, time.Millisecond)
//
// The zero Reply is empty and ends the turn.
type Reply struct {
	blocks     []block
	stopReason string
	usage      ReplyUsage
	delay      time.Duration
	chunkSize  int
	chunkDelay time.Duration
	hold       <-chan struct{}
	holds      bool
	header     http.Header
	failure    *failure
	ending     ending
	forever    bool
}

// ending is how a streamed reply comes to its end.
type ending int

const (
	endsWhole   ending = iota
	endsCut            // the connection breaks in the middle
	endsInError        // an error event comes in the middle
)

// failure is the body of an error answer or error event.
type failure struct {
	status        int
	kind, message string
}

// block is one content block of the answer.
type block struct {
	kind  string // text, thinking or tool_use
	text  string // of text and thinking
	id    string // of tool_use; empty: made up when it is sent
	name  string
	input json.RawMessage

	replies []Reply // of the subagent that the call starts
	output  any     // of a scripted CLI's tool
	request *permission.Request
}

const (
	kindText     = "text"
	kindThinking = "thinking"
	kindToolUse  = "tool_use"
)

// ReplyUsage is the token count that a reply reports. The zero value means a
// small made-up count.
type ReplyUsage struct {
	InputTokens              int `json:"input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	OutputTokens             int `json:"output_tokens"`
}

var defaultUsage = ReplyUsage{InputTokens: 10, OutputTokens: 5}

// ScriptedCall is one tool call of a [Reply].
type ScriptedCall struct {
	// ID is the id of the call. Empty means an id that is unique in the Model.
	ID string
	// Name is the tool's name; for tools of an MCP server, mcp__server__tool.
	Name string
	// Input is encoded with encoding/json; nil means {}. A json.RawMessage is
	// sent as it is, even if it is not JSON.
	Input any
	// Output is the tool's output if the CLI is also scripted: a text, an error,
	// a [host.ToolOutput], or anything that encodes as JSON. Nil means the
	// script's output for the tool. A real CLI runs the tool.
	Output any
	// Replies are the answers of the subagent that a call of the tool Agent
	// starts, in order, and then [DefaultText]. See [Delegate].
	Replies []Reply
	// Request is sent when a scripted CLI asks for permission, in addition to the
	// tool's name and input, such as a reason or a blocked path.
	Request *permission.Request
}

// Say replies with a text.
func Say(text string) Reply {
	return Reply{blocks: []block{{kind: kindText, text: text}}}
}

// Think replies with thinking and, unless it is empty, a text after it.
func Think(thinking, text string) Reply {
	r := Reply{blocks: []block{{kind: kindThinking, text: thinking}}}
	if text != "" {
		r = r.With(Say(text))
	}
	return r
}

// UseTool calls one tool. See [ScriptedCall] for what input may be.
func UseTool(name string, input any) Reply {
	return UseTools(ScriptedCall{Name: name, Input: input})
}

// Answer gives the typed answer that [claude.AskAs] and Options.OutputSchema
// ask for, by calling the tool that the CLI's model uses for it. A value that
// does not encode as an object is wrapped as [claude.SchemaFor] describes.
// Answer panics if v cannot be encoded.
//
//	cli := claudetest.New(claudetest.Answer(City{Name: "Oslo"}))
//	city, _, err := claude.AskAs[City](ctx, "Where?", &claude.Options{Transport: cli})
func Answer(v any) Reply {
	input := encodeInput(ScriptedCall{Name: answerTool, Input: v})
	if !bytes.HasPrefix(bytes.TrimSpace(input), []byte("{")) || v == nil {
		input = encodeInput(ScriptedCall{Name: answerTool, Input: map[string]any{"value": v}})
	}
	return UseTool(answerTool, input)
}

// answerTool is the tool by which a model gives an answer that has a schema.
const answerTool = "StructuredOutput"

// Delegate starts a subagent of a type, with a prompt and what it will say and
// do. As in the CLI, it works in the background: the next reply is given while
// it works, and another one when it is done, in a separate turn.
//
//	cli := claudetest.New(
//		claudetest.Delegate("general-purpose", "Count the files.",
//			claudetest.UseTool("Glob", map[string]string{"pattern": "*"}),
//			claudetest.Say("There are three."),
//		),
//		claudetest.Say("An agent counts them."),
//		claudetest.Say("There are three files."),
//	)
//
// A [Model] serves the same script to subagents of the real CLI. It recognises
// them by their prompts, so these should differ. For more, such as several at
// once, call the tool Agent with [UseTools] and [ScriptedCall.Replies].
func Delegate(agentType, prompt string, replies ...Reply) Reply {
	return delegate(agentInput{Prompt: prompt, Description: description(prompt), Type: agentType}, replies)
}

// DelegateAndWait is [Delegate] for a subagent in the foreground: its last text
// is the result of the call, and the next reply is given after that.
func DelegateAndWait(agentType, prompt string, replies ...Reply) Reply {
	return delegate(agentInput{prompt, description(prompt), agentType, new(false)}, replies)
}

func delegate(in agentInput, replies []Reply) Reply {
	return UseTools(ScriptedCall{Name: agentTool, Input: in, Replies: replies})
}

// agentInput is the input of the tool that starts a subagent.
type agentInput struct {
	Prompt      string `json:"prompt"`
	Description string `json:"description"`
	Type        string `json:"subagent_type"`
	Background  *bool  `json:"run_in_background,omitempty"`
}

// agentTool starts a subagent. Older versions of the CLI call it Task.
const agentTool = "Agent"

func startsAgent(tool string) bool { return tool == agentTool || tool == "Task" }

// description is a short form of a prompt.
func description(prompt string) string {
	words := strings.Fields(prompt)
	return strings.Join(words[:min(len(words), 5)], " ")
}

// UseTools calls several tools in one reply, which the CLI may run in
// parallel. It panics if an input cannot be encoded.
func UseTools(calls ...ScriptedCall) Reply {
	var r Reply
	for _, c := range calls {
		r.blocks = append(r.blocks, block{
			kind: kindToolUse, id: c.ID, name: c.Name, input: encodeInput(c), output: c.Output, request: c.Request, replies: c.Replies,
		})
	}
	return r
}

func encodeInput(c ScriptedCall) json.RawMessage {
	switch in := c.Input.(type) {
	case nil:
		return json.RawMessage("{}")
	case json.RawMessage:
		return in
	}
	data, err := json.Marshal(c.Input)
	if err != nil {
		panic(fmt.Sprintf("claudetest: input of tool call %s: %v", c.Name, err))
	}
	return data
}

// Fail answers the call with an HTTP error instead of a message, for example
// Fail(529, "overloaded_error", "Overloaded"). Each new attempt of the CLI is
// a call that takes the next reply. The CLI tries again after 401, 429 and 5xx
// with a growing delay. 2.1.325 also retries a 400, with fewer beta features,
// and a 404, without streaming. To make a turn fail, use [Reply.Forever].
func Fail(status int, errorType, message string) Reply {
	return Reply{failure: &failure{status, errorType, message}}
}

// With returns r followed by the content of more, as one message. Everything
// except the content comes from r.
func (r Reply) With(more Reply) Reply {
	r.blocks = slices.Concat(r.blocks, more.blocks)
	return r
}

// Chunks sets how the content is streamed: in pieces of size bytes, rounded to
// whole characters, with a pause after each. A size of 0 means the default,
// about 64 pieces, or fewer of 16 bytes.
func (r Reply) Chunks(size int, pause time.Duration) Reply {
	r.chunkSize, r.chunkDelay = size, pause
	return r
}

// After delays the first byte of the answer.
func (r Reply) After(delay time.Duration) Reply {
	r.delay = delay
	return r
}

// Hold streams the first half of the content, at least one piece, and then
// waits until release is closed or the client goes away; with nil it waits
// only for the client. A call without streaming waits before it is answered.
func (r Reply) Hold(release <-chan struct{}) Reply {
	r.hold, r.holds = release, true
	return r
}

// Cut breaks the connection after the first half of the content.
func (r Reply) Cut() Reply {
	r.ending = endsCut
	return r
}

// CutWith sends an error event after the first half of the content, for
// example CutWith("overloaded_error", "Overloaded"), and nothing more. A call
// without streaming is answered with HTTP status 500 and the same error.
func (r Reply) CutWith(errorType, message string) Reply {
	r.ending = endsInError
	r.failure = &failure{http.StatusInternalServerError, errorType, message}
	return r
}

// Forever also gives this reply to every further call of the script. Replies
// after it are not reached.
func (r Reply) Forever() Reply {
	r.forever = true
	return r
}

// StopReason sets why the model stopped, such as max_tokens. The default is
// tool_use if the reply calls a tool, and end_turn otherwise.
func (r Reply) StopReason(reason string) Reply {
	r.stopReason = reason
	return r
}

// Usage sets the reported token count.
func (r Reply) Usage(u ReplyUsage) Reply {
	r.usage = u
	return r
}

// Header sets a header of the HTTP answer, such as Retry-After.
func (r Reply) Header(key, value string) Reply {
	r.header = maps.Clone(r.header)
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header[http.CanonicalHeaderKey(key)] = []string{value}
	return r
}

func (r Reply) stop() string {
	switch {
	case r.stopReason != "":
		return r.stopReason
	case slices.ContainsFunc(r.blocks, func(b block) bool { return b.kind == kindToolUse }):
		return "tool_use"
	}
	return "end_turn"
}
