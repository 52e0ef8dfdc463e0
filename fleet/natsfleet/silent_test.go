package natsfleet_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// One who sends a prompt while no server answers learns so in time. The prompt is sent
// again under its id, and accepted once.
func TestSendWhileNoServerAnswers(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	g := newGate(t, strings.TrimPrefix(c.URL(), "nats://"))
	f, err := fleet.Open(t.Context(), fleet.Options{Store: openStore(t, g.url()), Project: "p", MaxLive: fleet.NoCLIs, StoreTimeout: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(context.Background())
	const id = "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a11"
	g.hold()
	begin := time.Now()
	_, err = f.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "one"})
	doubt, ok := errors.AsType[*fleet.InDoubtError](err)
	if took := time.Since(begin); !ok || !errors.Is(err, fleet.ErrTimeout) || doubt.Prompt != id || took > 15*time.Second {
		t.Fatalf("%v after %v", err, took)
	}
	g.heal()
	eventually(t, "the prompt cannot be sent again", func() bool {
		_, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "one"})
		return err == nil
	})
	if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 1 {
		t.Errorf("%d prompts wait, want 1 (%v)", info.Queued, err)
	}
}

// Two of three servers are down, so none can accept a prompt. Send ends in time, with an
// error that names the prompt as one in doubt. The prompt is accepted once when it is
// sent again.
func TestSendWithoutMajority(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := fleet.Open(t.Context(), fleet.Options{Store: s, Project: "p", MaxLive: fleet.NoCLIs, StoreTimeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(context.Background())
	const id = "7b1d5c8e-6a3f-4e0b-9c55-0d2f8f1e2a12"
	c.Stop(1)
	c.Stop(2)
	begin := time.Now()
	_, err = f.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "one"})
	doubt, ok := errors.AsType[*fleet.InDoubtError](err)
	if took := time.Since(begin); !ok || !errors.Is(err, fleet.ErrTimeout) || doubt.Prompt != id || took > 15*time.Second {
		t.Errorf("%v after %v", err, took)
	} else {
		t.Logf("after %v: %v", took, err)
	}
	c.Start(1)
	c.Start(2)
	eventually(t, "the prompt cannot be sent again", func() bool {
		_, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: id, Text: "one"})
		return err == nil
	})
	if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 1 {
		t.Errorf("%d prompts wait, want 1 (%v)", info.Queued, err)
	}
}
