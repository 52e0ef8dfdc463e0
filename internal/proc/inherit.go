package proc

import (
	"slices"
	"strings"
)

// kept is a variable that the CLI does not get from another program.
type kept struct {
	name string
	// fatal: it ends the CLI before it begins, and is taken out even if it was
	// chosen.
	fatal bool
}

// keptBack are variables that are meant for the program that has them, and would
// do harm in the CLI: they load code into it, open it to a debugger, tie it to an
// editor, sign it in elsewhere, or make it write its log between the lines of the protocol. A row about
// the dynamic linker goes for the systems that know the variable, and is harmless
// on others.
var keptBack = [...]kept{
	{name: "NODE_OPTIONS", fatal: true}, // such as --inspect-brk of a debugger
	{name: "CLAUDECODE", fatal: true},   // older CLIs refuse to run inside themselves

	{name: "LD_PRELOAD"},
	{name: "LD_AUDIT"},
	{name: "LD_LIBRARY_PATH"},
	{name: "DYLD_INSERT_LIBRARIES"},
	{name: "DYLD_LIBRARY_PATH"},
	{name: "DYLD_FRAMEWORK_PATH"},
	{name: "DYLD_FALLBACK_LIBRARY_PATH"},
	{name: "DYLD_FALLBACK_FRAMEWORK_PATH"},
	{name: "DYLD_VERSIONED_LIBRARY_PATH"},
	{name: "DYLD_VERSIONED_FRAMEWORK_PATH"},

	{name: "BUN_OPTIONS"},
	{name: "BUN_INSPECT"},
	{name: "BUN_INSPECT_CONNECT_TO"},
	{name: "BUN_INSPECT_NOTIFY"},
	{name: "BUN_INSPECT_PRELOAD"},
	{name: "NODE_REPL_EXTERNAL_MODULE"},
	{name: "VSCODE_INSPECTOR_OPTIONS"},

	{name: "CLAUDE_CODE_SSE_PORT"},
	{name: "ANTHROPIC_LOG"},

	{name: "CLAUDECTL_TOKEN"},       // with it an agent could decide its own approvals on a server
	{name: "CLAUDECTL_OIDC_SECRET"}, // of "claudectl serve", which lets people log in
}

// Inherit returns what the CLI gets of the environment of a program that starts
// it, in the form of [os.Environ]. Every environment that was not chosen for the
// CLI goes through it. env is left as it is.
func Inherit(env []string) []string {
	return without(env, func(kept) bool { return true })
}

// Chosen returns the environment that the CLI gets when one was chosen for it:
// everything but the variables that would end it at once. It does not change
// env.
func Chosen(env []string) []string {
	return without(env, func(k kept) bool { return k.fatal })
}

// without returns an environment without the rows of the table that go. Windows
// does not distinguish upper and lower case in names.
func without(env []string, goes func(kept) bool) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(keptBack[:], func(k kept) bool { return goes(k) && strings.EqualFold(name, k.name) })
	})
}
