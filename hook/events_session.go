package hook

import "context"

// Setup is called when a repository is set up; the matcher is for triggers.
func Setup(matcher string, fn func(ctx context.Context, in *SetupInput) (*ContextOutput, error)) Hook {
	return answer(EventSetup, matcher, fn)
}

// SessionStart is called when a conversation starts; the matcher is for
// sources. A driven CLI calls it after compacting and clearing; the start of
// the process itself may come before the hooks are registered.
func SessionStart(matcher string, fn func(ctx context.Context, in *SessionStartInput) (*SessionStartOutput, error)) Hook {
	return answer(EventSessionStart, matcher, fn)
}

// SessionEnd is called when a conversation ends; the matcher is for reasons.
// The end of the process itself is not reported.
func SessionEnd(matcher string, fn func(ctx context.Context, in *SessionEndInput) error) Hook {
	return observe(EventSessionEnd, matcher, fn)
}

// PreCompact is called before the conversation is compacted; the matcher is
// for triggers. Blocking skips the compaction; stopping the run does not.
func PreCompact(matcher string, fn func(ctx context.Context, in *PreCompactInput) (*GateOutput, error)) Hook {
	return answer(EventPreCompact, matcher, fn)
}

// PostCompact is called after the conversation was compacted; the matcher is
// for triggers.
func PostCompact(matcher string, fn func(ctx context.Context, in *PostCompactInput) error) Hook {
	return observe(EventPostCompact, matcher, fn)
}

// PreModelSwitch is called when another model was asked for. It can be denied.
func PreModelSwitch(matcher string, fn func(ctx context.Context, in *ModelSwitchInput) (*ModelSwitchOutput, error)) Hook {
	return answer(EventPreModelSwitch, matcher, fn)
}

// PostModelSwitch is called after the model was changed.
func PostModelSwitch(matcher string, fn func(ctx context.Context, in *ModelSwitchInput) (*ContextOutput, error)) Hook {
	return answer(EventPostModelSwitch, matcher, fn)
}

// ConfigChange is called when a settings file changes; the matcher is for
// sources. Blocking keeps the old settings.
func ConfigChange(matcher string, fn func(ctx context.Context, in *ConfigChangeInput) (*GateOutput, error)) Hook {
	return answer(EventConfigChange, matcher, fn)
}

// InstructionsLoaded is called when an instruction file was loaded; the
// matcher is for reasons.
func InstructionsLoaded(matcher string, fn func(ctx context.Context, in *InstructionsLoadedInput) error) Hook {
	return observe(EventInstructionsLoaded, matcher, fn)
}

// CwdChanged is called after the working directory was changed.
func CwdChanged(fn func(ctx context.Context, in *CwdChangedInput) (*WatchOutput, error)) Hook {
	return answer(EventCwdChanged, "", fn)
}

// FileChanged is called when a watched file changes; the matcher is for file
// names.
func FileChanged(matcher string, fn func(ctx context.Context, in *FileChangedInput) (*WatchOutput, error)) Hook {
	return answer(EventFileChanged, matcher, fn)
}

// DirectoryAdded is called after the session got another working directory.
func DirectoryAdded(matcher string, fn func(ctx context.Context, in *DirectoryAddedInput) error) Hook {
	return observe(EventDirectoryAdded, matcher, fn)
}

// WorktreeCreate is called to make an isolated worktree; the hook does the
// work and names the path.
func WorktreeCreate(fn func(ctx context.Context, in *WorktreeCreateInput) (*WorktreeOutput, error)) Hook {
	return answer(EventWorktreeCreate, "", fn)
}

// WorktreeRemove is called to remove a worktree that a hook has made.
func WorktreeRemove(fn func(ctx context.Context, in *WorktreeRemoveInput) error) Hook {
	return observe(EventWorktreeRemove, "", fn)
}
