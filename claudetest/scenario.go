package claudetest

import (
	"time"

	"github.com/claude-agent-go/claude/host"
)

// Script describes a scripted CLI: the answers of its model, the output of its
// tools, and its faults. [ParseScript] reads one from a file.
type Script struct {
	// Replies are the answers of the model, in order: several for a turn with
	// tools. After them, it answers [DefaultText].
	Replies []Reply
	// Model computes the answers instead. It may be called by several
	// sessions at once.
	Model func(*ModelCall) Reply
	// Tools holds functions of tools by name; the output in a [ScriptedCall]
	// takes precedence. Without either, a tool returns "ok", and a tool of a
	// server in the client runs there.
	Tools map[string]host.RunFunc
	// Sessions are the ids of conversations that can be resumed, in addition
	// to those that the same [CLI] has had. Any other id ends the CLI with an
	// error.
	Sessions []string
	// Options is the CLI's description of itself. The command line takes
	// precedence.
	Options host.Options

	// Chunk writes the output in pieces of this many bytes.
	Chunk int
	// Glue writes lines together with the next one, as long as nothing is
	// waiting for them.
	Glue bool
	// SlowRead waits this long before each piece of the input.
	SlowRead time.Duration
	// IgnoreEOF keeps the CLI alive when its input has ended.
	IgnoreEOF bool
	// IgnoreTerm keeps it alive after SIGTERM.
	IgnoreTerm bool
	// Grandchild starts a process that holds the CLI's pipes open after the
	// CLI has ended. It works only for a CLI that is its own process.
	Grandchild bool
	// Faults are things that go wrong at known moments.
	Faults []Fault
}
