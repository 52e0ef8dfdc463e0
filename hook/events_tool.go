package hook

import "context"

// PreToolUse is called before a tool runs; the matcher is for tool names. It
// can deny the call ([DenyTool]), allow it, have it asked, and change its
// input.
func PreToolUse(matcher string, fn func(ctx context.Context, in *PreToolUseInput) (*PreToolUseOutput, error)) Hook {
	return answer(EventPreToolUse, matcher, fn)
}

// PostToolUse is called after a tool has run; the matcher is for tool names.
// Blocking gives the model feedback.
func PostToolUse(matcher string, fn func(ctx context.Context, in *PostToolUseInput) (*PostToolUseOutput, error)) Hook {
	return answer(EventPostToolUse, matcher, fn)
}

// PostToolUseFailure is called after a tool has failed; the matcher is for
// tool names.
func PostToolUseFailure(matcher string, fn func(ctx context.Context, in *PostToolUseFailureInput) (*ContextOutput, error)) Hook {
	return answer(EventPostToolUseFailure, matcher, fn)
}

// PostToolBatch is called after all tools of one answer have run. Blocking
// ends the turn; the model reads the reason in the next one.
func PostToolBatch(fn func(ctx context.Context, in *PostToolBatchInput) (*ContextOutput, error)) Hook {
	return answer(EventPostToolBatch, "", fn)
}

// PermissionRequest is called when the CLI asks for permission, together with
// the session's own permission callback: the first answer counts, and the
// context of the other one ends. The matcher is for tool names.
func PermissionRequest(matcher string, fn func(ctx context.Context, in *PermissionRequestInput) (*PermissionRequestOutput, error)) Hook {
	return answer(EventPermissionRequest, matcher, fn)
}

// PermissionDenied is called after auto mode has denied a tool call; the
// matcher is for tool names.
func PermissionDenied(matcher string, fn func(ctx context.Context, in *PermissionDeniedInput) (*PermissionDeniedOutput, error)) Hook {
	return answer(EventPermissionDenied, matcher, fn)
}

// Elicitation is called when an MCP server asks the user something; the
// matcher is for server names. It can be declined, and then the session's
// elicitation callback is not asked.
func Elicitation(matcher string, fn func(ctx context.Context, in *ElicitationInput) (*ElicitationOutput, error)) Hook {
	return answer(EventElicitation, matcher, fn)
}

// ElicitationResult is called when the user has answered an MCP server; the
// matcher is for server names. The answer can be turned into a refusal.
func ElicitationResult(matcher string, fn func(ctx context.Context, in *ElicitationResultInput) (*ElicitationOutput, error)) Hook {
	return answer(EventElicitationResult, matcher, fn)
}
