package claude

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
)

// RequestFunc answers a control request of the CLI that this package does not
// know. The request is the object as it came, with its subtype; the reply is
// any value that encoding/json makes an object of, or nil. An error is told to the CLI
// as the refusal of the request. ctx ends as that of other callbacks does.
type RequestFunc func(ctx context.Context, request json.RawMessage) (reply any, err error)

// requestCallback serves a request that Options.Requests knows, nil for others.
func (s *Session) requestCallback(in *peer.Incoming) *callback {
	f, known := s.opts.Requests[in.Subtype]
	if !known {
		return nil
	}
	return &callback{
		name:    in.Subtype,
		timeout: s.opts.Timeouts.callback(),
		caller: &call{
			do: func(ctx context.Context) (json.RawMessage, error) {
				reply, err := f(ctx, json.RawMessage(in.Body))
				if err != nil || reply == nil {
					return nil, err
				}
				return jsonx.MarshalUser(reply)
			},
		},
	}
}
