package message

import "github.com/claude-agent-go/claude/internal/jsonx"

// APIRetry reports that an API call failed and will be tried again.
type APIRetry struct {
	Header

	Attempt      int     `json:"attempt"`
	MaxRetries   int     `json:"max_retries"`
	RetryDelayMS float64 `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, or 0 if there was no response.
	ErrorStatus int            `json:"error_status"`
	Error       AssistantError `json:"error"`
}

func (m *APIRetry) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m APIRetry) MarshalJSON() ([]byte, error) {
	type plain APIRetry
	w := struct {
		plain
		ErrorStatus *int `json:"error_status"`
	}{plain: plain(m)}
	if m.ErrorStatus != 0 {
		w.ErrorStatus = &m.ErrorStatus
	}
	return encode(&w.Header, typeSystem, "api_retry", &w)
}

// ThinkingTokens counts the tokens the model has thought so far.
type ThinkingTokens struct {
	Header

	EstimatedTokens      int `json:"estimated_tokens"`
	EstimatedTokensDelta int `json:"estimated_tokens_delta"`
	// Prompt is the id of the user message that is being answered.
	Prompt string `json:"user_message_uuid,omitzero"`
}

func (m *ThinkingTokens) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ThinkingTokens) MarshalJSON() ([]byte, error) {
	type plain ThinkingTokens
	return encode(&m.Header, typeSystem, "thinking_tokens", (*plain)(&m))
}

// ModelFallback reports that the model refused to answer. With [FallbackUsed],
// another model answers; with [FallbackMissing], there is none. An empty
// Subtype is encoded as [FallbackUsed].
type ModelFallback struct {
	Header

	Trigger            string `json:"trigger,omitzero"`
	Direction          string `json:"direction,omitzero"`
	Scope              string `json:"scope,omitzero"`
	OriginalModel      string `json:"original_model"`
	FallbackModel      string `json:"fallback_model,omitzero"`
	RequestID          string `json:"request_id,omitzero"`
	RefusalCategory    string `json:"api_refusal_category,omitzero"`
	RefusalExplanation string `json:"api_refusal_explanation,omitzero"`
	// Retracted lists the ids of messages that no longer count.
	Retracted []string `json:"retracted_message_uuids,omitzero"`
	// RefusedPrompt is the id of the user message that was refused.
	RefusedPrompt string `json:"refused_user_message_uuid,omitzero"`
	// Content is the notice as text.
	Content string `json:"content"`
}

// The subtypes of a [ModelFallback].
const (
	FallbackUsed    = "model_refusal_fallback"
	FallbackMissing = "model_refusal_no_fallback"
)

func (m *ModelFallback) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m ModelFallback) MarshalJSON() ([]byte, error) {
	type plain ModelFallback
	return encode(&m.Header, typeSystem, FallbackUsed, (*plain)(&m))
}

// RateLimit reports how much of the account's limits is used.
type RateLimit struct {
	Header

	Info RateLimitInfo `json:"rate_limit_info"`
}

func (m *RateLimit) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m RateLimit) MarshalJSON() ([]byte, error) {
	type plain RateLimit
	return encode(&m.Header, "rate_limit_event", "", (*plain)(&m))
}

// RateLimitInfo is the content of a [RateLimit].
type RateLimitInfo struct {
	// Status is "allowed", "allowed_warning" or "rejected".
	Status string `json:"status"`
	// ResetsAt is in seconds since 1970.
	ResetsAt int64 `json:"resetsAt,omitzero"`
	// RateLimitType is the window that counts, such as "five_hour".
	RateLimitType string `json:"rateLimitType,omitzero"`
	// Utilization is the used part of the limit, nil if not known.
	Utilization           *float64 `json:"utilization,omitzero"`
	OverageStatus         string   `json:"overageStatus,omitzero"`
	OverageResetsAt       int64    `json:"overageResetsAt,omitzero"`
	OverageDisabledReason string   `json:"overageDisabledReason,omitzero"`
	IsUsingOverage        bool     `json:"isUsingOverage,omitzero"`
	SurpassedThreshold    *float64 `json:"surpassedThreshold,omitzero"`
	LimitScope            string   `json:"limitScope,omitzero"`
	ErrorCode             string   `json:"errorCode,omitzero"`
}

// AuthStatus reports on a login.
type AuthStatus struct {
	Header

	IsAuthenticating bool     `json:"isAuthenticating"`
	Output           []string `json:"output"`
	Error            string   `json:"error,omitzero"`
}

func (m *AuthStatus) decode(raw []byte) error { return jsonx.Unmarshal(raw, m) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m AuthStatus) MarshalJSON() ([]byte, error) {
	type plain AuthStatus
	return encode(&m.Header, "auth_status", "", (*plain)(&m))
}

// Error is a line of type "error". The current CLI does not write it; other
// implementations of the protocol do.
type Error struct {
	Header

	// ErrorType classifies the error, such as "invalid_request".
	ErrorType string `json:"-"`
	Message   string `json:"-"`
}

type errorWire struct {
	Header
	Error errorBody `json:"error"`
}

type errorBody struct {
	Type    string `json:"type,omitzero"`
	Message string `json:"message"`
}

// UnmarshalJSON accepts a plain string as the message.
func (b *errorBody) UnmarshalJSON(data []byte) error {
	if kindOf(data) == '"' {
		return jsonx.Unmarshal(data, &b.Message)
	}
	type plain errorBody
	return jsonx.Unmarshal(data, (*plain)(b))
}

func (m *Error) decode(raw []byte) error {
	var w errorWire
	err := jsonx.Unmarshal(raw, &w)
	*m = Error{Header: w.Header, ErrorType: w.Error.Type, Message: w.Error.Message}
	return err
}

// UnmarshalJSON decodes the wire form, as [Decode] does.
func (m *Error) UnmarshalJSON(data []byte) error { return unmarshal(m, data) }

// MarshalJSON returns Raw, or encodes the fields if Raw is nil.
func (m Error) MarshalJSON() ([]byte, error) {
	w := errorWire{Header: m.Header, Error: errorBody{Type: m.ErrorType, Message: m.Message}}
	return encode(&w.Header, typeError, "", &w)
}
