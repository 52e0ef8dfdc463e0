package main

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/operation"
)

// operations are the control requests that can be tried.
func operations() (all []*operation.Operation) {
	for op := range operation.All() {
		if !op.Untried {
			all = append(all, op)
		}
	}
	return all
}

// harmless is a payload for an operation, nil for none.
func harmless(op *operation.Operation) any {
	if op.Try == "" {
		return nil
	}
	return json.RawMessage(op.Try)
}

// unknown reports whether a refusal means that the CLI does not know the request,
// and not that it cannot do it now.
func unknown(e *claude.ControlError) bool {
	return e.Code == "unsupported_request" || strings.HasPrefix(e.Message, "Unsupported control request")
}
