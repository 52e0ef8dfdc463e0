package api

import (
	"encoding/json"
	"time"
)

// NewPrompt asks to send a prompt to a conversation.
type NewPrompt struct {
	// ID is a UUID that names the prompt and makes sending it idempotent: one that the
	// conversation already has is not accepted again. Empty: a random one.
	ID string `json:"id,omitzero"`
	// Content is a text, or a list of blocks as in the Messages API.
	Content json.RawMessage `json:"content"`
	// Delivery is "queue" by default: the prompts of a conversation run one
	// after another. "steer" gives the prompt to the running turn, which takes
	// it in with the results of its next tool calls. If no turn does, it
	// becomes the next turn, ahead of the prompts that are waiting.
	Delivery Delivery `json:"delivery,omitzero" enum:"queue,steer"`
}

// Delivery is how a prompt reaches a conversation.
type Delivery string

// The ways in which a prompt can reach a conversation.
const (
	DeliveryQueue Delivery = "queue" // it waits for its turn
	DeliverySteer Delivery = "steer" // the running turn takes it in
)

// Prompt is a prompt of a conversation.
type Prompt struct {
	ID    string      `json:"id"`                                                                          // its id, a UUID
	State PromptState `json:"state" enum:"queued,running,waiting,stuck,answered,failed,cancelled,expired"` // how it stands
	// By is the user who sent it.
	By string `json:"by,omitzero"`
	// Text is its text, truncated if it is very long.
	Text string `json:"text,omitzero"`
	// Approval is the approval that it waits for.
	Approval string `json:"approval,omitzero"`
	// Error explains why there is no answer, or why the conversation is stuck.
	Error string `json:"error,omitzero"`
	// Problem is why the conversation is stuck, if people can fix it on the server.
	Problem Cause `json:"problem,omitzero" enum:"cli-missing,cli-failed,option-refused,options-failed"`
}

// PromptState is the state of a prompt.
type PromptState string

// Done reports whether the prompt has ended: nothing more happens to it.
func (s PromptState) Done() bool {
	switch s {
	case PromptAnswered, PromptFailed, PromptCancelled, PromptExpired:
		return true
	}
	return false
}

// The states of a prompt. The first four are not final.
const (
	PromptQueued    PromptState = "queued"
	PromptRunning   PromptState = "running"
	PromptWaiting   PromptState = "waiting" // for a person
	PromptStuck     PromptState = "stuck"   // no attempt to run it ever ended: retry, or take it back
	PromptAnswered  PromptState = "answered"
	PromptFailed    PromptState = "failed" // its turn ended with an error
	PromptCancelled PromptState = "cancelled"
	PromptExpired   PromptState = "expired" // no one decided in time about a call
)

// Cause is why a conversation is stuck, if people can fix it on the server.
type Cause string

// The causes. The first two are about the machine that runs the conversation, the others
// about the program of the server.
const (
	CauseCLIMissing    Cause = "cli-missing"    // no CLI was found: install it, then retry
	CauseCLIFailed     Cause = "cli-failed"     // the CLI does not start, or ends before its turn does
	CauseOptionRefused Cause = "option-refused" // an option cannot be used: correct it, then retry
	CauseOptionsFailed Cause = "options-failed" // the server could not make the options
)

// Turn is the end of a prompt, and its cost.
type Turn struct {
	Prompt string      `json:"prompt"`                                         // the id of the prompt
	State  PromptState `json:"state" enum:"answered,failed,cancelled,expired"` // how it ended
	Error  string      `json:"error,omitzero"`                                 // why it failed
	// Failure is the kind of that reason in the words of the CLI: the class of an API
	// error, such as authentication_failed, billing_error, rate_limit or overloaded; what
	// else ended the turn, such as error_max_turns; or interrupted. Empty: unknown. There
	// may be others.
	Failure string `json:"failure,omitzero"`
	// StopReason is why the model stopped, in the words of the Messages API: end_turn,
	// max_tokens, refusal or others. Empty: unknown.
	StopReason string `json:"stop_reason,omitzero"`
	// CostUSD and Models cover everything that the prompt used, even if it waited for a
	// person in between and ran in several processes.
	CostUSD float64               `json:"cost_usd"`
	Millis  int64                 `json:"duration_ms,omitzero"` // how long it took, in milliseconds
	Models  map[string]ModelUsage `json:"models,omitempty"`
	// Output is the structured answer, if the options of the conversation have a
	// schema for answers.
	Output json.RawMessage `json:"output,omitzero"`
	// PartOf is the prompt whose turn took this one in, because it was sent to
	// steer that turn. It is not a turn of its own and has no cost: the other
	// prompt bears it.
	PartOf string `json:"part_of,omitzero"`
	// OverBudget is true if the CLI ended the turn because its budget was spent.
	OverBudget bool      `json:"over_budget,omitzero"`
	Ended      time.Time `json:"ended"` // when it ended
}

// The kinds of failures that are not classes of an API error.
const (
	FailureInterrupted = "interrupted"            // a user interrupted the turn
	FailureMaxTurns    = "error_max_turns"        // it used its tools more often than it may
	FailureMaxBudget   = "error_max_budget_usd"   // it spent its budget
	FailureExecution   = "error_during_execution" // it broke off
)

// ModelUsage is a model's usage in a turn, in the words of the CLI.
type ModelUsage struct {
	InputTokens                         int     `json:"inputTokens"`                                  // read, not counting the cache
	OutputTokens                        int     `json:"outputTokens"`                                 // written
	ThinkingTokens                      int     `json:"thinkingTokens,omitzero"`                      // written while thinking
	CacheReadInputTokens                int     `json:"cacheReadInputTokens"`                         // read from the cache
	CacheCreationInputTokens            int     `json:"cacheCreationInputTokens"`                     // written to the cache
	CacheCreationEphemeral5mInputTokens int     `json:"cacheCreationEphemeral5mInputTokens,omitzero"` // written to the cache for five minutes
	CacheCreationEphemeral1hInputTokens int     `json:"cacheCreationEphemeral1hInputTokens,omitzero"` // written to the cache for an hour
	WebSearchRequests                   int     `json:"webSearchRequests"`                            // searches on the web
	CostUSD                             float64 `json:"costUSD"`                                      // what it cost
	ContextWindow                       int     `json:"contextWindow"`                                // tokens that fit into its context
	MaxOutputTokens                     int     `json:"maxOutputTokens"`                              // tokens that an answer may have
	CanonicalModel                      string  `json:"canonicalModel,omitzero"`                      // the model's name without an alias
	Provider                            string  `json:"provider,omitzero"`                            // who runs the model
	CostBasis                           string  `json:"costBasis,omitzero"`                           // what the cost was computed from
}

// Text returns the content of a prompt that is nothing but a text.
func Text(text string) json.RawMessage {
	data, _ := json.Marshal(text) // a string always encodes
	return data
}
