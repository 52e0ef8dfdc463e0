package natsfleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
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

// An append that is too large for a batch of messages is refused, and nothing of it
// is stored.
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

// Live text may be larger than a message of the server: a tool's input in one
// piece, a result, and the whole of it for a client that joins late.
func TestLargeLiveText(t *testing.T) {
	t.Parallel()
	c := smallMessages(t)
	rest := make(chan struct{})
	long := strings.Repeat("all work and no play ", 10_000)
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(call *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say(long).Chunks(len(long)/2, 0).Hold(rest)
	}})
	startWorker(t, c.URL(), nil, func(o *fleet.Options) {
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet(), PartialMessages: true}, nil
		}
	})
	client, other := connect(t, c.URL()), connect(t, c.URL())
	if _, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "long"}); err != nil {
		t.Fatal(err)
	}
	early := watch(t.Context(), client, "ada")
	early.until(t, "the answer while it is written", func() bool { return len(early.live) == len(long)/2 })
	late := watch(t.Context(), other, "ada")
	late.until(t, "the same, late", func() bool { return len(late.live) == len(long)/2 })
	close(rest)
	for _, s := range []*screen{early, late} {
		s.until(t, "the whole answer and its result", func() bool { return len(s.stored) == 1 && s.ended == 1 })
		if s.stored[0] != long || len(s.broken) > 0 {
			t.Errorf("%d bytes are stored of %d, %q", len(s.stored[0]), len(long), s.broken)
		}
	}
}

// A question may be larger than a message of the server, and so may what a person makes
// of the call.
func TestLargeQuestions(t *testing.T) {
	t.Parallel()
	c := smallMessages(t)
	long := strings.Repeat("all work and no play ", 10_000)
	ran := make(chan string, 1)
	cli := claudetest.NewCLI(&claudetest.Script{
		Model: func(call *claudetest.ModelCall) claudetest.Reply {
			if len(call.ToolResults) > 0 {
				return claudetest.Say("done")
			}
			return claudetest.UseTool("Bash", map[string]string{"command": long, "description": "try it"})
		},
		Tools: map[string]host.RunFunc{"Bash": func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
			var call struct{ Command string }
			err := json.Unmarshal(input, &call)
			ran <- call.Command
			return host.TextOutput("built"), err
		}},
	})
	startWorker(t, c.URL(), nil, func(o *fleet.Options) {
		o.Gate = &approval.Options{Patience: 50 * time.Millisecond}
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}
	})
	client := connect(t, c.URL())
	id, q := deferred(t, client, "ada", "long")
	if !strings.Contains(string(q.Input), long) {
		t.Errorf("the question has an input of %d bytes", len(q.Input))
	}
	changed := permission.AllowWith(map[string]string{"command": long + "!", "description": "try it"})
	if _, err := client.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: changed, By: "ada", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	if o := ends(t, client, "ada", id); o.Text != "done" {
		t.Errorf("%+v", o)
	}
	if got := <-ran; got != long+"!" {
		t.Errorf("the tool ran with %d bytes; want %d", len(got), len(long)+1)
	}
}

// A record whose parts were removed is an error at once, not an endless search.
func TestPartsAreMissing(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := store.RecordKey{Project: "p", Kind: "k", Name: "large"}
	if _, err := store.Put(t.Context(), s, k, bytes.Repeat([]byte("x"), 1<<20), 0, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	stranger := newStranger(t, c.URL())
	stream, err := stranger.js.Stream(t.Context(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("claude.v.>")); err != nil {
		t.Fatal(err)
	}
	if r, err := store.Get(t.Context(), s, k); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("got %d bytes, %v", len(r.Value), err)
	}
}
