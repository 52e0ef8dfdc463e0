package claudetest

import (
	"encoding/json"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/secret"
)

// hider returns what takes secrets out of an entry.
func (r *Redaction) hider(launch *claude.Launch) func(TranscriptEntry) TranscriptEntry {
	secrets := secret.FromEnv(launch.Env)
	secrets.AddValues(launch.Secrets...)
	secrets.Add(r.Secrets...)
	return func(e TranscriptEntry) TranscriptEntry {
		e.Msg = hideLine(secrets, e.Msg)
		if r.Line != nil {
			e.Msg = r.Line(e.Dir, e.Msg)
		}
		return e
	}
}

// hideLine takes secrets out of a line. One that is not JSON, such as the last one of
// a CLI that was killed, may still be the beginning of some.
func hideLine(secrets *secret.Set, msg json.RawMessage) json.RawMessage {
	var line struct {
		Text string `json:"_raw"`
	}
	if jsonx.Unmarshal(msg, &line) == nil && line.Text != "" {
		if hidden, err := jsonx.Marshal(map[string]string{"_raw": secrets.HeadJSON([]byte(line.Text), len(line.Text))}); err == nil {
			msg = hidden
		}
	}
	return secrets.JSON(msg)
}
