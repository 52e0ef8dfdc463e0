package claudetest

import (
	"time"

	"github.com/claude-agent-go/claude/host"
)

// Script is what a scripted CLI does: what its model says, what its tools give
// back, and what goes wrong. [ParseScript] reads one from a file.
type Script struct {
	// Replies are the answers of the model, in order: several for a turn with
	// tools. After them it says [DefaultText].
	Replies []Reply
	// Model computes the answers instead. It may be called by several
	// sessions at once.
	Model func(*ModelCall) Reply
	// Tools says what tools give back, by name, unless a [ScriptedCall] says it.
	// Without either a tool says "ok", and one of a server in the client runs
	// there.
	Tools map[string]host.RunFunc
	// Sessions are the ids of conversations that can be resumed, besides those
	// that the same [CLI] has had. Another one ends the CLI with an error.
	Sessions []string
	// Options is what the CLI says of itself. The command line goes before
	// it.
	Options host.Options

	// Chunk writes the output in pieces of so many bytes.
	Chunk int
	// Glue writes lines together with the next one, as long as nobody waits
	// for them.
	Glue bool
	// SlowRead waits so long before each piece of the input.
	SlowRead time.Duration
	// IgnoreEOF lets the CLI live on when its input has ended.
	IgnoreEOF bool
	// IgnoreTerm lets it live on after SIGTERM.
	IgnoreTerm bool
	// Grandchild starts a process that holds the CLI's pipes open after it
	// has ended. Only a CLI that is a process of its own can.
	Grandchild bool
	// Faults go wrong at known moments.
	Faults []Fault
}
