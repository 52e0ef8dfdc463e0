package claude

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// dispatcher is the session as the engine sees it: where frames go.
type dispatcher struct{ *Session }

var _ peer.Handler = dispatcher{}

// Message takes a frame from the reader.
func (d dispatcher) Message(f wire.Frame) {
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
	if effect.Begun {
		resume := d.halt()
		go func() { // an abandoned prompt began all the same
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
	d.endInput()
}

// errDropping is the diagnostic for partial messages that nobody reads.
var errDropping = errors.New("messages are not read in time: partial ones are dropped")

// note keeps what the session itself needs from a frame.
func (s *Session) note(f wire.Frame) {
	if !s.heard.Load() {
		s.heard.Store(true)
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
		s.inTurn, s.early = true, nil
		if id := f.Text("session_id"); id != "" {
			s.id = id
		}
	case f.Type == "system" && f.Subtype == "commands_changed":
		var now struct {
			Commands []control.Command `json:"commands"`
		}
		if jsonx.Unmarshal(f.Line, &now) == nil {
			s.commands = now.Commands
		}
	case f.Type == "conversation_reset":
		if id := f.Text("new_conversation_id"); id != "" {
			s.id = id
		}
	case f.Type == "result":
		if !s.inTurn && len(f.Prompts()) == 0 {
			s.early = failedResult(f)
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

// Fault takes a line that is no frame.
func (d dispatcher) Fault(line []byte, err error) { d.diagnose(line, err) }

// Accept sees requests of the CLI as they arrive. Those that only a CLI sends
// which has taken our handshake confirm it; ordinary messages never do.
func (d dispatcher) Accept(req wire.Request) {
	switch req.Subtype {
	case "mcp_message":
		d.mcp.accept(req)
	case "hook_callback", "can_use_tool":
	default:
		return
	}
	d.mu.Lock()
	first := d.state < StateRunning && !d.confirmed
	d.confirmed = d.confirmed || first
	d.mu.Unlock()
	if first {
		d.log.Debug("handshake confirmed by a request", "subtype", req.Subtype)
		d.inbox.Ready()
		d.setState(StateRunning)
		d.peer.Open()
	}
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
	open := s.prompted && !s.cutOff // the stop ladder has it then
	s.mu.Unlock()
	if !open || s.inbox.NeedsControl() || s.peer.Unanswered() > 0 {
		return
	}
	s.final.Do(func() { go s.closeInput() })
}
