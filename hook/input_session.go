package hook

// SetupInput is the input of [Setup].
type SetupInput struct {
	Base
	// Trigger is "init" or "maintenance".
	Trigger string `json:"trigger"`
}

// SessionStartInput is the input of [SessionStart].
type SessionStartInput struct {
	Base
	// Source is "startup", "resume", "clear", "compact" or "fork".
	Source       string `json:"source"`
	Model        string `json:"model,omitzero"`
	SessionTitle string `json:"session_title,omitzero"`
	// The remaining fields help to decide whether a resumed session is worth
	// its costs.
	SecondsSinceLastResponse float64 `json:"seconds_since_last_response,omitzero"`
	ContextTokens            int     `json:"context_tokens,omitzero"`
	PromptCacheLikelyExpired bool    `json:"prompt_cache_likely_expired,omitzero"`
	EstimatedCacheWriteUSD   float64 `json:"estimated_cache_write_usd,omitzero"`
}

// SessionEndInput is the input of [SessionEnd].
type SessionEndInput struct {
	Base
	// Reason is "clear", "resume", "logout", "prompt_input_exit" or "other".
	Reason string `json:"reason"`
}

// PreCompactInput is the input of [PreCompact].
type PreCompactInput struct {
	Base
	// Trigger is "manual" or "auto".
	Trigger string `json:"trigger"`
	// CustomInstructions are what a person asked the summary to keep.
	CustomInstructions string `json:"custom_instructions,omitzero"`
}

// PostCompactInput is the input of [PostCompact].
type PostCompactInput struct {
	Base
	// Trigger is "manual" or "auto".
	Trigger        string `json:"trigger"`
	CompactSummary string `json:"compact_summary"`
}

// ModelSwitchInput is the input of [PreModelSwitch] and [PostModelSwitch].
type ModelSwitchInput struct {
	Base
	FromModel string `json:"from_model"`
	ToModel   string `json:"to_model"`
	// RequestedModel is the name that was asked for.
	RequestedModel string `json:"requested_model"`
	// Source says who asked, for example "sdk".
	Source        string `json:"source"`
	ContextTokens int    `json:"context_tokens"`
	// The switch makes a warm prompt cache useless; writing it again costs
	// about EstimatedCacheWriteUSD. Pricing says how that was reckoned.
	PromptCacheWarm        bool    `json:"prompt_cache_warm"`
	CacheTTL               string  `json:"cache_ttl"`
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`
	Pricing                string  `json:"pricing"`
}

// ConfigChangeInput is the input of [ConfigChange].
type ConfigChangeInput struct {
	Base
	// Source is the settings source that changed.
	Source   string `json:"source"`
	FilePath string `json:"file_path,omitzero"`
}

// InstructionsLoadedInput is the input of [InstructionsLoaded].
type InstructionsLoadedInput struct {
	Base
	FilePath string `json:"file_path"`
	// MemoryType is for example "Project".
	MemoryType string `json:"memory_type"`
	// LoadReason is for example "compact".
	LoadReason      string   `json:"load_reason"`
	Globs           []string `json:"globs,omitzero"`
	TriggerFilePath string   `json:"trigger_file_path,omitzero"`
	ParentFilePath  string   `json:"parent_file_path,omitzero"`
}

// CwdChangedInput is the input of [CwdChanged].
type CwdChangedInput struct {
	Base
	OldCwd string `json:"old_cwd"`
	NewCwd string `json:"new_cwd"`
}

// FileChangedInput is the input of [FileChanged].
type FileChangedInput struct {
	Base
	FilePath string `json:"file_path"`
	// Event is "change", "add" or "unlink".
	Event string `json:"event"`
}

// DirectoryAddedInput is the input of [DirectoryAdded].
type DirectoryAddedInput struct {
	Base
	Directory string `json:"directory"`
	Source    string `json:"source"`
}

// WorktreeCreateInput is the input of [WorktreeCreate].
type WorktreeCreateInput struct {
	Base
	Name string `json:"name"`
}

// WorktreeRemoveInput is the input of [WorktreeRemove].
type WorktreeRemoveInput struct {
	Base
	WorktreePath string `json:"worktree_path"`
}
