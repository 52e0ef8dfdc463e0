// Package permission is the vocabulary of tool permissions: what the CLI asks
// before a tool runs, and what it can be told.
//
// # The question
//
// A [Request] describes one tool call that no rule of the CLI has decided. It
// names the tool, carries its input as raw JSON ([Request.DecodeInput] turns
// it into a type of yours) and says why the CLI asks. A program answers with a
// [Func]:
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
// A [Decision] is made by [Allow], [AllowWith] (other input), [Deny],
// [DenyAndStop] (the turn ends too) or [Pass]. Pass is also the zero Decision:
// it means "no opinion", so that several functions can be tried in turn. When
// none has an opinion, the tool call is denied. Errors, panics and timeouts of
// a Func deny as well: nothing is allowed by accident.
//
// # Rules that stay
//
// An [Update] changes the permissions of the session, or of a settings file,
// beyond the one call. The CLI proposes suitable ones in
// [Request.Suggestions]; handing them back to [Allow] is the "always allow"
// button:
//
//	return permission.Allow(req.Suggestions...), nil
//
// Updates of your own come from [AllowRule], [DenyRule], [SetMode] and
// [AddDirectories]; [Update.To] moves one to another [Destination]. The
// [Mode] of a session decides what is asked at all.
//
// Package policy, below this one, has ready-made functions and ways to combine
// them: allow and deny lists, confinement to a directory, limits, an audit log.
//
// # Questions of the model
//
// The tool AskUserQuestion asks the user through the same request.
// [Request.Questions] lists the questions and [Request.Answers] builds the
// Decision that answers them.
package permission
