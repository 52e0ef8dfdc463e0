package claudetest

import (
	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/secret"
)

// hider returns what takes secrets out of an entry.
func (r *Redaction) hider(launch *claude.Launch) func(TranscriptEntry) TranscriptEntry {
	secrets := secret.FromEnv(launch.Env)
	secrets.AddValues(launch.Secrets...)
	secrets.Add(r.Secrets...)
	return func(e TranscriptEntry) TranscriptEntry {
		e.Msg = secrets.JSON(e.Msg)
		if r.Line != nil {
			e.Msg = r.Line(e.Dir, e.Msg)
		}
		return e
	}
}
