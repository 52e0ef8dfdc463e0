package permission

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is the permission mode of a session: how the CLI decides tool calls that
// no rule covers. The set is open; a mode this package does not name is kept
// unchanged.
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
func (m Mode) Valid() bool { return slices.Contains(Modes(), m) }

// Modes returns the modes named in this package. The caller owns the slice.
func Modes() []Mode {
	return []Mode{ModeDefault, ModeAcceptEdits, ModeBypassPermissions, ModePlan, ModeDontAsk, ModeAuto}
}

// Check returns an error that lists the modes unless m is one of them.
func (m Mode) Check() error {
	if m.Valid() {
		return nil
	}
	var names []string
	for _, known := range Modes() {
		names = append(names, string(known))
	}
	return fmt.Errorf("unknown mode %q: the modes are %s", string(m), strings.Join(names, ", "))
}
