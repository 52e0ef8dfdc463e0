package natsfleet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/store"
)

const chainTTL = 400 * time.Millisecond

var chainKey = store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000022"}

func openNamed(t *testing.T, url, name string, b beside) *natsfleet.Store {
	t.Helper()
	s, err := natsfleet.OpenStore(t.Context(), b.options(natsfleet.Options{URL: url, Name: name, Logger: quiet()}, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// deferred sends a prompt, and returns what it waits for.
func deferred(t *testing.T, f *natsfleet.Client, key, prompt string) (id string, q approval.Question) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	_, err := answer(ctx, f, key, prompt)
	waits, ok := errors.AsType[*fleet.DeferredError](err)
	if !ok {
		t.Fatalf("%s: not deferred: %v", prompt, err)
	}
	q, err = f.Approvals().Get(t.Context(), waits.Question)
	if err != nil || q.State != approval.StateOpen {
		t.Fatalf("%s: the question: %+v, %v", prompt, q, err)
	}
	return waits.Prompt, q
}
