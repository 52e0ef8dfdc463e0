package officialsdk

import "github.com/claude-agent-go/claude/internal/test/npm"

// Name is the name of the SDK in npm.
const Name = "@anthropic-ai/claude-agent-sdk"

// Version is the one whose CLI the project is tested with.
const Version = "0.3.325"

// Package returns the SDK as a package of npm. The optional packages that it names
// hold the CLI itself, which is not needed.
func Package() npm.Package {
	return npm.Package{Name: Name, Version: Version, Has: "sdk.mjs", Flags: []string{"--omit=optional"}}
}
