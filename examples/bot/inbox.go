package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
)

// list shows what waits for a person.
func (b *bot) list(ctx context.Context) error {
	for q, err := range approval.NewQuestions(b.db, project).List(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(b.w, "%s %s %s (%s)\n%s", q.ID, q.Tool, q.Input, q.Reason, q.Diff)
	}
	return nil
}

// decide decides about the input that list has shown.
func (b *bot) decide(ctx context.Context, id string, d permission.Decision) error {
	inbox := approval.NewQuestions(b.db, project)
	q, err := inbox.Get(ctx, strings.TrimSpace(id))
	if err != nil {
		return err
	}
	_, err = inbox.Decide(ctx, q.ID, approval.Answer{Decision: d, By: os.Getenv("USER") + "@shell", Digest: q.Digest})
	if first, ok := errors.AsType[*approval.DecidedError](err); ok {
		return fmt.Errorf("%s was faster", first.By)
	}
	return err
}
