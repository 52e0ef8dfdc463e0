package permission

// Mode is the permission mode of a session: how the CLI decides tool calls
// that no rule covers. The set is open; a mode this package does not name is
// kept as it is.
type Mode string

// The permission modes.
const (
	// ModeDefault asks before a tool does something that no rule allows.
	ModeDefault Mode = "default"
	// ModeAcceptEdits allows file edits and asks about the rest.
	ModeAcceptEdits Mode = "acceptEdits"
	// ModeBypassPermissions allows everything without asking.
	ModeBypassPermissions Mode = "bypassPermissions"
	// ModePlan lets the model read and plan but not act.
	ModePlan Mode = "plan"
	// ModeDontAsk denies everything that would have been asked.
	ModeDontAsk Mode = "dontAsk"
	// ModeAuto lets a classifier decide instead of a person.
	ModeAuto Mode = "auto"
)

// Valid reports whether m is one of the modes named in this package. A newer
// CLI may know more, so an invalid mode is a reason to warn, not to fail.
func (m Mode) Valid() bool {
	switch m {
	case ModeDefault, ModeAcceptEdits, ModeBypassPermissions, ModePlan, ModeDontAsk, ModeAuto:
		return true
	}
	return false
}
