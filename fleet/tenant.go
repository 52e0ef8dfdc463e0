package fleet

import (
	"context"
	"errors"
	"iter"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

type tenant struct {
	f    *Fleet
	name string
}

// check refuses the key of another tenant.
func (t tenant) check(key string) error {
	if t.name == "" || TenantOf(key) != t.name {
		return &ConversationError{key, ErrForeign}
	}
	return nil
}

func (t tenant) Run(ctx context.Context, key, prompt string) iter.Seq2[message.Message, error] {
	if err := t.check(key); err != nil {
		return func(yield func(message.Message, error) bool) { yield(nil, err) }
	}
	return t.f.Run(ctx, key, prompt)
}

func (t tenant) Send(ctx context.Context, key string, p Prompt) (string, error) {
	if err := t.check(key); err != nil {
		return "", err
	}
	return t.f.Send(ctx, key, p)
}

func (t tenant) Prompt(ctx context.Context, key, id string) (Ticket, error) {
	if err := t.check(key); err != nil {
		return Ticket{}, err
	}
	return t.f.Prompt(ctx, key, id)
}

func (t tenant) Wait(ctx context.Context, key, id string) (Ticket, error) {
	if err := t.check(key); err != nil {
		return Ticket{}, err
	}
	return t.f.Wait(ctx, key, id)
}

func (t tenant) Cancel(ctx context.Context, key, id string) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.Cancel(ctx, key, id)
}

func (t tenant) Events(ctx context.Context, key string, after Cursor) iter.Seq2[ConversationEvent, error] {
	if err := t.check(key); err != nil {
		return func(yield func(ConversationEvent, error) bool) { yield(ConversationEvent{}, err) }
	}
	return t.f.Events(ctx, key, after)
}

func (t tenant) Interrupt(ctx context.Context, key string) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.Interrupt(ctx, key)
}

func (t tenant) SetModel(ctx context.Context, key, model string) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.SetModel(ctx, key, model)
}

func (t tenant) SetPermissionMode(ctx context.Context, key string, mode permission.Mode) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.SetPermissionMode(ctx, key, mode)
}

func (t tenant) Describe(ctx context.Context, key string, d Description) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.Describe(ctx, key, d)
}

func (t tenant) Retry(ctx context.Context, key string) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.Retry(ctx, key)
}

func (t tenant) Prewarm(ctx context.Context, key string) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.Prewarm(ctx, key)
}

func (t tenant) Rewind(ctx context.Context, key string, r RewindTo) (control.Rewind, error) {
	if err := t.check(key); err != nil {
		return control.Rewind{}, err
	}
	return t.f.Rewind(ctx, key, r)
}

func (t tenant) Get(ctx context.Context, key string) (ConversationInfo, error) {
	if err := t.check(key); err != nil {
		return ConversationInfo{}, err
	}
	return t.f.Get(ctx, key)
}

func (t tenant) Commands(ctx context.Context, key string) ([]control.Command, error) {
	if err := t.check(key); err != nil {
		return nil, err
	}
	return t.f.Commands(ctx, key)
}

func (t tenant) Fork(ctx context.Context, key, newKey, upTo string) error {
	for _, k := range []string{key, newKey} {
		if err := t.check(k); err != nil {
			return err
		}
	}
	return t.f.Fork(ctx, key, newKey, upTo)
}

func (t tenant) Resume(ctx context.Context, key string, from ResumeFrom) error {
	if err := t.check(key); err != nil {
		return err
	}
	err := t.f.Resume(ctx, key, from)
	if held, ok := errors.AsType[*ResumedError](err); ok && TenantOf(held.Key) != t.name {
		return &ConversationError{key, &ResumedError{Session: held.Session}}
	}
	return err
}

func (t tenant) Delete(ctx context.Context, key string) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.f.Delete(ctx, key)
}

func (t tenant) List(ctx context.Context) iter.Seq2[ConversationInfo, error] {
	if t.name == "" {
		return func(func(ConversationInfo, error) bool) {}
	}
	return t.f.reports.listTenant(ctx, t.name)
}

func (t tenant) Outcomes(ctx context.Context, after Cursor) iter.Seq2[PromptOutcome, error] {
	return t.f.outcomesOf(ctx, after, func(key string) bool { return t.name != "" && TenantOf(key) == t.name })
}

func (t tenant) Approvals() approval.Inbox { return tenantInbox{t.f.Approvals(), t.name} }

// tenantInbox is the inbox without the questions of other tenants, which do not exist
// for this one.
type tenantInbox struct {
	approval.Inbox
	tenant string
}

func (i tenantInbox) Get(ctx context.Context, id string) (approval.Question, error) {
	q, err := i.Inbox.Get(ctx, id)
	if err == nil && TenantOf(q.Conversation) != i.tenant {
		return approval.Question{}, &ConversationError{id, ErrForeign}
	}
	return q, err
}

func (i tenantInbox) own(all iter.Seq2[approval.Question, error]) iter.Seq2[approval.Question, error] {
	return func(yield func(approval.Question, error) bool) {
		for q, err := range all {
			if err == nil && TenantOf(q.Conversation) != i.tenant {
				continue
			}
			if !yield(q, err) {
				return
			}
		}
	}
}

func (i tenantInbox) List(ctx context.Context, f approval.Filter) iter.Seq2[approval.Question, error] {
	return i.own(i.Inbox.List(ctx, f))
}

func (i tenantInbox) Watch(ctx context.Context, f approval.Filter) iter.Seq2[approval.Question, error] {
	return i.own(i.Inbox.Watch(ctx, f))
}

func (i tenantInbox) Decide(ctx context.Context, id string, a approval.Answer) (approval.Question, error) {
	if _, err := i.Get(ctx, id); err != nil {
		return approval.Question{}, err
	}
	return i.Inbox.Decide(ctx, id, a)
}

func (i tenantInbox) Acknowledge(ctx context.Context, id, by string) (approval.Question, error) {
	if _, err := i.Get(ctx, id); err != nil {
		return approval.Question{}, err
	}
	return i.Inbox.Acknowledge(ctx, id, by)
}
