// Package policy has ready-made permission functions, and ways to combine
// them, so that you don't have to write them yourself.
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
// Functions that restrict ([Rules.Deny], [Confine], [ReadOnly]) deny or pass,
// so put them first. Functions that permit ([Rules.Allow], [Ask], [Always])
// come last. A call that no function permits is denied. [Audit], [Limit] and
// [Rate] wrap another function.
//
// All functions of this package may be called from several goroutines at once.
//
// # Where to put it
//
// As Options.CanUseTool, a policy sees only the calls that the CLI asks about:
// none that the CLI's own rules, its permission mode or its list of harmless
// commands have already allowed. That suits an approver. A guard that must see
// every tool call belongs in a hook; make one with [hook.Guard]:
//
//	Hooks: []hook.Hook{hook.Guard("", policy.Confine("/repo"))}
//
// # What it is not
//
// Rules about shell commands and paths look at the input of a tool, not at its
// effects. Commands are parsed, and a command that cannot be understood before
// it runs is denied. But a program that "go test" runs may do anything, and so
// may a script written earlier. Denying a command covers the ways to spell it,
// not another program that does the same. Where that matters, deny the shell as
// a whole, or use the sandbox of the CLI, a container or another user.
//
// The CLI protects some files by name; this package has the list of one
// version. As Options.CanUseTool, a policy also learns from the CLI what is
// protected, and leaves such questions to the next function. In a hook it does
// not. A rule for the whole shell allows everything a shell can do.
//
// [hook.Guard]: https://pkg.go.dev/github.com/claude-agent-go/claude/hook#Guard
package policy
