package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// work runs a turn: a new one, or the one that a session waits in.
func (b *bot) work(ctx context.Context, session, prompt string) error {
	gate := approval.NewGate(approval.NewQuestions(b.db, project), conversation, store.Fence{}, approval.Options{
		Patience: b.patience, // then the call is deferred, and needs no process
		Needs:    approval.NeedsRules("Bash"),
	})
	opts := &claude.Options{
		Store:     &claude.StoreOptions{Store: b.db, Project: project},
		Resume:    session,
		Transport: b.cli,
	}
	if err := gate.Install(opts); err != nil {
		return err
	}
	s, err := claude.Connect(ctx, opts)
	if err != nil {
		return err
	}
	gate.Attach(s)
	defer context.AfterFunc(ctx, func() { // told to end: the call is deferred at once
		_ = gate.Park(context.WithoutCancel(ctx))
	})()
	res, err := b.turn(context.WithoutCancel(ctx), s, prompt)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if id, ok := gate.Deferred(); ok {
		fmt.Fprintln(b.w, "waits for", id)
		return nil
	}
	fmt.Fprintln(b.w, res.Text)
	return nil
}

// turn reads to the end of a turn. A resumed session makes its deferred call by
// itself: it is sent nothing.
func (b *bot) turn(ctx context.Context, s *claude.Session, prompt string) (*message.Result, error) {
	if prompt != "" {
		return s.Ask(ctx, prompt)
	}
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			return nil, err
		}
		if res, ok := msg.(*message.Result); ok {
			return res, nil
		}
	}
	return nil, errors.New("the session has ended")
}
