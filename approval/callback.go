package approval

import (
	"context"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Callback returns the inbox as a permission callback, for sessions that only
// wait in their own process and never defer:
//
//	inbox := approval.NewQuestions(store.Memory(), "bot")
//	opts.CanUseTool = inbox.Callback("user-42", approval.Options{Patience: time.Hour})
//
// It asks about calls that the CLI's rules leave to a person. A call that no
// person decides within Patience is denied; a question that the CLI withdraws
// is gone. Options.Needs and Repeatable are not used. The question of an
// allowed call is settled as [OutcomeAllowed]. The callback may be called from several
// goroutines, and used for several sessions of the same conversation.
func (qs *Questions) Callback(conversation string, o Options) permission.Func {
	g := NewGate(qs, conversation, store.Fence{}, o)
	return func(ctx context.Context, r *permission.Request) (permission.Decision, error) {
		d, err := g.permit(ctx, r)
		if err == nil && d.Behavior() == permission.BehaviorAllow {
			err = g.settle(ctx, r.ToolUseID, OutcomeAllowed)
		}
		return d, err
	}
}

// ElicitationTool is the Tool of a question that an MCP server asks. Its input is
// the form: members mcp_server_name, message, requested_schema and others; see
// [control.Elicitation].
const ElicitationTool = "Elicitation"

// Elicitations returns the inbox as the callback for questions of MCP servers.
// Allowing such a question with an input ([permission.AllowWith]) answers the
// server with that content; denying it declines, and [permission.DenyAndStop]
// cancels. The CLI cannot defer these questions: the process waits, and a
// question without an answer within Patience is declined.
func (qs *Questions) Elicitations(conversation string, o Options) control.ElicitationFunc {
	return NewGate(qs, conversation, store.Fence{}, o).elicit
}

// elicit puts a question of an MCP server to a person.
func (g *Gate) elicit(ctx context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
	input := e.Raw
	if len(input) == 0 {
		var err error
		if input, err = jsonx.Marshal(e); err != nil {
			return control.Decline(), err
		}
	}
	// Other sessions reuse the request ids.
	id := "elicitation-" + uuid.New()
	q := g.question(ElicitationTool, id, input, "", g.at(""))
	q.Reason = e.Message
	d, err := g.ask(ctx, q, false)
	switch {
	case err != nil:
		return control.Decline(), err
	case d.Interrupts():
		return control.Cancel(), nil
	case d.Behavior() != permission.BehaviorAllow:
		return control.Decline(), nil
	}
	if err := g.settle(ctx, id, OutcomeAllowed); err != nil {
		return control.Decline(), err
	}
	content, _ := d.Input() // nil if there is none, as when the user visited an address
	return control.Accept(content), nil
}
