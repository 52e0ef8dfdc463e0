package natsfleet_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// smallMessages starts a server that takes messages of 32 KB only.
func smallMessages(t *testing.T) *natstest.Cluster {
	t.Helper()
	return natstest.Start(t, natstest.Options{Configure: func(o *server.Options) { o.MaxPayload = 32 << 10 }})
}

// Prompts and answers may be larger than a message of the server.
func TestLargePromptsAndAnswers(t *testing.T) {
	t.Parallel()
	c := smallMessages(t)
	long := strings.Repeat("all work and no play ", 10_000)
	startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say(call.Prompt + "!")
	}, nil)
	client := connect(t, c.URL())
	for _, prompt := range []string{long, "short", long} {
		if text, err := answer(t.Context(), client, "ada", prompt); err != nil || text != prompt+"!" {
			t.Fatalf("a prompt of %d bytes: an answer of %d, %v", len(prompt), len(text), err)
		}
	}
	if _, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: strings.Repeat("x", store.MaxRecord)}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a prompt that no store takes: %v", err)
	}
}

// What is too large for a batch of messages is refused, and nothing of it is stored.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := openStore(t, smallMessages(t).URL())
	lease, err := s.Acquire(t.Context(), "p", "n", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	k := store.Key{Project: "p", Session: newID()}
	small := store.Batch{Entries: []store.Entry{[]byte(`{"n":1}`)}, Fence: lease.Fence}
	if err := s.Append(t.Context(), k, small); err != nil {
		t.Fatal(err)
	}
	huge := store.Batch{Entries: []store.Entry{[]byte(`{"n":2}`), []byte(`{"pad":"` + strings.Repeat("x", 1000*16<<10) + `"}`)}, Fence: lease.Fence}
	if err := s.Append(t.Context(), k, huge); !errors.Is(err, natsfleet.ErrTooLarge) {
		t.Errorf("an entry of %d bytes: %v", len(huge.Entries[1]), err)
	}
	if got := entries(t, s, k); len(got) != 1 {
		t.Errorf("%d entries are stored, want 1", len(got))
	}
	if err := s.Append(t.Context(), k, small); err != nil {
		t.Errorf("the next: %v", err)
	}
}
