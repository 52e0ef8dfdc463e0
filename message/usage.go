package message

import "encoding/json"

// Usage counts the tokens of model calls.
type Usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`

	OutputTokensDetails OutputTokensDetails `json:"output_tokens_details,omitzero"`
	CacheCreation       CacheCreation       `json:"cache_creation,omitzero"`
	ServerToolUse       ServerToolUse       `json:"server_tool_use,omitzero"`

	ServiceTier  string `json:"service_tier,omitzero"`
	InferenceGeo string `json:"inference_geo,omitzero"`
	Speed        string `json:"speed,omitzero"`

	// Iterations are the counts for each step of a call that took several.
	// FallbackCredit describes what happened to a credit for another model.
	// Both are nil if the API omits them.
	Iterations     json.RawMessage `json:"iterations,omitzero"`
	FallbackCredit json.RawMessage `json:"fallback_credit,omitzero"`
}

// tidy replaces a null of the API with nil.
func (u *Usage) tidy() {
	u.Iterations, u.FallbackCredit = notNull(u.Iterations), notNull(u.FallbackCredit)
}

// OutputTokensDetails divides the output tokens of a [Usage].
type OutputTokensDetails struct {
	ThinkingTokens int `json:"thinking_tokens"`
}

// CacheCreation divides the cache writes of a [Usage] by how long they live.
type CacheCreation struct {
	Ephemeral5mInputTokens int `json:"ephemeral_5m_input_tokens"`
	Ephemeral1hInputTokens int `json:"ephemeral_1h_input_tokens"`
}

// ServerToolUse counts the tools that the API ran itself.
type ServerToolUse struct {
	WebSearchRequests int `json:"web_search_requests"`
	WebFetchRequests  int `json:"web_fetch_requests"`
}

// ModelUsage counts the tokens and the cost of one model.
type ModelUsage struct {
	InputTokens                         int     `json:"inputTokens"`
	OutputTokens                        int     `json:"outputTokens"`
	ThinkingTokens                      int     `json:"thinkingTokens,omitzero"`
	CacheReadInputTokens                int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens            int     `json:"cacheCreationInputTokens"`
	CacheCreationEphemeral5mInputTokens int     `json:"cacheCreationEphemeral5mInputTokens,omitzero"`
	CacheCreationEphemeral1hInputTokens int     `json:"cacheCreationEphemeral1hInputTokens,omitzero"`
	WebSearchRequests                   int     `json:"webSearchRequests"`
	CostUSD                             float64 `json:"costUSD"`
	ContextWindow                       int     `json:"contextWindow"`
	MaxOutputTokens                     int     `json:"maxOutputTokens"`
	CanonicalModel                      string  `json:"canonicalModel,omitzero"`
	Provider                            string  `json:"provider,omitzero"`
	CostBasis                           string  `json:"costBasis,omitzero"`
}
