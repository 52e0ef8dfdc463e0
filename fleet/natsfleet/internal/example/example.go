// Package example has the worker and the service that the README mentions.
package example

import (
	"context"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/message"
)

// RunWorker runs conversations until ctx ends, which a program gets from
// signal.NotifyContext. Then turns may end for a while, and the others continue on
// another worker.
func RunWorker(ctx context.Context, url string, optionsFor func(key string) *claude.Options) error {
	w, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: url, Project: "prod"},
		Fleet: fleet.Options{
			MaxLive: 8, // CLIs at the same time
			Session: func(_ context.Context, key string) (*claude.Options, error) { return optionsFor(key), nil },
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return w.Close(context.WithoutCancel(ctx))
}

// Ask sends a prompt to a conversation and returns the answer, whichever worker
// gives it.
func Ask(ctx context.Context, url, key, prompt string) (string, error) {
	f, err := natsfleet.Connect(ctx, natsfleet.Options{URL: url, Project: "prod"})
	if err != nil {
		return "", err
	}
	defer f.Close(ctx)
	for msg, err := range f.Run(ctx, key, prompt) {
		if err != nil {
			return "", err
		}
		if result, ok := msg.(*message.Result); ok {
			return result.Text, nil
		}
	}
	return "", claude.ErrNoResult
}
