package claude

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
)

// question is a userCall that asks a person.
type question struct {
	unanswered string // the reply if no person answers
	runFunc
}

func (q question) fail(error) json.RawMessage { return json.RawMessage(q.unanswered) }

// elicitationCallback passes on a question from an MCP server. A question
// without an answer, for whatever reason, is declined: the server and
// the session continue without it.
func (r *callbacks) elicitationCallback(in *peer.Incoming) *callback {
	e := &control.Elicitation{RequestID: in.ID.String()}
	decodeErr := jsonx.Unmarshal(in.Body, e)
	return &callback{
		name:    e.ServerName,
		timeout: r.opts.Timeouts.Callback,
		call: question{`{"action":"decline"}`, func(ctx context.Context) (json.RawMessage, error) {
			switch {
			case decodeErr != nil:
				return nil, decodeErr
			case r.opts.OnElicitation == nil:
				return jsonx.Marshal(control.Decline())
			}
			answer, err := r.opts.OnElicitation(ctx, e)
			if err != nil {
				return nil, err
			}
			return jsonx.Marshal(answer)
		}},
	}
}

// dialogCallback shows a dialog of the CLI. A dialog that cannot be shown is
// cancelled; an error reply would leave it open.
func (r *callbacks) dialogCallback(in *peer.Incoming) *callback {
	d := &control.Dialog{RequestID: in.ID.String()}
	decodeErr := jsonx.Unmarshal(in.Body, d)
	return &callback{
		name:    d.Kind,
		timeout: r.opts.Timeouts.Callback,
		call: question{`{"behavior":"cancelled"}`, func(ctx context.Context) (json.RawMessage, error) {
			switch {
			case decodeErr != nil:
				return nil, decodeErr
			case r.opts.OnUserDialog == nil:
				return jsonx.Marshal(control.CancelDialog())
			}
			answer, err := r.opts.OnUserDialog(ctx, d)
			if err != nil {
				return nil, err
			}
			return jsonx.Marshal(answer)
		}},
	}
}
