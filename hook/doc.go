// Package hook defines hooks: your own functions that the CLI calls at certain
// moments of a session, and what they can answer.
//
// # A hook
//
// Each event has a constructor of the same name. It takes a function with the
// event's input and, unless the event only informs, its output:
//
//	hook.PreToolUse("Write|Edit", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
//		return hook.DenyTool("read-only today"), nil
//	})
//
// Events that fire for many things take a matcher, which narrows the hook down.
// Plain names are compared exactly and may be joined by "|"; a matcher with
// other characters is an unanchored regular expression; the empty matcher fits
// everything.
//
// A nil output means "no opinion". Every input carries [Base] and its JSON in
// Raw.
//
// # The events
//
//	event                matcher     output                   effect
//	PreToolUse           tool        PreToolUseOutput         deny, allow, ask, defer, new input, context
//	PostToolUse          tool        PostToolUseOutput        block = feedback, new output, context
//	PostToolUseFailure   tool        ContextOutput            context
//	PostToolBatch        -           ContextOutput            block = end the turn, context
//	PermissionRequest    tool        PermissionRequestOutput  decide
//	PermissionDenied     tool        PermissionDeniedOutput   retry
//	Elicitation          server      ElicitationOutput        decline
//	ElicitationResult    server      ElicitationOutput        decline
//	UserPromptSubmit     -           PromptOutput             block, context, title
//	UserPromptExpansion  command     PromptOutput             block, context
//	MessageDisplay       -           DisplayOutput            other text
//	Notification         type        ContextOutput            context
//	Stop                 -           StopOutput               block = continue, context
//	StopFailure          error       none
//	SubagentStart        agent type  ContextOutput            context
//	SubagentStop         agent type  StopOutput               block = continue, context
//	TeammateIdle         -           GateOutput               block
//	TaskCreated          -           GateOutput               block
//	TaskCompleted        -           GateOutput               block
//	Setup                trigger     ContextOutput            context
//	SessionStart         source      SessionStartOutput       context, first prompt, title, watch
//	SessionEnd           reason      none
//	PreCompact           trigger     GateOutput               block
//	PostCompact          trigger     none
//	PreModelSwitch       model       ModelSwitchOutput        deny, allow, ask
//	PostModelSwitch      model       ContextOutput            context
//	ConfigChange         source      GateOutput               block
//	InstructionsLoaded   reason      none
//	CwdChanged           -           WatchOutput              watch
//	FileChanged          file name   WatchOutput              watch
//	DirectoryAdded       source      none
//	WorktreeCreate       -           WorktreeOutput           the path
//	WorktreeRemove       -           none
//
// [Events] returns this table; [Raw] makes a hook for any other event.
//
// # What outputs can say
//
// All outputs share [Common]. [StopRun] ends the run after the event, [Block]
// objects to it where the table lists a block, and [Async] tells the CLI not to
// wait:
//
//	return &hook.PostToolUseOutput{Common: hook.StopRun("the budget is used up")}, nil
//
// Blocking and stopping differ. To keep a tool from running, deny it: if a
// PreToolUse hook stops the run, the tool still runs.
//
// # When a hook fails
//
// An error, a panic, a timeout, and an invalid input or output are all
// failures. A hook that fails open has no opinion; one that fails closed
// blocks. By default, a hook that returns an error fails open. A hook for
// PreToolUse, PermissionRequest or UserPromptSubmit that breaks down in any
// other way fails closed, because nothing was decided. You can choose for each
// hook:
//
//	hook.PreToolUse("Bash", check).WithTimeout(5 * time.Second).FailClosed()
//	hook.PreToolUse("Bash", count).FailOpen()
//
// A session refuses a hook that fails closed if its CLI is too old to block.
// [FailClosed] describes what blocking does for each event.
//
// # Several hooks before a tool
//
// A session asks its [PreToolUse] hooks one after the other, each about the input
// that those before it have left: hooks, then guards, then a gate that asks
// people; see [Stage].
//
// # Guards
//
// [Guard] makes a hook from a permission function. Package permission/policy
// has such functions: allow and deny lists, confinement to a directory,
// limits.
package hook
