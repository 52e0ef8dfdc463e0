// Package permission defines the types for tool permissions: the CLI's question
// before a tool runs, and your answer.
//
// # The question
//
// A [Request] describes one tool call that no rule of the CLI has decided. It
// names the tool, carries its input as raw JSON ([Request.DecodeInput] decodes
// it into your own type) and gives the reason why the CLI asks. A program
// answers with a [Func]:
//
//	func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
//		if req.ToolName == "Bash" {
//			return permission.Deny("no shell here"), nil
//		}
//		return permission.Allow(), nil
//	}
//
// # The answer
//
// Make a [Decision] with [Allow], [AllowWith] (different input), [Deny],
// [DenyAndStop] (also ends the turn) or [Pass]. Pass is also the zero
// Decision: it means "no opinion", so that several functions can be tried in
// turn. If none has an opinion, the tool call is denied. Errors, panics and
// timeouts of a Func also deny: nothing is allowed by accident.
//
// # Rules that stay
//
// An [Update] changes the permissions of the session, or of a settings file,
// beyond the one call. The CLI proposes suitable ones in
// [Request.Suggestions]; passing them to [Allow] is the "always allow" button:
//
//	return permission.Allow(req.Suggestions...), nil
//
// Make your own updates with [AllowRule], [DenyRule], [SetMode] and
// [AddDirectories]; [Update.To] moves one to another [Destination]. The [Mode]
// of a session decides what is asked at all.
//
// Package policy, below this one, has ready-made functions and ways to combine
// them: allow and deny lists, confinement to a directory, limits, an audit
// log.
//
// # Questions from the model
//
// The tool AskUserQuestion asks the user through the same request.
// [Request.Questions] lists the questions and [Request.Answers] builds the
// Decision that answers them.
package permission
