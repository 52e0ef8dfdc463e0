package claude

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/claude-agent-go/claude/internal/mirror"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// dispatcher is the session as the engine sees it: where frames go.
type dispatcher struct{ *Session }

var _ peer.Handler = dispatcher{}

// Message takes a frame from the reader.
func (d dispatcher) Message(f wire.Frame) {
	if f.Type == mirror.FrameType && d.mirror != nil {
		d.mirror.Put(f.Line)
		return
	}
	if f.Type == "result" && d.wasCutOff() {
		// Whatever it says, the CLI did not get to the end of its work.
		d.log.Debug("result of a turn that was cut off dropped")
		return
	}
	d.note(f)
	effect, err := d.inbox.Put(f)
	if effect.Dropping {
		d.log.Warn("messages are not read: partial ones are dropped", "dropped", d.inbox.Dropped())
		d.trace.diagnostic(Diagnostic{Err: errDropping})
	}
	if effect.StartsAbandoned {
		resume := d.halt()
		go func() { // an abandoned prompt began anyway
			defer resume()
			d.interruptQuietly()
		}()
	}
	if f.Type == "result" {
		d.sendHeld()
	}
	if err != nil {
		d.log.Warn("messages are not read: the session ends", "dropped", d.inbox.Dropped())
		d.shutdown(ErrSlow)
	}
	switch f.Type {
	case "system", "result", "command_lifecycle":
		d.noteActivity()
	}
	d.endInput()
}

// errDropping is the diagnostic for partial messages that nobody reads.
var errDropping = errors.New("messages are not read in time: partial ones are dropped")

// note keeps what the session itself needs from a frame.
func (s *Session) note(f wire.Frame) {
	if !s.start.messageSeen.Load() {
		s.start.messageSeen.Store(true)
	}
	switch f.Type {
	case "system", "conversation_reset", "result":
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Type == "system" && f.Subtype == "init":
		s.inTurn, s.start.earlyResult = true, nil
		s.checkTools(f.Line)
		if id := f.Text("session_id"); id != "" {
			s.id = id
		}
	case f.Type == "system" && f.Subtype == "commands_changed":
		m, err := message.DecodeAs(f.Type, f.Subtype, f.Line)
		if changed, ok := m.(*message.CommandsChanged); ok && err == nil {
			s.commands = changed.Commands
		}
	case f.Type == "conversation_reset":
		s.id = "" // its new_conversation_id is not the new one's: the next init has that
	case f.Type == "result":
		if !s.inTurn && len(f.Prompts()) == 0 {
			s.start.earlyResult = failedResult(f)
		}
		s.inTurn = false
	}
}

// failedResult decodes a result that is an error: a CLI that cannot start says
// why in one before it exits.
func failedResult(f wire.Frame) *message.Result {
	m, _ := message.DecodeAs(f.Type, f.Subtype, f.Line)
	if r, ok := m.(*message.Result); ok && r.Failed() {
		return r
	}
	return nil
}

// Fault takes a line that is not a frame.
func (d dispatcher) Fault(line []byte, err error) {
	if d.mirror != nil && wire.IsMirror(line) {
		d.mirror.Lose(err)
	}
	d.diagnose(line, err)
}

// Accept sees requests of the CLI as they arrive. Those that only a CLI sends
// which has taken our handshake confirm it; ordinary messages never do.
func (d dispatcher) Accept(req wire.Request) {
	d.noteActivity()
	switch req.Subtype {
	case "mcp_message":
		d.mcp.accept(req)
		if d.plan.resumes {
			return // the servers were on the command line, too
		}
	case "hook_callback", "can_use_tool":
	default:
		return
	}
	d.mu.Lock()
	first := d.life.state < StateRunning && !d.start.confirmed
	d.start.confirmed = d.start.confirmed || first
	d.mu.Unlock()
	if first {
		d.log.Debug("handshake confirmed by a request", "subtype", req.Subtype)
		d.inbox.Ready()
		d.setState(StateRunning)
		d.peer.Open()
	}
}

// settled is told that a request of the CLI awaits nothing more.
func (s *Session) settled() {
	s.noteActivity()
	s.endInput()
}

// Request answers a request of the CLI, off the reader.
func (d dispatcher) Request(ctx context.Context, in *peer.Incoming) {
	if cb := d.callback(in); cb != nil {
		d.invoke(ctx, in, cb)
		return
	}
	d.log.Warn("request of an unknown kind refused", "subtype", in.Subtype, "request_id", in.ID.String())
	in.Fail(&wire.ReplyError{
		Message: "Unsupported control request subtype: " + in.Subtype,
		Code:    "unsupported_request",
	})
}

// Refuse answers a request for which there is no room, as if its callback had
// failed.
func (d dispatcher) Refuse(in *peer.Incoming) {
	if cb := d.callback(in); cb != nil {
		d.failed(in, cb, errCapacity)
	}
}

// endInput closes stdin of a one-shot session once nothing needs it any more:
// the prompt has its result, no turn and no background agent runs, and no
// request awaits an answer. It is called after everything that can bring that
// about.
func (s *Session) endInput() {
	if !s.oneShot || s.plan.oneWay {
		return
	}
	s.mu.Lock()
	open := s.prompted && !s.life.cutOff // the stop ladder has it then
	s.mu.Unlock()
	if !open || s.inbox.NeedsControl() || s.peer.Unanswered() > 0 {
		return
	}
	s.inputEnd.Do(func() { go s.closeInput() })
}

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
	s.badLines++
	n := s.badLines
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

// keepStray keeps the end of what a CLI that is starting writes to its output
// and is not JSON: mostly it says why it does not start.
func (s *Session) keepStray(line []byte) {
	if !s.starting() {
		return
	}
	text := s.head(line, maxStray/4)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start.stray = append(s.start.stray, text)
	size := 0
	for i := len(s.start.stray) - 1; i >= 0; i-- {
		if size += len(s.start.stray[i]) + 1; size > maxStray {
			s.start.stray = append([]string(nil), s.start.stray[i+1:]...)
			break
		}
	}
}

// starting reports whether the CLI has not yet shown that it runs: by the
// handshake, or by a message if there is none.
func (s *Session) starting() bool {
	if s.plan.oneWay {
		return !s.start.messageSeen.Load()
	}
	return s.State() < StateRunning
}

// strayOutput returns what was kept, and the rest of a line that was cut by the
// end of the output.
func (s *Session) strayOutput() string {
	s.mu.Lock()
	lines := append([]string(nil), s.start.stray...)
	s.mu.Unlock()
	select {
	case <-s.life.outputEnd:
		if cut, ok := errors.AsType[*ndjson.TruncatedError](s.life.outputErr); ok && !s.start.messageSeen.Load() {
			lines = append(lines, s.head(cut.Head, maxStray/4))
		}
	default:
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
