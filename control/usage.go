package control

import "encoding/json"

// ContextUsage is a breakdown of the context window.
type ContextUsage struct {
	// Categories are the parts of the window, used and free.
	Categories []ContextCategory `json:"categories"`
	// TotalTokens is the number of tokens in use.
	TotalTokens int `json:"totalTokens"`
	// MaxTokens is the size of the window the session may use; RawMaxTokens is
	// the size of the model's window.
	MaxTokens    int `json:"maxTokens"`
	RawMaxTokens int `json:"rawMaxTokens"`
	// Percentage is the used part of the window, 0 to 100.
	Percentage float64 `json:"percentage"`
	// Model is the model that the numbers apply to.
	Model string `json:"model"`
	// MemoryFiles are the instruction files that were loaded.
	MemoryFiles []MemoryFile `json:"memoryFiles"`
	// AutoCompactThreshold is the number of tokens at which the conversation
	// is compacted, if AutoCompact is on.
	AutoCompactThreshold int  `json:"autoCompactThreshold,omitzero"`
	AutoCompact          bool `json:"isAutoCompactEnabled"`
	// AutoCompactSource is the origin of the threshold, for example
	// "model-default".
	AutoCompactSource string `json:"autocompactSource,omitzero"`
	// MessageBreakdown divides the tokens of the conversation.
	MessageBreakdown MessageBreakdown `json:"messageBreakdown,omitzero"`
	// Skills and SlashCommands are the parts of the window that describe them
	// to the model.
	Skills        ContextSkills   `json:"skills,omitzero"`
	SlashCommands ContextCommands `json:"slashCommands,omitzero"`
	// APIUsage is the usage of the last model call in the form it has in an
	// assistant message, nil before the first.
	APIUsage json.RawMessage `json:"apiUsage,omitzero"`
	// Agents, MCPTools and MCPInstructions list the contents of these parts of
	// the window, as the CLI wrote them.
	Agents          []json.RawMessage `json:"agents,omitzero"`
	MCPTools        []json.RawMessage `json:"mcpTools,omitzero"`
	MCPInstructions []json.RawMessage `json:"mcpInstructions,omitzero"`
	// GridRows is the window as the CLI draws it on a terminal.
	GridRows json.RawMessage `json:"gridRows,omitzero"`
	Raw      json.RawMessage `json:"-"`
}

// MessageBreakdown divides the tokens of the conversation in a [ContextUsage].
type MessageBreakdown struct {
	ToolCallTokens          int               `json:"toolCallTokens"`
	ToolResultTokens        int               `json:"toolResultTokens"`
	AttachmentTokens        int               `json:"attachmentTokens"`
	AssistantMessageTokens  int               `json:"assistantMessageTokens"`
	UserMessageTokens       int               `json:"userMessageTokens"`
	RedirectedContextTokens int               `json:"redirectedContextTokens"`
	UnattributedTokens      int               `json:"unattributedTokens"`
	ToolCallsByType         []json.RawMessage `json:"toolCallsByType"`
	AttachmentsByType       []NamedTokens     `json:"attachmentsByType"`
}

// NamedTokens are the tokens of one thing in a [ContextUsage].
type NamedTokens struct {
	Name string `json:"name"`
	// Source is the origin of the thing, for example "built-in".
	Source string `json:"source,omitzero"`
	Tokens int    `json:"tokens"`
}

// ContextSkills are the skills that the model is told about.
type ContextSkills struct {
	Total    int           `json:"totalSkills"`
	Included int           `json:"includedSkills"`
	Tokens   int           `json:"tokens"`
	Skills   []NamedTokens `json:"skillFrontmatter"`
}

// ContextCommands are the slash commands that the model is told about.
type ContextCommands struct {
	Total    int `json:"totalCommands"`
	Included int `json:"includedCommands"`
	Tokens   int `json:"tokens"`
}

// ContextCategory is one part of the context window.
type ContextCategory struct {
	ID     string `json:"id,omitzero"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Color  string `json:"color,omitzero"`
	// Kind is "used", "free", "buffer" or "deferred".
	Kind string `json:"kind,omitzero"`
	// Deferred parts are loaded when they are needed and do not count.
	Deferred bool `json:"isDeferred,omitzero"`
}

// MemoryFile is an instruction file in the context window.
type MemoryFile struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Tokens int    `json:"tokens"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *ContextUsage) UnmarshalJSON(data []byte) (err error) {
	type fields ContextUsage
	*v = ContextUsage{}
	v.Raw, err = soft(data, (*fields)(v))
	v.APIUsage = notNull(v.APIUsage)
	return err
}

// UsageReport holds the cost of the session so far and how much of the account's
// limits is used.
type UsageReport struct {
	Session SessionUsage `json:"session"`
	// SubscriptionType is empty for an API key.
	SubscriptionType string `json:"subscription_type,omitzero"`
	// RateLimitsAvailable reports whether RateLimits could be read.
	RateLimitsAvailable bool `json:"rate_limits_available"`
	// RateLimits has an entry for each window, for example "five_hour".
	RateLimits map[string]json.RawMessage `json:"rate_limits,omitzero"`
	// Behaviors breaks down the usage of the last day and week.
	Behaviors json.RawMessage `json:"behaviors,omitzero"`
	Raw       json.RawMessage `json:"-"`
}

// SessionUsage is the part of [UsageReport] that concerns the session. Durations are
// in milliseconds, as the CLI counts them.
type SessionUsage struct {
	TotalCostUSD       float64 `json:"total_cost_usd"`
	TotalAPIDurationMS int64   `json:"total_api_duration_ms"`
	TotalDurationMS    int64   `json:"total_duration_ms"`
	TotalLinesAdded    int     `json:"total_lines_added"`
	TotalLinesRemoved  int     `json:"total_lines_removed"`
	// ModelUsage has the tokens and costs of each model, in the form they
	// have in a result message.
	ModelUsage map[string]json.RawMessage `json:"model_usage,omitzero"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *UsageReport) UnmarshalJSON(data []byte) (err error) {
	type fields UsageReport
	*v = UsageReport{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// SessionCost is the CLI's own summary of the costs, as text for people.
type SessionCost struct {
	Text string          `json:"text"`
	Raw  json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *SessionCost) UnmarshalJSON(data []byte) (err error) {
	type fields SessionCost
	*v = SessionCost{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// BinaryVersion is the version of the CLI's program file.
type BinaryVersion struct {
	Version   string          `json:"version"`
	BuildTime string          `json:"buildTime,omitzero"`
	Raw       json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *BinaryVersion) UnmarshalJSON(data []byte) (err error) {
	type fields BinaryVersion
	*v = BinaryVersion{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}
