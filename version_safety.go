package claude

import "slices"

// What goes by the version of the CLI comes in two kinds. Most of it is a feature:
// if the version is not known, the CLI is given the benefit of the doubt, and what
// it does counts. The rest keeps something from happening, and a CLI without it
// lets that happen in silence: there a version that is not known is an old one.

// The checks that are not about an option of the table of options.
const (
	checkedRewrite  = "a changed input"
	checkedVerbatim = "ClientComposed"
	checkedGate     = "hooks at a gate"
	checkedHook     = "other hooks"
)

// safetyChecks are the checks of the second kind. A name that is not one of the
// constants is that of an option.
var safetyChecks = [...]string{
	checkedRewrite,    // the tool would run with the input that a hook has replaced
	checkedGate,       // the hook would never be asked
	checkedVerbatim,   // a text of others would be searched for files and commands
	"VerbatimPrompts", // the same
	"ToolAliases",     // the tool would run that another one is to stand in for
}

// fails reports whether a check finds that the CLI is too old. A safety check
// wants a version that was seen with it.
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
