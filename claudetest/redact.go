package claudetest

import (
	"encoding/json"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/secret"
)

// hider takes secrets out of the entries of a session. It is safe for concurrent use.
type hider struct {
	mu      sync.Mutex
	secrets *secret.Set
	lines   *secret.Lines[RecordingEntry]
	ended   bool
}

// hider returns a function that passes entries on without their secrets.
func (r *Redaction) hider(launch *claude.Launch, write func(RecordingEntry)) *hider {
	secrets := secret.FromEnv(launch.Env)
	secrets.AddValues(launch.Secrets...)
	secrets.Add(r.Secrets...)
	return &hider{secrets: secrets, lines: secret.NewLines(secrets, func(e RecordingEntry, line []byte) {
		if e.Msg = line; r.Line != nil {
			e.Msg = r.Line(e.Dir, e.Msg)
		}
		write(e)
	})}
}

// next takes an entry.
func (h *hider) next(e RecordingEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := hideRaw(h.secrets, e.Msg)
	if e.Dir == DirOut {
		h.lines.Next(e, line)
	} else {
		h.lines.Other(e, line)
	}
	if h.ended { // the output has; what follows is not streamed
		h.lines.End()
	}
}

// end is called when the output has ended. It passes on what was held back.
func (h *hider) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.lines.End()
}

// hideRaw takes secrets out of a line that is not JSON, such as the last one of a CLI
// that was killed: it may be the beginning of some.
func hideRaw(secrets *secret.Set, msg json.RawMessage) json.RawMessage {
	var line struct {
		Text string `json:"_raw"`
	}
	if jsonx.Unmarshal(msg, &line) == nil && line.Text != "" {
		if hidden, err := jsonx.Marshal(map[string]string{"_raw": secrets.HeadJSON([]byte(line.Text), len(line.Text))}); err == nil {
			msg = hidden
		}
	}
	return msg
}
