// Package policy has ready-made permission functions, and ways to combine
// them: what programs that decide about tool calls would otherwise each write
// again.
//
// # A chain
//
// A [permission.Func] may have no opinion ([permission.Pass]). [First] asks
// several in turn and takes the first opinion:
//
//	policy.First(
//		policy.MustRules("Bash(rm:*)", "WebFetch").Deny("not on this machine"),
//		policy.Confine("/repo"),
//		policy.MustRules("Read", "Bash(go test:*)", "mcp__docs__*").Allow(),
//		policy.Ask(people, time.Minute),
//	)
//
// Those that restrict ([Rules.Deny], [Confine], [ReadOnly]) deny or pass; so
// they come first. Those that permit ([Rules.Allow], [Ask], [Always]) come
// last. Whatever nobody permits is denied. [Audit], [Limit] and [Rate] wrap
// another function.
//
// All functions of this package may be called at once, as often as one likes.
//
// # Where to put it
//
// As Options.CanUseTool a policy sees only what the CLI asks about: nothing
// that its own rules, its permission mode or its list of harmless commands
// have let pass. That suits an approver. A guard that must see every tool call
// belongs into a hook, which [hook.Guard] makes:
//
//	Hooks: []hook.Hook{hook.Guard("", policy.Confine("/repo"))}
//
// # What it is not
//
// Rules about shell commands and paths look at the input of a tool, not at
// what the tool does. Commands are parsed, and what cannot be known before they
// run is denied; but a program that "go test" runs may do anything, and so may a
// script that was written before. So a denial by command holds against ways to
// spell it, not against a program that does the same. Where that matters, deny
// the shell as a whole, or use the sandbox of the CLI, a container or another
// user.
//
// What the CLI protects is known by name here, as of one version. As
// Options.CanUseTool a policy also hears of it from the CLI, and leaves such
// questions to the next function; in a hook it does not. A rule for the whole
// shell allows all that a shell can do.
//
// [hook.Guard]: https://pkg.go.dev/github.com/claude-agent-go/claude/hook#Guard
package policy
