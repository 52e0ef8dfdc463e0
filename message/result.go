package message

import (
	"encoding/json"
	"reflect"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Result ends a turn. Use Failed to find out whether the turn succeeded: an
// API error arrives with the subtype "success" and IsError set.
type Result struct {
	Header

	IsError bool `json:"is_error"`
	// TerminalReason is why the turn ended. Older CLIs leave it empty.
	TerminalReason TerminalReason `json:"terminal_reason,omitzero"`
	// Text is the final answer ("result" on the wire). Results of an error
	// subtype have Errors instead.
	Text   string   `json:"-"`
	Errors []string `json:"errors,omitzero"`
	// StructuredOutput is the answer in the form of the requested schema, or
	// nil.
	StructuredOutput json.RawMessage `json:"structured_output,omitzero"`
	StopReason       string          `json:"-"`

	// NumTurns counts the agentic turns, as the CLI does: one, and one more for
	// each message after that on the user's side, such as a tool's result. Often
	// that is the number of model calls, but an interrupt counts as well, parallel
	// results count one by one, and the calls of subagents are not included.
	NumTurns int `json:"num_turns"`
	// DurationMS is the time of the whole turn in milliseconds.
	DurationMS int64 `json:"duration_ms"`
	// DurationAPIMS is the time spent in API calls in milliseconds.
	DurationAPIMS int64 `json:"duration_api_ms"`
	// TotalCostUSD is the cost of the session so far. It covers more than the
	// turn, and more than this process: a resumed or forked session starts with
	// its earlier cost. CLIs up to 2.1.0 count from the start of the process.
	// [Spending] separates the two.
	TotalCostUSD float64 `json:"total_cost_usd"`
	// Usage is the usage of the main loop in this turn.
	Usage Usage `json:"usage"`
	// ModelUsage is the usage of each model in the session so far.
	ModelUsage map[string]ModelUsage `json:"modelUsage"`
	// TurnModelUsage is ModelUsage since the previous result.
	TurnModelUsage map[string]ModelUsage `json:"model_usage_since_last_result,omitzero"`

	// PermissionDenials lists the tool calls that were not allowed.
	PermissionDenials []PermissionDenial `json:"permission_denials"`
	// DeferredToolUse is the call that a hook deferred, which ended the turn.
	DeferredToolUse *ToolUseBlock `json:"deferred_tool_use,omitzero"`

	// Prompts are the ids of the user messages that this result answers.
	// Messages merged into one turn share one result. It is empty for a turn
	// that no prompt asked for, and for older CLIs.
	Prompts []string `json:"user_message_uuids,omitzero"`
	// Origin is the cause of the turn, nil if not known.
	Origin *Origin `json:"origin,omitzero"`
	// ResultIndex counts the results of the process from 0, nil for older
	// CLIs.
	ResultIndex *int `json:"result_index,omitzero"`
	// QueuedTurnCount is how many turns wait behind this one.
	QueuedTurnCount int    `json:"queued_turn_count,omitzero"`
	ResumeReason    string `json:"resume_reason,omitzero"`
	// LocalCommand is the slash command that the CLI ran without the model.
	LocalCommand string `json:"local_command,omitzero"`

	// APIErrorStatus is the HTTP status of a failed API call, 0 for none.
	APIErrorStatus int    `json:"api_error_status,omitzero"`
	APIErrorType   string `json:"api_error_type,omitzero"`
	// APIError is the CLI's own name for an API error, usually one without an
	// HTTP status. Retryable interprets it.
	APIError string `json:"api_error,omitzero"`
	// StartupFailureReason is why no turn could run at all.
	StartupFailureReason string `json:"startup_failure_reason,omitzero"`
	// InvalidConfigFile is the configuration file that could not be read.
	InvalidConfigFile *InvalidConfigFile `json:"invalid_config_file,omitzero"`

	FastModeState          string `json:"fast_mode_state,omitzero"`
	FastModeDisabledReason string `json:"fast_mode_disabled_reason,omitzero"`

	// TTFTMS is the time to the first token in milliseconds, or 0 if the turn
	// had none.
	TTFTMS float64 `json:"ttft_ms,omitzero"`
	// TTFTStreamMS is the same, measured on the stream of the API.
	TTFTStreamMS float64 `json:"ttft_stream_ms,omitzero"`
	// TimeToRequestMS is the time before the first API call.
	TimeToRequestMS float64 `json:"time_to_request_ms,omitzero"`
	// FirstContentFrameMS is the time to the first line with content.
	FirstContentFrameMS float64 `json:"first_content_frame_ms,omitzero"`
	// RequestSentWallMS is when the first API call was sent, in milliseconds
	// since 1970. The next two are the input of that call.
	RequestSentWallMS                float64 `json:"request_sent_wall_ms,omitzero"`
	FirstRequestInputTokens          int     `json:"first_request_input_tokens,omitzero"`
	FirstRequestCacheReadInputTokens int     `json:"first_request_cache_read_input_tokens,omitzero"`

	// SubagentStats counts the subagents of the session so far.
	SubagentStats SubagentStats `json:"subagent_stats,omitzero"`
	// SafetyStops counts the answers of the session so far that a safety
	// check cut short.
	SafetyStops int `json:"safety_stops,omitzero"`
}

// SubagentStats counts the subagents of a session. All counts are zero for
// older CLIs.
type SubagentStats struct {
	Spawned int `json:"spawned"`
	// Requested divides Spawned by where the model wanted them to run.
	Requested           SubagentsRequested `json:"requested"`
	StartedInBackground int                `json:"started_in_background"`
	// ByType divides Spawned by the type of agent, nil if there were none.
	ByType map[string]int `json:"by_type"`
	// MaxDepth is how deeply they were nested: 1 for those of the main
	// conversation. SpawnedBySubagents counts those at deeper levels.
	MaxDepth           int              `json:"max_depth"`
	SpawnedBySubagents int              `json:"spawned_by_subagents"`
	Completed          int              `json:"completed"`
	Failed             int              `json:"failed"`
	Killed             SubagentsKilled  `json:"killed"`
	Refused            SubagentsRefused `json:"refused"`
}

// SubagentsRequested is a part of [SubagentStats].
type SubagentsRequested struct {
	Background int `json:"background"`
	Foreground int `json:"foreground"`
	Unset      int `json:"unset"`
}

// SubagentsKilled counts subagents that were stopped, by who stopped them.
type SubagentsKilled struct {
	Parent int `json:"parent"`
	User   int `json:"user"`
	System int `json:"system"`
}

// SubagentsRefused counts subagents that were not started, by the reason.
type SubagentsRefused struct {
	DepthLimit       int `json:"depth_limit"`
	ConcurrencyLimit int `json:"concurrency_limit"`
	Budget           int `json:"budget"`
}

// IsZero reports whether nothing is counted.
func (s SubagentStats) IsZero() bool {
	by := s.ByType
	s.ByType = nil
	return len(by) == 0 && reflect.ValueOf(s).IsZero()
}

// The subtypes of results. The set is open.
const (
	ResultSuccess           = "success"
	ResultErrorExecution    = "error_during_execution"
	ResultErrorMaxTurns     = "error_max_turns"
	ResultErrorMaxBudget    = "error_max_budget_usd"
	ResultErrorMaxStructure = "error_max_structured_output_retries"
)

// TerminalReason is why a turn ended.
type TerminalReason string

// The reasons why a turn ends. The set is open.
const (
	EndCompleted                TerminalReason = "completed"
	EndAbortedStreaming         TerminalReason = "aborted_streaming"
	EndAbortedTools             TerminalReason = "aborted_tools"
	EndAPIError                 TerminalReason = "api_error"
	EndModelError               TerminalReason = "model_error"
	EndImageError               TerminalReason = "image_error"
	EndPromptTooLong            TerminalReason = "prompt_too_long"
	EndBlockingLimit            TerminalReason = "blocking_limit"
	EndRapidRefillBreaker       TerminalReason = "rapid_refill_breaker"
	EndMalformedToolUse         TerminalReason = "malformed_tool_use_exhausted"
	EndStopHookPrevented        TerminalReason = "stop_hook_prevented"
	EndHookStopped              TerminalReason = "hook_stopped"
	EndToolDeferred             TerminalReason = "tool_deferred"
	EndToolDeferredUnavailable  TerminalReason = "tool_deferred_unavailable"
	EndMaxTurns                 TerminalReason = "max_turns"
	EndBudgetExhausted          TerminalReason = "budget_exhausted"
	EndStructuredOutputAttempts TerminalReason = "structured_output_retry_exhausted"
	EndBackgroundRequested      TerminalReason = "background_requested"
	EndTurnSetupFailed          TerminalReason = "turn_setup_failed"
)

// PermissionDenial is a tool call that was not allowed during a turn.
type PermissionDenial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// InvalidConfigFile is a configuration file that kept the CLI from starting.
type InvalidConfigFile struct {
	Path           string `json:"path"`
	IsGlobal       bool   `json:"is_global"`
	BackupSearched bool   `json:"backup_searched"`
	BackupPath     string `json:"backup_path,omitzero"`
}

type resultPlain Result

type resultWire struct {
	resultPlain
	Result     *string `json:"result,omitzero"`
	StopReason *string `json:"stop_reason"`
	Prompt     string  `json:"user_message_uuid,omitzero"`
}

func (m *Result) decode(raw []byte) error {
	var w resultWire
	err := jsonx.Unmarshal(raw, &w)
	*m = Result(w.resultPlain)
	m.Text, m.StopReason = orEmpty(w.Result), orEmpty(w.StopReason)
	m.Prompts = prompts(m.Prompts, w.Prompt)
	m.StructuredOutput = notNull(m.StructuredOutput)
	m.Usage.tidy()
	if len(m.SubagentStats.ByType) == 0 {
		m.SubagentStats.ByType = nil
	}
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *Result) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil. An empty
// subtype is encoded as [ResultSuccess].
func (m Result) MarshalJSON() ([]byte, error) {
	w := resultWire{
		resultPlain: resultPlain(m),
		StopReason:  orNull(m.StopReason),
		Prompt:      last(m.Prompts),
	}
	if m.Text != "" || m.Subtype == "" || m.Subtype == ResultSuccess {
		w.Result = &m.Text
	}
	return encode(&w.Header, typeResult, ResultSuccess, &w)
}
