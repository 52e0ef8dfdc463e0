package fleet

import (
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/proc"
)

// environ is the environment that the CLI would get.
func environ(o *claude.Options) []string {
	if o.Env != nil {
		return o.Env
	}
	return proc.Inherit(os.Environ())
}
