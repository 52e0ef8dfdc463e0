package inspect

import (
	"github.com/claude-agent-go/claude/message"
)

// Report is the content of a recording, for people and programs.
type Report struct {
	// Title is that of the session, or else its first prompt.
	Title string `json:"title,omitzero"`
	// Source names the recording.
	Source  string  `json:"source,omitzero"`
	Summary Summary `json:"summary"`

	Turns     []*Turn     `json:"turns"`
	Exchanges []*Exchange `json:"exchanges"`
	Findings  []Finding   `json:"findings"`
	Problems  []Problem   `json:"problems"`
	Unknown   []Unknown   `json:"unknown"`
	Frames    []*Frame    `json:"frames"`
	// Changed are members that the decoders know and that come out of them in
	// another form, nil unless requested: see [Options].
	Changed []Unknown `json:"changed,omitzero"`

	// Hidden is how many frames a filter took out.
	Hidden int `json:"frames_hidden,omitzero"`
	// Unredacted is true if secrets were not hidden.
	Unredacted bool `json:"unredacted,omitzero"`
}

// Summary has the totals.
type Summary struct {
	Lines      int     `json:"lines"`
	Bytes      int64   `json:"bytes"`
	DurationMS float64 `json:"duration_ms"`

	// Args is the command line, as far as it was recorded.
	Args []string `json:"argv,omitzero"`
	// ExitCode is nil when the recording does not tell.
	ExitCode *int `json:"exit_code,omitzero"`
	// Exit describes how the process ended, even where there is no code.
	Exit string `json:"exit,omitzero"`
	// ModelNames are all models that were named, the first one first.
	ModelNames []string `json:"model_names,omitzero"`
	// Version, Model, Cwd and SessionID are the CLI's own.
	Version   string `json:"version,omitzero"`
	Model     string `json:"model,omitzero"`
	Cwd       string `json:"cwd,omitzero"`
	SessionID string `json:"session_id,omitzero"`

	Turns       int `json:"turns"`
	FailedTurns int `json:"failed_turns"`
	ToolCalls   int `json:"tool_calls"`
	ToolErrors  int `json:"tool_errors"`
	Asked       int `json:"permissions_asked"`
	Denied      int `json:"permissions_denied"`
	Hooks       int `json:"hook_calls"`
	MCPCalls    int `json:"mcp_calls"`
	Interrupts  int `json:"interrupts"`
	Requests    int `json:"requests"`
	Unanswered  int `json:"unanswered"`
	Cancelled   int `json:"cancelled"`
	FailedCalls int `json:"requests_failed"`

	// MirrorFrames are frames that repeat what the CLI has written to its
	// transcripts, for a store, and MirrorEntries the lines in them.
	MirrorFrames  int `json:"mirror_frames,omitzero"`
	MirrorEntries int `json:"mirror_entries,omitzero"`

	// CostUSD, Tokens and AgentTurns are taken from the results.
	CostUSD    float64           `json:"cost_usd"`
	Tokens     Tokens            `json:"tokens"`
	AgentTurns int               `json:"agent_turns"`
	Models     map[string]Tokens `json:"models,omitzero"`
}

// Tokens counts what a turn or a session used.
type Tokens struct {
	Input      int     `json:"input"`
	Output     int     `json:"output"`
	CacheRead  int     `json:"cache_read"`
	CacheWrite int     `json:"cache_write"`
	CostUSD    float64 `json:"cost_usd,omitzero"`
}

func tokensOf(u message.Usage) Tokens {
	return Tokens{Input: int(u.InputTokens), Output: int(u.OutputTokens), CacheRead: int(u.CacheReadInputTokens), CacheWrite: int(u.CacheCreationInputTokens)}
}

// Turn is a stretch of the conversation, from a prompt to its result.
type Turn struct {
	Number int `json:"number"`
	// FromLine and ToLine are the first and last line of it.
	FromLine int     `json:"from_line"`
	ToLine   int     `json:"to_line"`
	FromMS   float64 `json:"from_ms"`
	ToMS     float64 `json:"to_ms"`
	// Ended is true if there is a result, Failed if it is an error.
	Ended  bool `json:"ended"`
	Failed bool `json:"failed"`
	// Outcome is the reason why the turn ended, in the words of the wire.
	Outcome    string  `json:"outcome,omitzero"`
	Answer     string  `json:"answer,omitzero"`
	CostUSD    float64 `json:"cost_usd"`
	Tokens     Tokens  `json:"tokens"`
	AgentTurns int     `json:"agent_turns"`
	// FirstWordMS is the time until the model was first heard, nil if never.
	FirstWordMS *float64 `json:"first_word_ms,omitzero"`
	// Model is when the model itself worked.
	Model []Span  `json:"model_time,omitzero"`
	Items []*Item `json:"items"`
	// Calls are the calls of the model, those of subagents too.
	Calls []*Call `json:"model_calls,omitzero"`

	stopped bool // the user ended it
}

// DurationMS is how long the turn took.
func (t *Turn) DurationMS() float64 { return t.ToMS - t.FromMS }

// interrupted reports whether the user ended the turn.
func (t *Turn) interrupted() bool {
	return t.stopped
}

// ItemKind is the kind of an [Item].
type ItemKind string

// The kinds of items.
const (
	ItemPrompt    ItemKind = "prompt"
	ItemText      ItemKind = "text"
	ItemThinking  ItemKind = "thinking"
	ItemTool      ItemKind = "tool"
	ItemExchange  ItemKind = "exchange"
	ItemNotice    ItemKind = "notice"
	ItemInterrupt ItemKind = "interrupt"
)

// Item is one thing that happened in a turn.
type Item struct {
	Kind ItemKind `json:"kind"`
	Line int      `json:"line"`
	AtMS float64  `json:"t_ms"`
	// Agent is the subagent, "" for the main conversation.
	Agent string `json:"agent,omitzero"`
	Text  string `json:"text,omitzero"`
	// Tool is set for a tool call, Exchange for a request.
	Tool     *Tool     `json:"tool,omitzero"`
	Exchange *Exchange `json:"exchange,omitzero"`
}

// routine reports whether an item is housekeeping that a reader of the
// conversation can do without: handshakes and lists of MCP servers.
func (it *Item) routine() bool {
	return it.Exchange != nil && it.Exchange.Kind == KindMCP && !it.Exchange.Bad()
}
