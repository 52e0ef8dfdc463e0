package acp

import (
	"slices"

	"github.com/claude-agent-go/claude/permission"
)

// echoes are changes of the mode that the editor has asked for and the CLI has
// not reported yet. A report of one of them is late news: the editor may have
// chosen another mode since, and must not see the first one again. The type
// is a plain value, and its zero value is empty.
type echoes []permission.Mode

// expect notes a change that the editor asks for.
func (e *echoes) expect(mode permission.Mode) { *e = append(*e, mode) }

// news reports whether the CLI has changed the mode by itself. A report that
// answers a change also answers those before it.
func (e *echoes) news(mode permission.Mode) bool {
	i := slices.Index(*e, mode)
	if i < 0 {
		return true
	}
	*e = slices.Delete(*e, 0, i+1)
	return false
}

// settle forgets the changes that were never reported, such as a change to
// the mode that was already set.
func (e *echoes) settle() { *e = nil }
