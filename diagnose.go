package claude

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/wire"
)

const (
	// maxHead is how much of a bad line is logged.
	maxHead = 200
	// headWindow is how much of it is searched for secrets before, so that
	// none is shown because it was cut.
	headWindow = 4 << 10
	// maxStray is how much of what is not JSON a start error shows.
	maxStray = 4 << 10
)

// diagnose reports a line that is not a frame, or a frame that is odd.
func (s *Session) diagnose(line []byte, err error) {
	s.mu.Lock()
	s.faults++
	n := s.faults
	s.mu.Unlock()
	if s.log.Enabled(context.Background(), slog.LevelError) {
		s.log.Error("bad line from the CLI", "error", err, "count", n, "bytes", len(line), "head", s.head(line, maxHead))
	}
	if _, missing := errors.AsType[*wire.MissingError](err); !missing {
		s.keepStray(line)
	}
	s.trace.diagnostic(Diagnostic{Err: err, Line: line, Count: n})
}

// head returns the beginning of a line that cannot be read, without secrets, at
// most n bytes of it.
func (s *Session) head(line []byte, n int) string {
	hide := s.hidden()
	cut := min(len(line), headWindow+hide.Longest())
	// With a quote behind it, a value that never ends is found as well.
	text := strings.TrimSuffix(hide.Hide(string(line[:cut])+`"`), `"`)
	if len(text) > n {
		text = text[:n] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// hidden are the secrets that this session knows of.
func (s *Session) hidden() *secret.Set {
	s.secretsOnce.Do(func() {
		s.secrets = secret.FromEnv(s.plan.env)
		s.secrets.AddValues(s.plan.secrets()...)
	})
	return s.secrets
}

// keepStray keeps the end of what a CLI that is starting writes to its output
// and is not JSON: mostly it says why it does not start.
func (s *Session) keepStray(line []byte) {
	if !s.starting() {
		return
	}
	text := s.head(line, maxStray/4)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stray = append(s.stray, text)
	size := 0
	for i := len(s.stray) - 1; i >= 0; i-- {
		if size += len(s.stray[i]) + 1; size > maxStray {
			s.stray = append([]string(nil), s.stray[i+1:]...)
			break
		}
	}
}

// starting reports whether the CLI has not yet shown that it runs: by the
// handshake, or by a message if there is none.
func (s *Session) starting() bool {
	if s.plan.oneWay {
		return !s.heard.Load()
	}
	return s.State() < StateRunning
}

// strayOutput returns what was kept, and the rest of a line that was cut by the
// end of the output.
func (s *Session) strayOutput() string {
	s.mu.Lock()
	lines := append([]string(nil), s.stray...)
	s.mu.Unlock()
	select {
	case <-s.readEnd:
		if cut, ok := errors.AsType[*ndjson.TruncatedError](s.readErr); ok && !s.heard.Load() {
			lines = append(lines, s.head(cut.Head, maxStray/4))
		}
	default:
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
