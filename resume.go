package claude

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/claude-agent-go/claude/hook"
)

// A session that is resumed may begin to work before anybody asks: if a hook has
// deferred a tool call, the CLI makes that call as soon as it has read the
// session. Hooks and MCP servers of this process come with the handshake. A CLI
// that does not wait for it makes the call without them.

// awaitFlag makes the CLI wait for the handshake before it does anything.
const awaitFlag = "--await-initialize"

// When the CLI learnt to wait, and when to defer a call. A CLI that cannot defer
// has nothing to continue.
var (
	sinceAwait = since{"2.1.260", "2.1.265"}
	sinceDefer = since{has: "2.1.89"}
)

// resumes reports whether the session is one that was begun before.
func (o *Options) resumes() bool { return o.Resume != "" || o.Continue }

// awaitHandshake makes a CLI that resumes a session wait for the handshake. One
// that is too old for that is refused if a hook could be passed by. If its version
// is not known it gets the flag, and then it shows.
func (p *plan) awaitHandshake(o *Options, use use) error {
	if !o.resumes() || p.oneWay || hasFlag(p.args, awaitFlag) {
		return nil
	}
	version := ""
	if o.Transport == nil {
		version = installedVersion(o.CLIPath, p.env)
	}
	if sinceAwait.missing(version) || slices.Contains(use.without, awaitFlag) {
		if h := o.mustBeAsked(version); h != nil {
			return o.unguarded(h, version)
		}
		return nil
	}
	p.args = slices.Insert(p.args, 0, awaitFlag)
	if o.mustBeAsked(version) == nil {
		p.dispensable = append(p.dispensable, awaitFlag)
	}
	return nil
}

// mustBeAsked returns a hook that nothing may pass without being asked, nil if
// there is none: one that is to fail closed, or one at a gate for which nobody has
// said what its failure means. A permission callback is not among them. The
// command line says that there is one, so the CLI asks it at any time.
func (o *Options) mustBeAsked(version string) *hook.Hook {
	for i := range o.Hooks {
		h := &o.Hooks[i]
		if o.failsClosed(*h) || o.undecided(*h) && h.Event.Gate() && !sinceDefer.missing(version) {
			return h
		}
	}
	return nil
}

// unguarded is the error of a CLI that would not ask a hook.
func (o *Options) unguarded(h *hook.Hook, version string) error {
	field := "Resume"
	if o.Continue {
		field = "Continue"
	}
	return &OptionError{field, fmt.Sprintf("with a hook of %s the CLI must be %s or newer, this one is %s: older ones may continue with a tool call before the hook is registered",
		h.Event, sinceAwait.has, cmp.Or(version, "older"))}
}
