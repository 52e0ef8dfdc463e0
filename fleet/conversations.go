package fleet

import (
	"context"
	"iter"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Conversations is the part of a fleet that programs use, wherever it runs. [Fleet]
// implements it, and [Fleet.Tenant] returns it for the conversations of one tenant. Its
// methods may be called from any goroutine. A type of another package embeds one, and
// overrides what it likes: so the interface can get methods in a later version.
type Conversations interface {
	Run(ctx context.Context, key, prompt string) iter.Seq2[message.Message, error]
	Send(ctx context.Context, key string, p Prompt) (id string, err error)
	Prompt(ctx context.Context, key, id string) (Ticket, error)
	Wait(ctx context.Context, key, id string) (Ticket, error)
	Outcomes(ctx context.Context, after Cursor) iter.Seq2[PromptOutcome, error]
	Cancel(ctx context.Context, key, id string) error
	Events(ctx context.Context, key string, after Cursor) iter.Seq2[ConversationEvent, error]
	Interrupt(ctx context.Context, key string) error
	SetModel(ctx context.Context, key, model string) error
	SetPermissionMode(ctx context.Context, key string, mode permission.Mode) error
	Describe(ctx context.Context, key string, d Description) error
	Retry(ctx context.Context, key string) error
	Prewarm(ctx context.Context, key string) error
	Rewind(ctx context.Context, key string, r RewindTo) (control.Rewind, error)
	Get(ctx context.Context, key string) (ConversationInfo, error)
	Commands(ctx context.Context, key string) ([]control.Command, error)
	List(ctx context.Context) iter.Seq2[ConversationInfo, error]
	Fork(ctx context.Context, key, newKey, upTo string) error
	Resume(ctx context.Context, key string, from ResumeFrom) error
	Delete(ctx context.Context, key string) error
	Approvals() approval.Inbox

	conversations() // only here
}

// Tenants is [Conversations] that can be narrowed to one tenant, for programs that
// serve several and want to be tested without a [Fleet].
type Tenants interface {
	Conversations
	// Tenant returns the conversations of one tenant, see [Fleet.Tenant].
	Tenant(name string) Conversations
}

var _ Tenants = (*Fleet)(nil)

func (f *Fleet) conversations() {}

func (t tenant) conversations() {}
