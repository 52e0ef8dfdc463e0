package hook

import "context"

// Setup is called when a repository is set up; the matcher is for triggers.
func Setup(matcher string, fn func(ctx context.Context, in *SetupInput) (*ContextOutput, error)) Hook {
	return answer(EventSetup, matcher, fn)
}

// SetupInput is the input of [Setup].
type SetupInput struct {
	Base
	// Trigger is "init" or "maintenance".
	Trigger string `json:"trigger"`
}

// SessionStart is called when a conversation starts; the matcher is for
// sources. A driven CLI calls it after compacting and clearing; the start of
// the process itself may come before the hooks are registered.
func SessionStart(matcher string, fn func(ctx context.Context, in *SessionStartInput) (*SessionStartOutput, error)) Hook {
	return answer(EventSessionStart, matcher, fn)
}

// SessionStartInput is the input of [SessionStart].
type SessionStartInput struct {
	Base
	// Source is "startup", "resume", "clear", "compact" or "fork".
	Source       string `json:"source"`
	Model        string `json:"model,omitzero"`
	SessionTitle string `json:"session_title,omitzero"`
	// The remaining fields help to decide whether a resumed session is worth
	// its cost.
	SecondsSinceLastResponse float64 `json:"seconds_since_last_response,omitzero"`
	ContextTokens            int     `json:"context_tokens,omitzero"`
	PromptCacheLikelyExpired bool    `json:"prompt_cache_likely_expired,omitzero"`
	EstimatedCacheWriteUSD   float64 `json:"estimated_cache_write_usd,omitzero"`
}

// SessionEnd is called when a conversation ends; the matcher is for reasons.
// The end of the process itself is not reported.
func SessionEnd(matcher string, fn func(ctx context.Context, in *SessionEndInput) error) Hook {
	return observe(EventSessionEnd, matcher, fn)
}

// SessionEndInput is the input of [SessionEnd].
type SessionEndInput struct {
	Base
	// Reason is "clear", "resume", "logout", "prompt_input_exit" or "other".
	Reason string `json:"reason"`
}

// PreCompact is called before the conversation is compacted; the matcher is
// for triggers. Blocking skips the compaction; stopping the run does not.
func PreCompact(matcher string, fn func(ctx context.Context, in *PreCompactInput) (*GateOutput, error)) Hook {
	return answer(EventPreCompact, matcher, fn)
}

// PreCompactInput is the input of [PreCompact].
type PreCompactInput struct {
	Base
	// Trigger is "manual" or "auto".
	Trigger string `json:"trigger"`
	// CustomInstructions are a person's wishes for the summary.
	CustomInstructions string `json:"custom_instructions,omitzero"`
}

// PostCompact is called after the conversation was compacted; the matcher is
// for triggers.
func PostCompact(matcher string, fn func(ctx context.Context, in *PostCompactInput) error) Hook {
	return observe(EventPostCompact, matcher, fn)
}

// PostCompactInput is the input of [PostCompact].
type PostCompactInput struct {
	Base
	// Trigger is "manual" or "auto".
	Trigger        string `json:"trigger"`
	CompactSummary string `json:"compact_summary"`
}

// PreModelSwitch is called when another model is requested. It can deny the
// switch.
func PreModelSwitch(matcher string, fn func(ctx context.Context, in *ModelSwitchInput) (*ModelSwitchOutput, error)) Hook {
	return answer(EventPreModelSwitch, matcher, fn)
}

// ModelSwitchInput is the input of [PreModelSwitch] and [PostModelSwitch].
type ModelSwitchInput struct {
	Base
	FromModel string `json:"from_model"`
	ToModel   string `json:"to_model"`
	// RequestedModel is the requested name.
	RequestedModel string `json:"requested_model"`
	// Source names the requester, for example "sdk".
	Source        string `json:"source"`
	ContextTokens int    `json:"context_tokens"`
	// The switch makes a warm prompt cache useless; writing it again costs
	// about EstimatedCacheWriteUSD. Pricing describes how that was calculated.
	PromptCacheWarm        bool    `json:"prompt_cache_warm"`
	CacheTTL               string  `json:"cache_ttl"`
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`
	Pricing                string  `json:"pricing"`
}

// PostModelSwitch is called after the model has changed.
func PostModelSwitch(matcher string, fn func(ctx context.Context, in *ModelSwitchInput) (*ContextOutput, error)) Hook {
	return answer(EventPostModelSwitch, matcher, fn)
}

// ConfigChange is called when a settings file changes; the matcher is for
// sources. Blocking keeps the old settings.
func ConfigChange(matcher string, fn func(ctx context.Context, in *ConfigChangeInput) (*GateOutput, error)) Hook {
	return answer(EventConfigChange, matcher, fn)
}

// ConfigChangeInput is the input of [ConfigChange].
type ConfigChangeInput struct {
	Base
	// Source is the settings source that changed.
	Source   string `json:"source"`
	FilePath string `json:"file_path,omitzero"`
}

// InstructionsLoaded is called when an instruction file was loaded; the
// matcher is for reasons.
func InstructionsLoaded(matcher string, fn func(ctx context.Context, in *InstructionsLoadedInput) error) Hook {
	return observe(EventInstructionsLoaded, matcher, fn)
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

// CwdChanged is called after the working directory has changed.
func CwdChanged(fn func(ctx context.Context, in *CwdChangedInput) (*WatchOutput, error)) Hook {
	return answer(EventCwdChanged, "", fn)
}

// CwdChangedInput is the input of [CwdChanged].
type CwdChangedInput struct {
	Base
	OldCwd string `json:"old_cwd"`
	NewCwd string `json:"new_cwd"`
}

// FileChanged is called when a watched file changes; the matcher is for file
// names.
func FileChanged(matcher string, fn func(ctx context.Context, in *FileChangedInput) (*WatchOutput, error)) Hook {
	return answer(EventFileChanged, matcher, fn)
}

// FileChangedInput is the input of [FileChanged].
type FileChangedInput struct {
	Base
	FilePath string `json:"file_path"`
	// Event is "change", "add" or "unlink".
	Event string `json:"event"`
}

// DirectoryAdded is called after the session has gained another working
// directory.
func DirectoryAdded(matcher string, fn func(ctx context.Context, in *DirectoryAddedInput) error) Hook {
	return observe(EventDirectoryAdded, matcher, fn)
}

// DirectoryAddedInput is the input of [DirectoryAdded].
type DirectoryAddedInput struct {
	Base
	Directory string `json:"directory"`
	Source    string `json:"source"`
}

// WorktreeCreate is called to create an isolated worktree; the hook does the
// work and returns the path.
func WorktreeCreate(fn func(ctx context.Context, in *WorktreeCreateInput) (*WorktreeOutput, error)) Hook {
	return answer(EventWorktreeCreate, "", fn)
}

// WorktreeCreateInput is the input of [WorktreeCreate].
type WorktreeCreateInput struct {
	Base
	Name string `json:"name"`
}

// WorktreeRemove is called to remove a worktree that a hook created.
func WorktreeRemove(fn func(ctx context.Context, in *WorktreeRemoveInput) error) Hook {
	return observe(EventWorktreeRemove, "", fn)
}

// WorktreeRemoveInput is the input of [WorktreeRemove].
type WorktreeRemoveInput struct {
	Base
	WorktreePath string `json:"worktree_path"`
}
