package claude

import "slices"

// Checks of the CLI's version come in two kinds. Most are about a feature: if the
// version is unknown, the CLI is given the benefit of the doubt, and its behaviour
// counts. The others prevent something that a CLI without support would do in
// silence: for them an unknown version counts as an old one.

// The checks that do not belong to an option of the table.
const (
	checkedRewrite  = "a changed input"
	checkedVerbatim = "ClientComposed"
	checkedGate     = "hooks at a gate"
	checkedHook     = "other hooks"
)

// safetyChecks lists the checks of the second kind. A name that is not one of
// the constants is that of an option.
var safetyChecks = [...]string{
	checkedRewrite,    // the tool would run with the input that a hook has replaced
	checkedGate,       // the hook would never be asked
	checkedVerbatim,   // text from others would be searched for files and commands
	"VerbatimPrompts", // the same
	"ToolAliases",     // the aliased tool would run instead of its stand-in
}

// fails reports whether a check finds that the CLI is too old. A safety check
// demands a version that was seen with the feature.
func (f since) fails(check, version string) bool {
	if slices.Contains(safetyChecks[:], check) {
		return !f.always() && !f.known(version)
	}
	return f.missing(version)
}

// describeVersion names the version of a CLI in an error.
func describeVersion(version string) string {
	if version == "" {
		return "a CLI whose version cannot be found out counts as one that"
	}
	return "version " + version
}
